# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The filter over ticks that runs a belief about the place on a route.

Input that no place on any road can bring about is told apart by the mean of the newest window:
other units, missing gravity, a sensor on its side.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.filtering.estimate import PositionModes
from two_manifold_ros.filtering.tracker import UpdateResult
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.ticks.novelty import UNFAMILIAR
from two_manifold_ros.ticks.rest import alike

if TYPE_CHECKING:
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.typing import Floats, Ints


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
        Observations before this one.

    Returns
    -------
    same : bool
        Whether nothing changed.
    beyond : float
        How far the mean of the newest ones is beyond those of training, in multiples of what is
        usual; 0 until there is a whole window.

    """
    mean, inverse_scale, low, high, slack = 0, 1, 2, 3, 4
    before, total = 0, 1
    width, place = len(recent), count % len(recent)
    for k in range(len(live)):
        value = (values[live[k]] - known[mean, k]) * known[inverse_scale, k]
        now[total, k] += value - recent[place, k]
        recent[place, k] = value
    same = alike(recent[place], now[before])
    now[before] = recent[place]
    if place == width - 1:
        # So that rounding cannot build up for ever.
        now[total] = 0.0
        for tick in range(width):
            now[total] += recent[tick]
    beyond = 0.0
    if count + 1 >= width:
        for k in range(len(live)):
            average = now[total, k] / width
            far = max(known[low, k] - average, average - known[high, k]) / known[slack, k]
            beyond = max(beyond, far)
    return same, beyond


class RouteTracker:
    """
    A `TickFilter` of the route model.

    Parameters
    ----------
    model
        Any; several trackers may share it.
    with_places
        Whether ``places`` will be asked for.

    Attributes
    ----------
    belief
        About the place, and whether the vehicle is on the route at all.
    seen
        Ticks in a row that were seen.

    """

    def __init__(self, model: RouteModel, *, with_places: bool = False) -> None:
        channels, route = model.channels, model.route
        self._live = np.flatnonzero(channels.live)
        scale = channels.scale[self._live]
        # Beyond the training, another slope, load or day: gravity turned by 18 degrees and a
        # gyroscope off by 29 degrees a second; of other channels, five standard deviations.
        imu = np.array([3.0, 3.0, 3.0, 0.5, 0.5, 0.5])
        least = imu[self._live] / scale if channels.of_imu else 5.0
        slack = np.maximum(model.highest - model.lowest, least)
        self._known = np.array(
            [channels.mean[self._live], 1.0 / scale, model.lowest, model.highest, slack]
        )
        self._now = np.zeros((2, len(self._live)))
        self._recent = np.zeros((model.window, len(self._live)))
        self._most_still = model.most_still + model.window
        self._modes = PositionModes(route.targets[:, 0]) if with_places else None
        self.belief = RouteBelief(route)
        self.seen = 0
        self._clear_input()

    @property
    def state(self) -> Floats:
        """Latent state (k,) after the last observation."""
        return self.belief.state

    def _clear_input(self) -> None:
        self._recent[:] = 0.0
        self._now[1] = 0.0
        self._now[0] = np.inf
        self._ticks = self._still = 0

    def start(self) -> None:
        """Forget everything."""
        self._clear_input()
        self.belief.start()
        self.seen = 0

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill again."""
        self.belief.skip(ticks)
        self.seen = 0

    def update(self, values: Floats) -> UpdateResult:
        """Take the (c,) means of one tick, in the units of the samples."""
        same, beyond = _take(values, self._live, self._known, self._now, self._recent, self._ticks)
        self._ticks += 1
        self._still = self._still + 1 if same else 0
        evidence = self.belief.update(self._now[0])
        self.seen += 1
        broken = max(self._still / self._most_still, beyond)
        full = self.seen >= len(self._recent)
        return UpdateResult(
            evidence,
            accepted=evidence > 0.0,
            # Where nothing is broken nothing is unfamiliar; whether it is the route is told apart.
            familiarity=max(1.0, UNFAMILIAR * broken) if full else math.nan,
            restarted=evidence == 0.0,
            off_route=max(1.0 - self.belief.on_route, 0.0),
            unlike=self.belief.unlike,
        )

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        return self.belief.read()

    def places(self) -> Floats | None:
        """Return the (m, 3) modes of the position; ``None`` if they were not asked for."""
        return None if self._modes is None else self._modes.read(self.belief.weights)
