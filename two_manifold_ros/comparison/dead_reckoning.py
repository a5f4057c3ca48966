# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Integration of the IMU from a known start: what a robot has without a learned track."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import savgol_filter

from two_manifold_ros.comparison.method import Course
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


SMOOTHING_S = 0.3
"""Over which a cubic is fitted to positions that are known to a few centimetres."""

SPAN_S = 0.6
"""Over which channels and motion are averaged: what matters is what they integrate to."""

LEAST_POINTS = 5
SLOW = 0.2
"""Of the usual speed; below it the course says nothing about the heading."""

STANDING_M_S = 1e-3

OUTLIER = 4.0
"""Robust standard deviations: further off are jumps of the reference, and crashes."""

ROUNDS = 4
FEWEST_TICKS = 50


@dataclass(frozen=True)
class ImuAxes:
    """
    Linear maps from the six channels to the motion in the plane, and how good they are.

    Parameters
    ----------
    weights : (3, 6)
        Of the channels, for the yaw rate (rad/s, left positive), the forward and the leftward
        acceleration (m/s^2); zero for channels that are dead or of the other kind.
    offsets : (3,)
        Added: minus the usual biases.
    errors : (3,)
        Standard deviations of what is left, for means over ``SPAN_S``.
    position_m
        Standard deviation of the noise of the positions.
    speed_m_s, fastest_m_s
        Median speed while driving, and the largest.

    """

    weights: Floats
    offsets: Floats
    errors: Floats
    position_m: float
    speed_m_s: float
    fastest_m_s: float

    def read(self, values: Floats) -> Floats:
        """Return yaw rate, forward and leftward acceleration (T, 3) of ticks (T, 6)."""
        told: Floats = values @ self.weights.T + self.offsets
        return told


def learn_axes(lesson: Lesson) -> ImuAxes:
    """
    Regress the motion of the training positions on the channels.

    The course rate is regressed on the live gyroscope axes; the change of speed, and speed times
    course rate, on the live accelerometer axes. So an IMU that is upside down, turned, in other
    units, or without gravity needs no convention. What the axes cannot tell gets small weights.

    Raises
    ------
    InputError
        If all axes of either kind are dead, or too little of the motion is known.

    """
    live = lesson.dataset.channels.live
    for kind, of_kind in (('accelerometer', live[:3]), ('gyroscope', live[3:])):
        if not of_kind.any():
            msg = f'no {kind} axis varies in training, so the IMU alone tells no motion'
            raise InputError(msg)
    values, motion, noise = _pairs(lesson)
    usual = float(np.quantile(motion[:, 0], 0.75)) if len(motion) else 0.0
    driving: Bools = np.asarray(motion[:, 0] > max(SLOW * usual, STANDING_M_S))
    if np.count_nonzero(driving) < FEWEST_TICKS:
        msg = (
            f'the vehicle is known to move during {np.count_nonzero(driving)} training ticks, too '
            f'few (below {FEWEST_TICKS}) to learn how the IMU is mounted; record longer'
        )
        raise InputError(msg)
    values, motion = values[driving], motion[driving]
    columns: tuple[Ints, ...] = (np.arange(3, 6), np.arange(3), np.arange(3))
    rows = [
        _regress(values, motion[:, 1 + row], axes[live[axes]]) for row, axes in enumerate(columns)
    ]
    weights, offsets, errors = zip(*rows, strict=True)
    speed = motion[:, 0]
    return ImuAxes(
        np.array(weights),
        np.array(offsets),
        np.array(errors),
        noise,
        float(np.median(speed)),
        float(np.quantile(speed, 0.99)),
    )


def _pairs(lesson: Lesson) -> tuple[Floats, Floats, float]:
    """Return means over ``SPAN_S`` of channels (n, 6) and motion (n, 4), and positions' noise."""
    window = max(2 * round(SMOOTHING_S / lesson.period_s / 2) + 1, LEAST_POINTS)
    span = max(round(SPAN_S / lesson.period_s), 1)
    values, motions, noises = [np.empty((0, 6))], [np.empty((0, 4))], [np.empty((0, 2))]
    for stretch in _stretches(lesson.dataset.segments, window + span):
        smooth = savgol_filter(stretch.positions, window, 3, axis=0)
        noises.append(stretch.positions - smooth)
        motion = _motion(stretch.positions, window, lesson.period_s)
        spans = sliding_window_view(motion, span, axis=0)
        # The slowest tick of a span tells whether its course can be believed.
        motions.append(np.column_stack([spans[:, 0].min(axis=1), spans[:, 1:].mean(axis=2)]))
        values.append(sliding_window_view(stretch.values[1:], span, axis=0).mean(axis=2))
    noise = np.concatenate(noises)
    told = 1.4826 * float(np.median(np.abs(noise))) if len(noise) else 0.0
    return np.concatenate(values), np.concatenate(motions), told


def _stretches(segments: Sequence[Segment], window: int) -> Iterator[Segment]:
    """Yield what is longer than the window and has positions throughout."""
    for segment in segments:
        known: Bools = np.asarray(np.isfinite(segment.positions).all(axis=1))
        edges = np.flatnonzero(np.diff(known)) + 1
        for start, stop in itertools.pairwise([0, *edges.tolist(), len(segment)]):
            if known[start] and stop - start > window:
                yield segment.part(start, stop)


def _motion(positions: Floats, window: int, period_s: float) -> Floats:
    """Return speed, course rate, forward and leftward acceleration of ticks (T - 1, 4)."""
    velocity = savgol_filter(positions, window, 3, deriv=1, delta=period_s, axis=0)
    speeds = np.linalg.norm(velocity, axis=1)
    course = np.unwrap(np.arctan2(velocity[:, 1], velocity[:, 0]))
    speed = (speeds[1:] + speeds[:-1]) / 2.0
    rate = np.diff(course) / period_s
    return np.stack([speed, rate, np.diff(speeds) / period_s, speed * rate], axis=1)


def _regress(values: Floats, target: Floats, axes: Ints) -> tuple[Floats, float, float]:
    """Return the (6,) weights, the offset and the residual deviation, without outliers."""
    design = np.column_stack([values[:, axes], np.ones(len(values))])
    kept: Bools = np.ones(len(target), dtype=np.bool_)
    for _ in range(ROUNDS):
        solution = np.linalg.lstsq(design[kept], target[kept], rcond=None)[0]
        left = np.abs(target - design @ solution)
        scale = 1.4826 * float(np.median(left[kept]))
        kept = np.asarray(left <= OUTLIER * scale + 1e-12)
    weights = np.zeros(values.shape[1])
    weights[axes] = solution[:-1]
    return weights, float(solution[-1]), scale


X, Y, HEADING, FORWARD, LEFT = range(5)
BIASES = slice(5, 8)
SIZE = 8


class PlanarEkf:
    """
    Position, heading, velocity in the vehicle's axes, and the biases of the three inputs.

    The inputs are the yaw rate and the forward and leftward acceleration, each the mean of a tick.

    Parameters
    ----------
    state : (8,)
        x and y (m), heading (rad), forward and leftward velocity (m/s), then the biases of the
        yaw rate (rad/s) and of the two accelerations (m/s^2).
    deviations : (8,)
        Standard deviations of the state.
    densities : (3,)
        Of the white noise of the inputs: variance times seconds.
    fastest_m_s
        Largest forward speed that is believed.

    """

    def __init__(
        self, state: Floats, deviations: Floats, densities: Floats, fastest_m_s: float
    ) -> None:
        self.state = state.copy()
        self.covariance = np.diag(np.square(deviations))
        self._densities = densities
        self._fastest = fastest_m_s
        self.rate = 0.0

    def predict(self, inputs: Floats, period_s: float) -> None:
        """Move on by one tick."""
        rate, ahead, aside = (inputs - self.state[BIASES]).tolist()
        heading, forward, left = self.state[HEADING : LEFT + 1].tolist()
        middle = heading + rate * period_s / 2.0
        cosine, sine = np.cos(middle), np.sin(middle)
        # Rates of change of x and y, and of their changes with the heading.
        over, up = forward * cosine - left * sine, forward * sine + left * cosine
        self.state[: LEFT + 1] += period_s * np.array(
            [over, up, rate, ahead + rate * left, aside - rate * forward]
        )
        self._limit_speed()
        self.rate = rate
        change = np.eye(SIZE)
        change[X, [HEADING, FORWARD, LEFT, 5]] += period_s * np.array(
            [-up, cosine, -sine, up * period_s / 2.0]
        )
        change[Y, [HEADING, FORWARD, LEFT, 5]] += period_s * np.array(
            [over, sine, cosine, -over * period_s / 2.0]
        )
        change[HEADING, 5] = -period_s
        change[FORWARD, [LEFT, 5, 6]] = period_s * np.array([rate, -left, -1.0])
        change[LEFT, [FORWARD, 5, 7]] = period_s * np.array([-rate, forward, -1.0])
        self._spread(change, period_s)

    def _spread(self, change: Floats, period_s: float) -> None:
        # Noise of an input acts on everything but the biases as its bias does.
        noise = change[:, BIASES].copy()
        noise[BIASES] = 0.0
        grown = change @ self.covariance @ change.T
        grown += (noise * self._densities / period_s) @ noise.T
        self.covariance = (grown + grown.T) / 2.0

    def correct(self, places: Sequence[int], measured: Floats, deviation: float) -> None:
        """Take in measurements of some coordinates of the state, one after the other."""
        for place, value in zip(places, measured.tolist(), strict=True):
            column = self.covariance[:, place]
            gain = column / (column[place] + deviation**2)
            kept = np.eye(SIZE)
            kept[:, place] -= gain
            self.state += gain * (value - self.state[place])
            # Joseph's form stays positive whatever the rounding.
            mended = kept @ self.covariance @ kept.T + deviation**2 * np.outer(gain, gain)
            self.covariance = (mended + mended.T) / 2.0
        self._limit_speed()

    def _limit_speed(self) -> None:
        self.state[FORWARD] = np.clip(self.state[FORWARD], -self._fastest, self._fastest)

    def ahead(self, seconds: Floats) -> Floats:
        """Return the (H, 2) positions after (H,) seconds at the present speed and yaw rate."""
        half = self.rate * seconds / 2.0
        chord = self.state[FORWARD] * seconds * np.sinc(half / np.pi)
        course = self.state[HEADING] + half
        along = np.stack([np.cos(course), np.sin(course)], axis=1)
        return np.asarray(self.state[: Y + 1] + chord[:, None] * along)


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
