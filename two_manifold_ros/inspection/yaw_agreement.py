# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the gyroscope and the course of the positions tell the same story, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.signal import savgol_filter

from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from two_manifold_ros.inspection.motion import Motion
    from two_manifold_ros.typing import Floats

_FURTHEST_S = 2.0
_FEWEST_POINTS = 50
_TELLING = 0.6


@dataclass(frozen=True)
class YawAgreement:
    """
    The gyroscope axis that follows the course best.

    Parameters
    ----------
    channel
        Its name.
    correlation
        With the course rate, at the best offset; its magnitude is the quality of the offset.
    slope
        Gyroscope over course rate at that offset: 1 where all is well, 57.3 for deg/s, negative
        for an IMU that is upside down.
    offset_s
        How far the stamps of the positions are behind those of the IMU, seconds; ``None`` where
        the correlation is too low to tell.

    """

    channel: str
    correlation: float
    slope: float
    offset_s: float | None


def compare_yaw(motion: Motion, seconds: Floats, rates: Floats) -> YawAgreement | None:
    """
    Correlate each gyroscope axis with the course rate over offsets of up to two seconds.

    Parameters
    ----------
    motion
        From the positions.
    seconds : (N,) float64
        Stamps of the IMU, increasing, on the time axis of the motion.
    rates : (N, 3) float64
        Angular rates, finite.

    Returns
    -------
    The best axis, or nothing if the streams do not overlap or nothing turns.

    """
    reach = round(_FURTHEST_S / motion.step_s)
    best: tuple[float, int, int, Floats, Floats] | None = None
    for axis in range(3):
        yaw = _on_grid(motion, seconds, rates[:, axis])
        correlations = np.array(
            [
                _correlation(*_shifted(yaw, motion.course_rate, lag))
                for lag in range(-reach, reach + 1)
            ]
        )
        peak = int(np.argmax(np.abs(correlations)))
        quality = abs(float(correlations[peak]))
        if quality > 0 and (best is None or quality > best[0]):
            best = (quality, axis, peak, correlations, yaw)
    if best is None:
        return None
    quality, axis, peak, correlations, yaw = best
    told = quality >= _TELLING and 0 < peak < 2 * reach
    turning, course_rate = _shifted(yaw, motion.course_rate, peak - reach)
    return YawAgreement(
        channel=IMU_CHANNELS[3 + axis],
        correlation=float(correlations[peak]),
        slope=_slope(turning, course_rate),
        offset_s=(peak - reach + _vertex(np.abs(correlations), peak)) * motion.step_s
        if told
        else None,
    )


def _on_grid(motion: Motion, seconds: Floats, rates: Floats) -> Floats:
    """Average the rates over the steps of the grid and smooth them as the course was."""
    angle = cumulative_trapezoid(rates, seconds, initial=0)
    edges = np.append(motion.seconds, motion.seconds[-1] + motion.step_s) - motion.step_s / 2
    means = np.diff(np.interp(edges, seconds, angle)) / motion.step_s
    smooth: Floats = savgol_filter(means, motion.window, 3)
    # Near the ends of the stream the cubic reaches beyond it.
    margin = motion.window * motion.step_s / 2
    inside = (motion.seconds > seconds[0] + margin) & (motion.seconds < seconds[-1] - margin)
    smooth[~inside] = np.nan
    return smooth


def _shifted(yaw: Floats, course_rate: Floats, lag: int) -> tuple[Floats, Floats]:
    """Return the pairs in which the course rate is ``lag`` steps later, known ones only."""
    count = len(yaw) - abs(lag)
    early, late = yaw[max(0, -lag) :][:count], course_rate[max(0, lag) :][:count]
    both = np.isfinite(early) & np.isfinite(late)
    return early[both], late[both]


def _correlation(first: Floats, second: Floats) -> float:
    if len(first) < _FEWEST_POINTS:
        return 0.0
    scale = float(first.std() * second.std())
    if scale < 1e-12:
        return 0.0
    return float(np.mean((first - first.mean()) * (second - second.mean()))) / scale


def _slope(yaw: Floats, course_rate: Floats) -> float:
    """Regress the course on the gyroscope and invert: the noise is in the positions."""
    deviation = yaw - yaw.mean()
    return float(deviation @ deviation / (deviation @ course_rate))


def _vertex(values: Floats, peak: int) -> float:
    """Return where the parabola through a peak and its neighbours has its top, in steps."""
    left, top, right = values[peak - 1 : peak + 2]
    bend = left - 2 * top + right
    return 0.0 if bend == 0 else float((left - right) / (2 * bend))
