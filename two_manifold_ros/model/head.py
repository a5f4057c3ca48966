# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every model that can be filtered with tells, whatever is behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.ticks.channels import Channels
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True, kw_only=True)
class ModelHead(ABC):
    """
    The part of a model that nodes, outputs and scores need.

    Parameters
    ----------
    rate_hz, period_ns
        Ticks per second and length of a tick.
    max_gap_ns
        Longest step between samples that is no gap.
    window
        Ticks in a window.
    horizons
        Ticks ahead at which positions are read out, 0 first.
    imu_topic, imu_frame_id, position_topic, frame_id
        Of what was learned from; positions are in ``frame_id``.
    origin
        Of the tangent plane if the positions were geodetic.
    channels
        Names, scaling and range of the values in a sample.
    track : (T, 2)
        Positions learned from in order, metres, also those that the read-out ``mkdr`` estimated;
        NaN rows between segments. A route keeps some laps of them.
    mean_position : (2,)
        Mean of all positions learned from.
    summary
        How it was learned and what it reached, JSON values only.

    """

    rate_hz: float
    period_ns: int
    max_gap_ns: int
    window: int
    horizons: tuple[int, ...]
    imu_topic: str
    imu_frame_id: str
    position_topic: str
    frame_id: str
    origin: GeodeticOrigin | None
    channels: Channels
    track: Floats
    mean_position: Floats
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def states(self) -> int:
        """Dimension of the state, k."""

    @property
    def live_channels(self) -> tuple[str, ...]:
        """Names of the channels used."""
        return self.channels.live_names


@dataclass(frozen=True, kw_only=True)
class TrainedModel(ModelHead):
    """
    A model that was learned from recordings at once, with windows of them to compare with.

    Parameters
    ----------
    kernel
        Name of the manifold learner.
    series : (d, N), starts : (n,)
        Standardised observations of the training, or of some stretches of it, and the first tick
        of each window in them.

    """

    kernel: str
    series: Floats
    starts: Ints
