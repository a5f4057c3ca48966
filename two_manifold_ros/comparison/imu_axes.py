# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How an IMU is mounted, learned from how the vehicle moved in training."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import savgol_filter

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
