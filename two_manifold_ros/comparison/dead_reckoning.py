# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Integration of the IMU from a known start: what a robot has without a learned track."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.imu_axes import learn_axes, SPAN_S
from two_manifold_ros.comparison.method import Course
from two_manifold_ros.comparison.planar_ekf import LEFT, PlanarEkf, SIZE, X, Y

if TYPE_CHECKING:
    from two_manifold_ros.comparison.imu_axes import ImuAxes
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Floats, Ints

START_S = 1.0
"""Of driving, during which positions are told."""

FEWEST_TOLD = 10
"""Ticks with a position, where they are rare."""

SET_OFF_S = 0.2
"""At the usual speed; whoever has come further than that has a course."""

HEADING_RAD = 0.5
"""How far the first course may be off."""

SLIP = 0.05
"""Of the usual speed: how far a wheeled vehicle moves sideways, and yet never for long."""

LEAST_POSITION_M = 0.01

BIAS_SHARE = 0.1
"""Of the errors of the learned axes: what a bias may differ from training."""


class FittedDeadReckoning:
    """
    The learned axes, and a filter to drive with them.

    Parameters
    ----------
    axes
        What the channels say about the motion.
    horizons
        Ticks ahead.
    period_s
        Length of a tick.

    """

    def __init__(self, axes: ImuAxes, horizons: tuple[int, ...], period_s: float) -> None:
        self._axes = axes
        self._ahead_s = period_s * np.array(horizons, dtype=np.float64)
        self._period_s = period_s
        self._position_m = max(axes.position_m, LEAST_POSITION_M)
        self._slip_m_s = SLIP * axes.speed_m_s
        self._told = max(round(START_S / period_s), FEWEST_TOLD)
        self.chosen: dict[str, Any] = {
            'weights': axes.weights.tolist(),
            'offsets': axes.offsets.tolist(),
            'errors': axes.errors.tolist(),
            'position_m': axes.position_m,
        }

    def follow(self, segment: Segment) -> Course:
        """
        Start from the first positions and integrate.

        While the vehicle stands where it was first seen, that place is told; then follow
        ``START_S`` of driving with positions, and none after that.
        """
        positions = np.full((len(segment), len(self._ahead_s), 2), np.nan)
        states = np.full((len(segment), SIZE), np.nan)
        known = np.flatnonzero(np.isfinite(segment.positions).all(axis=1))
        if len(known):
            positions[known[0] :] = segment.positions[known[0]]
        begun = self._set_off(segment.positions[known])
        if begun is None:
            return Course(positions, states)
        ekf = self._start(segment.positions, known[: begun + 1])
        start, told = int(known[begun]), set(known[begun : begun + self._told].tolist())
        for tick in range(start, len(segment)):
            if tick > start:
                ekf.predict(self._axes.read(segment.values[tick]), self._period_s)
            if tick in told:
                ekf.correct((X, Y), segment.positions[tick], self._position_m)
            ekf.correct((LEFT,), np.zeros(1), self._slip_m_s)
            positions[tick], states[tick] = ekf.ahead(self._ahead_s), ekf.state
        return Course(positions, states)

    def _set_off(self, places: Floats) -> int | None:
        """Return which of the known places is the first away from the first of them."""
        away = SET_OFF_S * self._axes.speed_m_s + 3.0 * self._position_m
        gone = np.flatnonzero(np.linalg.norm(places - places[:1], axis=1) > away)
        return int(gone[0]) if len(gone) else None

    def _start(self, positions: Floats, known: Ints) -> PlanarEkf:
        """Return a filter at the last of the known ticks, which go back to standstill."""
        first, last = int(known[0]), int(known[-1])
        recent = known[known >= last - max(round(SET_OFF_S / self._period_s), 1)]
        earlier = int(recent[0]) if len(recent) > 1 else int(known[-2])
        across, up = positions[last] - positions[first]
        moved = float(np.linalg.norm(positions[last] - positions[earlier]))
        speed = moved / ((last - earlier) * self._period_s)
        state = [*positions[last], np.arctan2(up, across), speed, *np.zeros(4)]
        axes = self._axes
        deviations = [
            *[self._position_m] * 2,
            HEADING_RAD,
            0.5 * axes.speed_m_s,
            self._slip_m_s,
            *(BIAS_SHARE * axes.errors),
        ]
        densities = np.square(axes.errors) * SPAN_S
        return PlanarEkf(np.array(state), np.array(deviations), densities, 2.0 * axes.fastest_m_s)


class DeadReckoning:
    """
    The method: no map and no laps, only the IMU and where and how fast it set off.

    An extended Kalman filter takes the yaw rate and the two accelerations that ``learn_axes``
    reads from the channels, and at every tick the pseudo-measurement that wheels do not move
    sideways. In bends that also tells the speed, because what is felt sideways is speed times
    yaw rate. Ahead it drives on at the present speed and yaw rate.

    It drifts, since nothing ever tells the place again. A yaw rate that is wrong by b turns the
    heading by b t, and a heading wrong by a puts the place off by a times the distance driven:
    at speed v, v b t^2 / 2. With 0.01 rad/s and 3 m/s that is 1.5 m after 10 s and 54 m after
    60 s. A scale of the yaw rate that is wrong by 1 % costs 0.063 rad a lap. And a turn of which
    nothing is felt sideways looks like lost speed, so such a bias also slows the filter down.
    """

    name = 'imu-only'
    title = 'integrated IMU (EKF)'
    told = True

    def fit(self, lesson: Lesson) -> FittedDeadReckoning:
        """
        Learn how the IMU is mounted.

        Raises
        ------
        InputError
            If no axis of the gyroscope or of the accelerometer is live, or too little of the
            motion is known.

        """
        return FittedDeadReckoning(learn_axes(lesson), lesson.horizons, lesson.period_s)
