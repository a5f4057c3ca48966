# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Integration of the IMU from a known start: what a robot has without a learned track."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import savgol_filter

from two_manifold_ros.comparison.method import Predictions
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.comparison.method import TrainSplit
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


SPAN_S = 0.6
"""Seconds over which channels and motion are averaged to learn the axes: half as long lets more
noise of the positions in, twice as long averages bends away."""


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


def learn_axes(train: TrainSplit) -> ImuAxes:
    """
    Regress the motion of the training positions on the channels.

    The course rate is regressed on the live gyroscope axes; the change of speed, and speed times
    course rate, on the live accelerometer axes. So an IMU that is upside down, turned, in other
    units, or without gravity needs no convention. What the axes cannot show gets small weights.

    Raise ``InputError`` if all axes of either kind are dead, or the vehicle is known to move
    during less than a window.
    """
    live = np.flatnonzero(train.dataset.channels.live)
    accelerometer, gyroscope = live[live < 3], live[live >= 3]
    for kind, of_kind in (('accelerometer', accelerometer), ('gyroscope', gyroscope)):
        if not len(of_kind):
            msg = f'no {kind} axis varies in training, so the IMU alone shows no motion'
            raise InputError(msg)
    values, motion, noise_m = _pairs(train)
    # At a fifth of the usual speed the course does not show the heading.
    usual = float(np.quantile(motion[:, 0], 0.75)) if len(motion) else 0.0
    driving: Bools = np.asarray(motion[:, 0] > max(0.2 * usual, 1e-3))
    values, motion, fewest = values[driving], motion[driving], train.dataset.window
    if len(motion) < fewest:
        msg = (
            f'the vehicle is known to move during {len(motion)} training ticks, too few (below '
            f'{fewest}) to learn how the IMU is mounted; record longer'
        )
        raise InputError(msg)
    rows = [
        _regress(values, target, axes)
        for target, axes in zip(
            motion[:, 1:].T, (gyroscope, accelerometer, accelerometer), strict=True
        )
    ]
    weights, offsets, errors = (np.array(each) for each in zip(*rows, strict=True))
    median, fastest = np.quantile(motion[:, 0], (0.5, 0.99)).tolist()
    return ImuAxes(weights, offsets, errors, noise_m, median, fastest)


def _pairs(train: TrainSplit) -> tuple[Floats, Floats, float]:
    """
    Return means over ``SPAN_S`` of channels (n, 6) and of motion, and the noise of positions, m.

    Motion (n, 4) is speed, course rate, forward and leftward acceleration, from a cubic over
    0.3 s of positions that are known to a few centimetres.
    """
    period_s = train.period_s
    window = max(2 * round(0.3 / period_s / 2) + 1, 5)
    span = max(round(SPAN_S / period_s), 1)
    values, motions, noises = [np.empty((0, 6))], [np.empty((0, 4))], [np.empty((0, 2))]
    for stretch in _known_stretches(train.dataset.segments, window + span):
        noises.append(stretch.positions - savgol_filter(stretch.positions, window, 3, axis=0))
        velocity = savgol_filter(stretch.positions, window, 3, deriv=1, delta=period_s, axis=0)
        speeds = np.linalg.norm(velocity, axis=1)
        course = np.unwrap(np.arctan2(velocity[:, 1], velocity[:, 0]))
        speed = (speeds[1:] + speeds[:-1]) / 2.0
        rate = np.diff(course) / period_s
        motion = np.stack([speed, rate, np.diff(speeds) / period_s, speed * rate], axis=1)
        spans = sliding_window_view(motion, span, axis=0)
        # The slowest tick of a span shows whether its course is reliable.
        motions.append(np.column_stack([spans[:, 0].min(axis=1), spans[:, 1:].mean(axis=2)]))
        values.append(sliding_window_view(stretch.values[1:], span, axis=0).mean(axis=2))
    noise = np.concatenate(noises)
    noise_m = 1.4826 * float(np.median(np.abs(noise))) if len(noise) else 0.0
    return np.concatenate(values), np.concatenate(motions), noise_m


def _known_stretches(segments: Sequence[Segment], window: int) -> Iterator[Segment]:
    """Yield what is longer than the window and has positions throughout."""
    for segment in segments:
        known: Bools = np.asarray(np.isfinite(segment.positions).all(axis=1))
        edges = np.flatnonzero(np.diff(known)) + 1
        for start, stop in itertools.pairwise([0, *edges.tolist(), len(segment)]):
            if known[start] and stop - start > window:
                yield segment.part(start, stop)


def _regress(values: Floats, target: Floats, axes: Ints) -> tuple[Floats, float, float]:
    """Return the (6,) weights, the offset and the residual deviation, without outliers."""
    design = np.column_stack([values[:, axes], np.ones(len(values))])
    kept: Bools = np.ones(len(target), dtype=np.bool_)
    for _ in range(4):
        solution = np.linalg.lstsq(design[kept], target[kept], rcond=None)[0]
        left = np.abs(target - design @ solution)
        scale = 1.4826 * float(np.median(left[kept]))
        # Four robust deviations off are jumps of the reference, and crashes.
        kept = np.asarray(left <= 4.0 * scale + 1e-12)
    weights = np.zeros(values.shape[1])
    weights[axes] = solution[:-1]
    return weights, float(solution[-1]), scale


X, Y, HEADING, FORWARD, LEFT, *BIASES = range(8)
"""Coordinates of the state: position (m), heading (rad), forward and leftward velocity (m/s), then
the biases of the yaw rate (rad/s) and of the forward and leftward acceleration (m/s^2)."""


class PlanarEkf:
    """
    Extended Kalman filter of motion in the plane.

    The inputs are the yaw rate and the forward and leftward acceleration, each the mean of a tick.

    Parameters
    ----------
    state, deviations : (8,)
        Start, and its standard deviations.
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
        self.rate, ahead, aside = (inputs - self.state[BIASES]).tolist()
        heading, forward, left = self.state[[HEADING, FORWARD, LEFT]].tolist()
        middle = heading + self.rate * period_s / 2.0
        cosine, sine = np.cos(middle), np.sin(middle)
        # Rates of change of x and y, and of their changes with the heading.
        over, up = forward * cosine - left * sine, forward * sine + left * cosine
        self.state[: BIASES[0]] += period_s * np.array(
            [over, up, self.rate, ahead + self.rate * left, aside - self.rate * forward]
        )
        self._limit_speed()
        rates = np.zeros((len(self.state), len(self.state)))
        seen = [HEADING, FORWARD, LEFT, BIASES[0]]
        rates[X, seen] = [-up, cosine, -sine, up * period_s / 2.0]
        rates[Y, seen] = [over, sine, cosine, -over * period_s / 2.0]
        rates[[HEADING, FORWARD, LEFT], BIASES] = -1.0
        rates[FORWARD, [LEFT, BIASES[0]]] = [self.rate, -left]
        rates[LEFT, [FORWARD, BIASES[0]]] = [-self.rate, forward]
        change = np.eye(len(self.state)) + period_s * rates
        # Noise of an input acts on everything but the biases as its bias does.
        noise = period_s * rates[:, BIASES]
        grown = change @ self.covariance @ change.T
        grown += (noise * self._densities / period_s) @ noise.T
        self.covariance = (grown + grown.T) / 2.0

    def correct(self, coordinates: Sequence[int], measured: Floats, deviation: float) -> None:
        """Update with measurements of some coordinates of the state, one after the other."""
        for place, value in zip(coordinates, measured.tolist(), strict=True):
            column = self.covariance[:, place]
            gain = column / (column[place] + deviation**2)
            kept = np.eye(len(self.state))
            kept[:, place] -= gain
            self.state += gain * (value - self.state[place])
            # Joseph's form stays positive whatever the rounding.
            updated = kept @ self.covariance @ kept.T + deviation**2 * np.outer(gain, gain)
            self.covariance = (updated + updated.T) / 2.0
        self._limit_speed()

    def _limit_speed(self) -> None:
        self.state[FORWARD] = np.clip(self.state[FORWARD], -self._fastest, self._fastest)

    def ahead(self, seconds: Floats) -> Floats:
        """Return the (H, 2) positions after (H,) seconds at the present speed and yaw rate."""
        half = self.rate * seconds / 2.0
        chord = self.state[FORWARD] * seconds * np.sinc(half / np.pi)
        course = self.state[HEADING] + half
        along = np.stack([np.cos(course), np.sin(course)], axis=1)
        return np.asarray(self.state[:2] + chord[:, None] * along)


class FittedDeadReckoning:
    """The learned axes, and a filter to drive with them, horizons counted in ticks."""

    def __init__(self, axes: ImuAxes, horizons: tuple[int, ...], period_s: float) -> None:
        self._axes = axes
        self._ahead_s = period_s * np.array(horizons, dtype=np.float64)
        self._period_s = period_s
        self._position_m = max(axes.position_m, 0.01)
        # A wheeled vehicle moves sideways by that much of its speed, and yet never for long.
        self._slip_m_s = 0.05 * axes.speed_m_s
        # Positions are given during one second of driving, ten of them where they are rare.
        self._given = max(round(1.0 / period_s), 10)
        # A vehicle that has come further than this time takes at the usual speed has a course.
        self._set_off_s = 0.2
        self.chosen: dict[str, Any] = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(axes).items()
            if not name.endswith('_m_s')
        }

    def predict(self, segment: Segment) -> Predictions:
        """
        Start from the first positions and integrate.

        While the vehicle stands where it was first seen, that place is predicted; then follow a
        second of driving with positions, and none after that.
        """
        positions = np.full((len(segment), len(self._ahead_s), 2), np.nan)
        states = np.full((len(segment), BIASES[-1] + 1), np.nan)
        known = np.flatnonzero(np.isfinite(segment.positions).all(axis=1))
        places = segment.positions[known]
        if len(known):
            positions[known[0] :] = places[0]
        away = self._set_off_s * self._axes.speed_m_s + 3.0 * self._position_m
        gone = np.flatnonzero(np.linalg.norm(places - places[:1], axis=1) > away)
        if not len(gone):
            return Predictions(positions, states)
        ekf = self._start(segment.positions, known[: gone[0] + 1])
        start, given = int(known[gone[0]]), set(known[gone[0] :][: self._given].tolist())
        for tick in range(start, len(segment)):
            if tick > start:
                motion = segment.values[tick] @ self._axes.weights.T + self._axes.offsets
                ekf.predict(motion, self._period_s)
            if tick in given:
                ekf.correct((X, Y), segment.positions[tick], self._position_m)
            ekf.correct((LEFT,), np.zeros(1), self._slip_m_s)
            positions[tick], states[tick] = ekf.ahead(self._ahead_s), ekf.state
        return Predictions(positions, states)

    def _start(self, positions: Floats, known: Ints) -> PlanarEkf:
        """Return a filter at the last of the known ticks, which go back to standstill."""
        axes, first, last = self._axes, int(known[0]), int(known[-1])
        recent = known[known >= last - max(round(self._set_off_s / self._period_s), 1)]
        earlier = int(recent[0]) if len(recent) > 1 else int(known[-2])
        across, up = positions[last] - positions[first]
        moved = float(np.linalg.norm(positions[last] - positions[earlier]))
        speed = moved / ((last - earlier) * self._period_s)
        state = [*positions[last], np.arctan2(up, across), speed, *np.zeros(4)]
        deviations = [
            *[self._position_m] * 2,
            0.5,  # rad, of the first course
            0.5 * axes.speed_m_s,
            self._slip_m_s,
            *(0.1 * axes.errors),  # a bias differs little from training
        ]
        densities = np.square(axes.errors) * SPAN_S
        return PlanarEkf(np.array(state), np.array(deviations), densities, 2.0 * axes.fastest_m_s)


class DeadReckoning:
    """
    Dead reckoning: no map and no laps, only the IMU and where and how fast it set off.

    An extended Kalman filter takes the yaw rate and the two accelerations that ``learn_axes``
    reads from the channels, and at every tick the pseudo-measurement that wheels do not move
    sideways. In bends that also gives the speed, because what is felt sideways is speed times
    yaw rate. Ahead it drives on at the present speed and yaw rate. It drifts, since nothing ever
    corrects the position: at speed v a yaw rate that is wrong by b costs v b t^2 / 2 after t
    seconds, which is 54 m after a minute at 3 m/s and 0.01 rad/s.
    """

    name = 'imu-only'
    title = 'integrated IMU (EKF)'
    sees_positions = True

    def fit(self, train: TrainSplit) -> FittedDeadReckoning:
        """Learn how the IMU is mounted; raise ``InputError`` as ``learn_axes`` does."""
        return FittedDeadReckoning(learn_axes(train), train.horizons, train.period_s)
