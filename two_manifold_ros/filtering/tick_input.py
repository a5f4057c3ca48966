# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a tick shows by itself, before anything is believed: its observation, and what is odd of it.

What no place on any road can bring about is told apart by the mean of the newest window: other
units, missing gravity, a sensor on its side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.windows.stillness import alike

if TYPE_CHECKING:
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.typing import Floats, Ints

LEAST_IMU = np.array([3.0, 3.0, 3.0, 0.5, 0.5, 0.5])
"""
Beyond the training, m/s^2 and rad/s, that is still another slope, load or day.

Gravity turned by 18 degrees, and a gyroscope that is off by 29 degrees a second.
"""

LEAST_SCALES = 5.0
"""The same for other channels, in standard deviations."""

MEAN, INVERSE_SCALE, LOW, HIGH, SLACK = range(5)
"""Rows of what is known of the channels."""

OBSERVATION, SUM = range(2)
"""Rows of what changes from tick to tick."""


@compiled
def _take(
    values: Floats, live: Ints, known: Floats, now: Floats, recent: Floats, count: int
) -> tuple[bool, float]:
    """
    Take the means of a tick.

    Parameters
    ----------
    values : (c,)
        In the units of the samples.
    live : (d,) int64
        Channels that are used.
    known : (5, d)
        Mean and one over the standard deviation of training; lowest and highest mean of a window
        of it, standardised, and how far beyond is still usual.
    now : (2, d)
        The observation before, and the sum of the newest ones; updated.
    recent : (w, d)
        The newest observations, standardised; updated.
    count
        How many there were before this one.

    Returns
    -------
    same : bool
        Whether nothing changed.
    beyond : float
        How far the mean of the newest ones is beyond those of training, in multiples of what may
        be; 0 until there is a whole window.

    """
    width, place = len(recent), count % len(recent)
    for k in range(len(live)):
        value = (values[live[k]] - known[MEAN, k]) * known[INVERSE_SCALE, k]
        now[SUM, k] += value - recent[place, k]
        recent[place, k] = value
    same = alike(recent[place], now[OBSERVATION])
    now[OBSERVATION] = recent[place]
    if place == width - 1:
        # So that rounding cannot build up for ever.
        now[SUM] = 0.0
        for tick in range(width):
            now[SUM] += recent[tick]
    beyond = 0.0
    if count + 1 >= width:
        for k in range(len(live)):
            mean = now[SUM, k] / width
            far = max(known[LOW, k] - mean, mean - known[HIGH, k]) / known[SLACK, k]
            beyond = max(beyond, far)
    return same, beyond


class TickInput:
    """
    Standardise the means of ticks and hold them against those of training.

    Parameters
    ----------
    model
        With the means of its training windows.

    Attributes
    ----------
    observation : (d,)
        The newest, standardised; changed by the next tick.
    still
        Observations in a row that were the same as the one before.
    beyond
        How far the mean of the newest window is beyond those of training, see `_take`.

    """

    def __init__(self, model: RouteModel) -> None:
        channels = model.channels
        self._live = np.flatnonzero(channels.live)
        scale = channels.scale[self._live]
        least = LEAST_IMU[self._live] / scale if channels.of_imu else LEAST_SCALES
        slack = np.maximum(model.highest - model.lowest, least)
        self._known = np.array(
            [channels.mean[self._live], 1.0 / scale, model.lowest, model.highest, slack]
        )
        self._now = np.zeros((2, len(self._live)))
        self._recent = np.zeros((model.window, len(self._live)))
        self.observation = self._now[OBSERVATION]
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._recent[:] = 0.0
        self._now[SUM] = 0.0
        self._now[OBSERVATION] = np.inf
        self._count = self.still = 0
        self.beyond = 0.0

    def push(self, values: Floats) -> None:
        """Take the (c,) means of one tick, in the units of the samples."""
        same, self.beyond = _take(
            values, self._live, self._known, self._now, self._recent, self._count
        )
        self._count += 1
        self.still = self.still + 1 if same else 0
