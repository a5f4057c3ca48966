# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether the route is driven the other way round.

The same bends come in reversed order then, left for right, but not at the same speed: who comes
out of a bend one way goes into it the other. So the newest stretch, read backwards, is laid over
that of training with the time stretched or pressed as it fits best, and compared with how well it
fits read forwards.
"""

from __future__ import annotations

from collections import deque
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.recent_window import RecentWindow
from two_manifold_ros.monitoring.finding import Finding
from two_manifold_ros.monitoring.likeness import PARTS, watched_ticks

if TYPE_CHECKING:
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.typing import Floats

STRETCH = 2 * PARTS
"""Parts that are laid over the training at once: two windows."""

MOST_PARTS = 2_000
"""Of longer trainings the beginning is used: some laps are enough."""

BENDS = (1, 2, 3, 4, 5)
"""Channels that tell bends, slopes and banks; forward acceleration is the driver's choice."""

SIGNS = np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
"""Of a channel driven the other way round."""

SKIPPED = 0.5
"""What it costs to dwell on a part of training or to leave one out, in squared deviations."""

SAMPLED = 20
"""Stretches of training from which is learned what is usual."""

LOOK_S, LOOKS = 1.0, 2
"""Seconds of the stream between two looks, and over how many is averaged."""

STRANGE, NEAR = 0.7, 2.3
"""Logarithm of the cost over the usual: above the first read forwards, below the second back."""

GAIN = 0.45
"""
By how much the logarithm has to be lower backwards.

On other tracks it is .3 at most, and seldom below .5 for the slot car driven the other way round.
"""

FOUND = Finding(
    'wrong_way',
    'the bends come as on the route driven the other way round: compare direction and track with '
    'training',
    refuses=True,
)


class WrongWay:
    """
    Look along a stream whether it is the route the other way round.

    Parameters
    ----------
    model
        Of an IMU.

    Attributes
    ----------
    finding
        That it is, as long as it is.

    """

    def __init__(self, model: TrainedModel) -> None:
        live = np.flatnonzero(model.channels.live)
        told = np.isin(live, BENDS)
        self._channels = live[told]
        self._each = max(1, round(watched_ticks(model) / PARTS))
        self._mean = model.channels.mean[self._channels]
        self._scale = model.channels.scale[self._channels]
        used = model.series[told, : MOST_PARTS * self._each]
        self._learned = _parts(used.T, self._each)
        self._norms = np.square(self._learned).sum(axis=1)
        able = model.channels.of_imu and told.any() and len(self._learned) > 2 * STRETCH
        self._usual = self._usual_cost() if able else math.inf
        self._window = RecentWindow(STRETCH * self._each, len(self._channels))
        self._every = max(1, round(LOOK_S * model.rate_hz))
        self._looks: deque[tuple[float, float]] = deque(maxlen=LOOKS)
        self.finding: Finding | None = None

    def clear(self) -> None:
        """Forget the stream and what was found in it."""
        self.pause()
        self.finding = None

    def pause(self) -> None:
        """Forget the stream, as after a gap, but not what was found in it."""
        self._window.clear()
        self._looks.clear()

    def push(self, means: Floats, *, strange: bool) -> None:
        """
        Take a tick.

        Parameters
        ----------
        means : (c,)
            Of the samples.
        strange
            Whether the newest window needs an explanation.

        """
        self._window.push(means[self._channels])
        if self._window.full and self._window.count % self._every == 0:
            if strange and math.isfinite(self._usual):
                self._looks.append(self._costs())
                self._settle()
            elif not strange:
                self._looks.clear()
                self.finding = None

    def _costs(self) -> tuple[float, float]:
        """Return the costs of the newest stretch read forwards and backwards, over the usual."""
        rows = self._window.point.reshape(-1, len(self._channels))
        ahead = _parts((rows - self._mean) / self._scale, self._each)
        signed = rows[::-1] * SIGNS[self._channels]
        back = _parts((signed - self._mean) / self._scale, self._each)
        forth, reversed_ = (
            math.log(self._cost(each).min() / self._usual) for each in (ahead, back)
        )
        return forth, reversed_

    def _settle(self) -> None:
        if len(self._looks) == LOOKS:
            forth, back = np.mean(self._looks, axis=0)
            found = forth > STRANGE and back < NEAR and forth - back > GAIN
            self.finding = FOUND if found else None

    def _cost(self, stretch: Floats) -> Floats:
        """Return the least cost of laying (k, d) parts over the training, by where they end."""
        apart = self._norms + np.square(stretch).sum(axis=1)[:, None]
        apart -= 2.0 * stretch @ self._learned.T
        total = apart[0]
        for row in apart[1:]:
            least = total + SKIPPED
            np.minimum(least[1:], total[:-1], out=least[1:])
            np.minimum(least[2:], total[:-2] + SKIPPED, out=least[2:])
            total = least + row
        floored: Floats = np.maximum(total, np.finfo(float).tiny)
        return floored

    def _usual_cost(self) -> float:
        """Return the median cost of stretches of training, away from where they are."""
        found = []
        for end in np.linspace(STRETCH, len(self._learned), SAMPLED).astype(int):
            costs = self._cost(self._learned[end - STRETCH : end])
            costs[max(0, end - 2 * STRETCH) : end + 2 * STRETCH] = math.inf
            found.append(costs.min())
        return max(float(np.median(found)), SKIPPED)


def _parts(rows: Floats, each: int) -> Floats:
    """Return the means of so many (t, d) rows each."""
    count = len(rows) // each
    means: Floats = rows[: count * each].reshape(count, each, -1).mean(axis=1)
    return means
