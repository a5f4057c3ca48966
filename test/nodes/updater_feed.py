# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A small updater session without ROS, and a drive to feed it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raw_imu import raw_imu

from two_manifold_ros.adapting.adapting_head import make_head
from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter
from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.nodes.updater_session import UpdaterSession
from two_manifold_ros.recordings.decoding import decode_imu_cdr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from two_manifold_ros.adapting.adapting_head import AdaptingHead
    from two_manifold_ros.adapting.learning_budget import LearningBudget
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.nodes.updater_session import Decode
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

SMALL = AdaptingSettings(
    rate_hz=10.0,
    window_s=1.5,
    horizons=(0, 5, 10),
    features=300,
    observation_features=30,
    states=30,
    rank=40,
    fold_every=8,
    warm_up_s=8.0,
)
"""Learns six laps of the slot car in a second of processor time."""

LEARNED = 2000
"""Samples of the drive after which estimates come."""


def tpsr_session(
    head: AdaptingHead,
    decode: Decode = decode_imu_cdr,
    budget: LearningBudget | None = None,
    clock_ns: Callable[[], int] | None = None,
    reorder_ns: int = 0,
) -> UpdaterSession:
    return UpdaterSession(
        head,
        lambda: AdaptiveFilter(head, budget, reorder_ns=reorder_ns),
        decode,
        budget,
        clock_ns,
    )


def small_session() -> UpdaterSession:
    return tpsr_session(make_head(SMALL))


def feed(
    session: UpdaterSession,
    drive: SlotCarRun,
    part: slice,
    *,
    positions: bool = True,
    every: int = 1,
    later_ns: int = 0,
) -> list[Estimate]:
    """Feed a part of a drive, every so many samples, and return what may be published."""
    estimates = []
    rows = zip(drive.stamps_ns.tolist(), drive.imu, drive.positions.tolist(), strict=True)
    for index, (stamp, sample, position) in list(enumerate(rows))[part]:
        if index % every == 0:
            estimates += session.take(raw_imu(stamp + later_ns, sample))
        if positions and index % 5 == 0:
            session.take_position(stamp + later_ns, 'map', *position[:2])
    return estimates


def truth(drive: SlotCarRun, estimates: list[Estimate]) -> Iterator[tuple[float, float]]:
    """Yield where the car was at each estimate."""
    places = dict(zip(drive.stamps_ns.tolist(), drive.positions.tolist(), strict=True))
    for estimate in estimates:
        x, y, *_ = places[estimate.stamp_ns]
        yield x, y
