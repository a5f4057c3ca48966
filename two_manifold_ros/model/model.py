# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trained model: everything the filter needs, and nothing of the bags it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.kernels.extension import Extension
    from two_manifold_ros.localisation.route import Route
    from two_manifold_ros.readout.reading import Readout
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.ticks.channels import Channels
    from two_manifold_ros.typing import Floats, Ints
    from two_manifold_ros.windows.familiarity import FamiliarAnchors


@dataclass(frozen=True)
class Model:
    """
    A trained model.

    Parameters
    ----------
    rate_hz, period_ns
        Ticks per second and length of a tick.
    max_gap_ns
        Longest step between IMU samples that is no gap.
    window
        Ticks in a window.
    horizons
        Ticks ahead at which positions are read out, 0 first.
    kernel
        Name of the manifold learner.
    imu_topic, imu_frame_id, position_topic, frame_id
        Of the training recordings; positions are in ``frame_id``.
    origin
        Of the tangent plane if the positions were geodetic.
    channels
        Scaling and range of the IMU channels.
    tables, operator, readout
        The HMM, see ``hse_hmm`` and ``readout``.
    series : (d, N), starts : (n,)
        Standardised training series and first tick of each past window, for familiarity.
    familiarity
        What is typical for unseen windows of the route.
    warm_start
        From a past window to the state without its constant.
    state_bound
        Largest believable norm of the state without its constant.
    track : (T, 2)
        Training positions in order, metres, NaN rows between segments.
    mean_position : (2,)
        Mean of the training positions.
    route
        Map of the route belief; without one the spectral filter runs.
    summary
        How it was trained and what it reached, JSON values only.

    """

    rate_hz: float
    period_ns: int
    max_gap_ns: int
    window: int
    horizons: tuple[int, ...]
    kernel: str
    imu_topic: str
    imu_frame_id: str
    position_topic: str
    frame_id: str
    origin: GeodeticOrigin | None
    channels: Channels
    tables: Tables
    operator: ObservationOperator
    readout: Readout
    series: Floats
    starts: Ints
    familiarity: FamiliarAnchors
    warm_start: Extension
    state_bound: float
    track: Floats
    mean_position: Floats
    route: Route | None = None
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return int(self.tables.weights.shape[1])

    @property
    def live_channels(self) -> tuple[str, ...]:
        """Names of the IMU channels used."""
        return self.channels.live_names
