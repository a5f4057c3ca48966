# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the filter of the node over a recording, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass
import time
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.windows.familiarity import UNFAMILIAR

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class FilterRun:
    """
    The valid estimates of a run over one recording.

    Parameters
    ----------
    stamps : (T,) int64
        Ends of the ticks, ns.
    positions : (T, H, 2), covariances : (T, H, 2, 2)
        Metres and m^2, at the horizons of the model.
    familiarity : (T,)
        See ``Estimate``.
    unfamiliar : (R,)
        Familiarity of the estimates that it alone would have made invalid.
    seconds_per_tick
        Wall time of every sample that ended a tick, valid or not.
    counters
        Of the filter.
    status, why
        What the filter said of itself at the end, where it was there to be asked.

    """

    stamps: Ints
    positions: Floats
    covariances: Floats
    familiarity: Floats
    unfamiliar: Floats
    seconds_per_tick: Floats
    counters: Counter[str]
    status: Status = Status.WAITING
    why: str = ''


def estimates_along(
    live: Filter, recording: Recording, progress: Callable[[str, float], None]
) -> Iterator[tuple[Estimate, float]]:
    """Yield every estimate of a filter fed with a recording, and the seconds it took."""
    imu = recording.imu
    stamps = imu.stamps.tolist()
    for index, (stamp, sample) in enumerate(zip(stamps, imu.samples, strict=True)):
        if index % 1000 == 0:
            progress(f'filtering {recording.name}', index / len(stamps))
        began = time.perf_counter()
        estimates = live.push(stamp, sample)
        seconds = time.perf_counter() - began
        for estimate in estimates:
            yield estimate, seconds / len(estimates)


def run_filter(
    model: ModelHead, recording: Recording, progress: Callable[[str, float], None]
) -> FilterRun:
    """Filter a recording from a cold start; nothing of it is looked at before its time."""
    live = Filter(model)
    live.warm_up()
    valid: list[Estimate] = []
    unfamiliar: list[float] = []
    seconds: list[float] = []
    for estimate, took in estimates_along(live, recording, progress):
        seconds.append(took)
        if estimate.valid:
            valid.append(estimate)
        elif estimate.familiarity > UNFAMILIAR:
            unfamiliar.append(estimate.familiarity)
    ahead = len(model.horizons)
    return FilterRun(
        np.array([estimate.stamp_ns for estimate in valid], dtype=np.int64),
        np.array([estimate.positions for estimate in valid]).reshape(-1, ahead, 2),
        np.array([estimate.covariances for estimate in valid]).reshape(-1, ahead, 2, 2),
        np.array([estimate.familiarity for estimate in valid]),
        np.array(unfamiliar),
        np.array(seconds),
        live.counters,
        live.status,
        live.why,
    )
