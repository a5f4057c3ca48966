# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Integration of the IMU from a known start: what a robot has without a learned track."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import savgol_filter

from two_manifold_ros.comparison.protocol import Fitted, Predictions
from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from two_manifold_ros.comparison.protocol import TrainSplit
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints

SPAN_S = 0.6
"""Seconds over which channels and motion are averaged: half as long lets more noise of the
positions in, twice as long averages bends away."""

GIVEN_S = 0.5
"""Seconds of driving, and ten ticks at least, whose positions are given and show the start."""


@dataclass(frozen=True)
class Motion:
    """
    Linear maps from the IMU to the motion in the plane, and how the speed is corrected.

    Weights (3, 7) of the six channels and 1 give the course rate (rad/s, left positive), and the
    forward and the leftward acceleration (m/s^2). What the latter has beside speed times course
    rate counts ``gain`` times as a forward one: by the stationary Kalman filter of a speed that
    is measured in bends. Horizons are (H,) seconds ahead.
    """

    weights: Floats
    gain: float
    usual_m_s: float
    fastest_m_s: float
    ahead_s: Floats
    period_s: float

    def predict(self, segment: Segment) -> Predictions:
        """Integrate from the first second of driving on: x, y (m), course (rad), speed (m/s)."""
        positions = np.full((len(segment), len(self.ahead_s), 2), np.nan)
        states = np.full((len(segment), 4), np.nan)
        known = np.flatnonzero(np.isfinite(segment.positions).all(axis=1))
        places, given = segment.positions[known], max(round(GIVEN_S / self.period_s), 10)
        away = np.linalg.norm(places - places[:1], axis=1) > 0.2 * self.usual_m_s * GIVEN_S
        # Until it drives, all positions are given.
        used = known[np.argmax(away) :][:given] if away.any() else known
        for tick, after in itertools.pairwise([*known[known <= used[-1:]], len(segment)]):
            positions[tick:after] = segment.positions[tick]
        if not away.any() or len(used) < given:
            return Predictions(positions, states)
        seconds = self.period_s * (used - used[-1])
        _, velocity, place = np.polyfit(seconds, segment.positions[used], 2)
        course, speed = float(np.arctan2(velocity[1], velocity[0])), float(np.hypot(*velocity))
        for tick in range(used[-1] + 1, len(segment)):
            rate, ahead, aside = (self.weights @ np.append(segment.values[tick], 1.0)).tolist()
            place = place + _way(course, speed, rate, np.array([self.period_s]))[0]
            course += self.period_s * rate
            ahead += self.gain * np.sign(rate) * (aside - speed * rate)
            speed = float(np.clip(speed + self.period_s * ahead, 0.0, self.fastest_m_s))
            positions[tick] = place + _way(course, speed, rate, self.ahead_s)
            states[tick] = *place, course, speed
        return Predictions(positions, states)


def _way(course: float, speed: float, rate: float, seconds: Floats) -> Floats:
    """Return the (H, 2) ways driven after (H,) seconds at one speed and one course rate."""
    half = rate * seconds / 2.0
    chord = speed * seconds * np.sinc(half / np.pi)
    return np.stack([chord * np.cos(course + half), chord * np.sin(course + half)], axis=1)


def dead_reckoning(train: TrainSplit) -> Fitted:
    """Return the filter that integrates `learn_motion`, with the weights as its settings."""
    motion = learn_motion(train)
    return Fitted(motion.predict, {'weights': motion.weights.tolist()})


def learn_motion(train: TrainSplit) -> Motion:
    """
    Regress course rate and accelerations on the live axes, whatever their mounting and units.

    The speed is integrated, and corrected in bends, where the leftward acceleration is speed
    times course rate. Nothing corrects the position, so that it drifts. ``InputError`` if an axis
    of each kind or known motion is missing.
    """
    live, period_s = train.dataset.channels.live, train.dataset.period_s
    for kind, each in (('accelerometer', live[:3]), ('gyroscope', live[3:])):
        if not each.any():
            msg = f'no {kind} axis varies in training, so the IMU alone shows no motion'
            raise InputError(msg)
    values, motion = _pairs(train)
    # At a fifth of the usual speed the course does not show the heading.
    usual = float(np.quantile(motion[:, 0], 0.75)) if len(motion) else 0.0
    driving = motion[:, 0] > max(0.2 * usual, 1e-3)
    values, motion, fewest = values[driving], motion[driving], train.dataset.window
    if len(motion) < fewest:
        msg = (
            f'the vehicle is known to move during {len(motion)} training ticks, fewer than the '
            f'{fewest} of a window, too few to learn how the IMU is mounted; record longer'
        )
        raise InputError(msg)
    usual, fastest = np.quantile(motion[:, 1], (0.5, 0.99)).tolist()
    speed, rate, ahead = motion[:, 1:].T
    axes = np.flatnonzero(live)
    turning, _ = _regress(values, rate, axes[axes >= 3])
    pulling, noise_ahead = _regress(values, ahead, axes[axes < 3])
    leaning, noise_aside = _regress(values, speed * rate, axes[axes < 3])
    gain = noise_ahead / max(noise_aside, 1e-9)
    weights = np.stack([turning, pulling, leaning])
    ahead_s = period_s * np.array(train.horizons, dtype=np.float64)
    return Motion(weights, gain, usual, 2.0 * fastest, ahead_s, period_s)


def _pairs(train: TrainSplit) -> tuple[Floats, Floats]:
    """
    Return means over ``SPAN_S`` of channels (n, 6) and of motion (n, 4).

    The slowest speed of a span, and means of speed, course rate and change of the speed.
    """
    period_s = train.dataset.period_s
    window = max(2 * round(0.3 / period_s / 2) + 1, 5)
    span = max(round(SPAN_S / period_s), 1)
    values, motions = [np.empty((0, 6))], [np.empty((0, 4))]
    for segment in train.dataset.segments:
        known = np.asarray(np.isfinite(segment.positions).all(axis=1))
        for start, stop in stretches_of(known):
            if stop - start <= window + span:
                continue
            places = segment.positions[start:stop]
            velocity = savgol_filter(places, window, 3, axis=0, deriv=1, delta=period_s)
            speeds = np.linalg.norm(velocity, axis=1)
            course = np.unwrap(np.arctan2(velocity[:, 1], velocity[:, 0]))
            rates = np.diff(np.column_stack([course, speeds]), axis=0) / period_s
            motion = np.column_stack([(speeds[1:] + speeds[:-1]) / 2.0, rates])
            spans = sliding_window_view(motion, span, axis=0)
            motions.append(np.column_stack([spans[:, 0].min(axis=1), spans.mean(axis=2)]))
            seen = segment.values[start + 1 : stop]
            values.append(sliding_window_view(seen, span, axis=0).mean(axis=2))
    return np.concatenate(values), np.concatenate(motions)


def _regress(values: Floats, target: Floats, axes: Ints) -> tuple[Floats, float]:
    """Return the (7,) weights of some of (n, 6) channels and 1, and what is left, robustly."""
    columns = np.append(axes, 6)
    design = np.column_stack([values, np.ones(len(values))])
    kept: Bools = np.ones(len(target), dtype=np.bool_)
    weights = np.zeros(7)
    for _ in range(4):
        weights[columns] = np.linalg.lstsq(design[kept][:, columns], target[kept], rcond=None)[0]
        left = np.abs(target - design @ weights)
        scale = 1.4826 * float(np.median(left[kept]))
        # Four robust deviations off are jumps of the reference, and crashes.
        kept = np.asarray(left <= 4.0 * scale + 1e-12)
    return weights, scale
