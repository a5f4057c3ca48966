# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The filter over ticks that runs a belief about the place on a route.

It weighs places against each other, and may well follow the turns of a vehicle whose accelerations
come without gravity. What no place on any road can bring about is told apart by the mean of the
newest window: other units, missing gravity, a sensor on its side.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.places import Places
from two_manifold_ros.filtering.recent_window import RecentWindow
from two_manifold_ros.filtering.step import Step
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.windows.familiarity import UNFAMILIAR
from two_manifold_ros.windows.stillness import Stillness

if TYPE_CHECKING:
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.typing import Floats

LEAST_IMU = np.array([3.0, 3.0, 3.0, 0.5, 0.5, 0.5])
"""
Beyond the training, m/s^2 and rad/s, that is still another slope, load or day.

Gravity turned by 18 degrees, and a gyroscope that is off by 29 degrees a second.
"""

LEAST_SCALES = 5.0
"""The same for other channels, in standard deviations."""


class WindowMean:
    """
    Compare the mean of the newest observations with those of training windows.

    Parameters
    ----------
    model
        With the means of its training windows.

    """

    def __init__(self, model: RouteModel) -> None:
        channels, width = model.channels, model.window
        live = channels.live
        self._low, self._high = model.lowest, model.highest
        least = LEAST_IMU[live] / np.abs(channels.scale[live]) if channels.of_imu else LEAST_SCALES
        self._slack = np.maximum(self._high - self._low, least)
        self._recent = np.zeros((width, len(self._low)))
        self._sum = np.zeros(len(self._low))
        self._count = 0

    def clear(self) -> None:
        """Forget everything."""
        self._recent[:] = 0.0
        self._sum[:] = 0.0
        self._count = 0

    def push(self, observation: Floats) -> float:
        """
        Take one (d,) observation.

        Returns
        -------
        float
            How far the mean of the newest ones is beyond those of training, in multiples of what
            may be; 0 until there is a whole window.

        """
        width = len(self._recent)
        place = self._count % width
        self._sum += observation - self._recent[place]
        self._recent[place] = observation
        self._count += 1
        if place == width - 1:
            # So that rounding cannot build up for ever.
            self._sum = self._recent.sum(axis=0)
        if self._count < width:
            return 0.0
        mean = self._sum / width
        beyond = np.maximum(self._low - mean, mean - self._high) / self._slack
        return max(float(beyond.max()), 0.0)


class RouteTracker:
    """
    Belief and window of one model, see ``TickFilter``.

    Parameters
    ----------
    model
        Any; several may share it.
    with_places
        Whether ``places`` will be asked for.

    Attributes
    ----------
    belief
        About the place, and whether the vehicle is on the route at all.
    window
        The newest observations.

    """

    def __init__(self, model: RouteModel, *, with_places: bool = False) -> None:
        channels, route = model.channels, model.route
        self._live = np.flatnonzero(channels.live)
        self._mean = channels.mean[self._live]
        self._inverse_scale = 1.0 / channels.scale[self._live]
        self._stillness = Stillness(len(self._live))
        self._window_mean = WindowMean(model)
        self._most_still = model.most_still + model.window
        self._places = Places(route.targets[:, 0]) if with_places else None
        self.belief = RouteBelief(route)
        self.window = RecentWindow(model.window, len(self._live))

    def start(self) -> None:
        """Forget everything."""
        self._stillness.clear()
        self._window_mean.clear()
        self.belief.start()
        self.window.clear()

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill anew."""
        self.belief.skip(ticks)
        self.window.clear()

    def update(self, values: Floats) -> Step:
        """Take the (c,) means of one tick, in the units of the samples."""
        observation = (values[self._live] - self._mean) * self._inverse_scale
        evidence = self.belief.update(observation)
        self.window.push(observation)
        still = self._stillness.push(observation)
        broken = max(still / self._most_still, self._window_mean.push(observation))
        return Step(
            evidence,
            accepted=evidence > 0.0,
            # Where nothing is broken nothing is unfamiliar; whether it is the route is told apart.
            familiarity=max(1.0, UNFAMILIAR * broken) if self.window.full else math.nan,
            restarted=evidence == 0.0,
            off_route=max(1.0 - self.belief.on_route, 0.0),
            unlike=self.belief.unlike,
        )

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        return self.belief.read()

    def places(self) -> Floats | None:
        """Return the (m, 3) places where the vehicle may be; ``None`` if they cannot be told."""
        return None if self._places is None else self._places.read(self.belief.weights)
