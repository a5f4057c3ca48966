# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What stands for a model, and for what filters with it, as long as nothing was learned."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.step import Step
from two_manifold_ros.model.head import ModelHead
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.ticks.channels import Channels
from two_manifold_ros.training.dataset import LEAST_WINDOW, USUAL_RATE_HZ
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

LARGEST = 1e9
"""A sample beyond this is refused even before the range of the stream is known."""

LONGEST_GAP_NS = 250_000_000
"""Step between samples that is no gap, as long as nothing is known of the stream."""


@dataclass(frozen=True, kw_only=True)
class StreamHead(ModelHead):
    """The head of a model that is yet to be learned."""

    @property
    def states(self) -> int:
        """Dimension of a state that says nothing."""
        return 1


def make_head(
    horizons: tuple[int, ...] = TrainingSettings.horizons,
    *,
    names: tuple[str, ...] = IMU_CHANNELS,
    imu_topic: str = '',
) -> StreamHead:
    """
    Return the head for a stream of which nothing is known.

    Parameters
    ----------
    horizons
        Ticks ahead at which positions will be told, 0 first.
    names
        Of the channels.
    imu_topic
        What is learned from.

    Raises
    ------
    InputError
        If the horizons make no sense.

    """
    horizons = TrainingSettings(horizons=horizons).horizons
    size = len(names)
    return StreamHead(
        rate_hz=USUAL_RATE_HZ,
        period_ns=round(1e9 / USUAL_RATE_HZ),
        max_gap_ns=LONGEST_GAP_NS,
        window=LEAST_WINDOW,
        horizons=horizons,
        imu_topic=imu_topic,
        imu_frame_id='',
        position_topic='',
        frame_id='',
        origin=None,
        channels=Channels(
            mean=np.zeros(size),
            scale=np.ones(size),
            limit=np.full(size, LARGEST),
            live=np.ones(size, dtype=np.bool_),
            names=names,
        ),
        track=np.full((0, 2), np.nan),
        mean_position=np.full(2, np.nan),
    )


@dataclass
class _NoBelief:
    """What is believed before anything was learned."""

    state: Floats


@dataclass
class _Seen:
    """Ticks that were seen; they never fill a window."""

    count: int = 0
    full: bool = False


class NothingLearned:
    """
    A `TickFilter` that tells nothing, for a stream of which nothing was learned yet.

    Parameters
    ----------
    head
        Of the stream.

    """

    def __init__(self, head: StreamHead) -> None:
        self.belief = _NoBelief(np.zeros(head.states))
        self.window = _Seen()
        self._columns = len(head.horizons) + 1

    def start(self) -> None:
        """There is nothing to forget."""

    def coast(self, ticks: int) -> None:
        """There is nothing to move on."""

    def update(self, values: Floats) -> Step:  # noqa: ARG002 - as every tick filter
        """Take the (c,) means of one tick."""
        return Step(0.0, accepted=True, familiarity=math.nan, restarted=False)

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) that are not known."""
        return np.full((self._columns, 2), math.nan), np.full((self._columns, 2, 2), math.nan)

    def places(self) -> None:
        """Return ``None``: there are no places."""
