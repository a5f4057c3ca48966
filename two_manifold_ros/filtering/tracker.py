# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter over ticks: belief, window and read-out together, whatever the stamps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.aftermath import Aftermath
from two_manifold_ros.filtering.places import Places
from two_manifold_ros.filtering.step import REJECTED_BEFORE_RESTART, Step
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.recollection import Recollection
from two_manifold_ros.localisation.belief import RouteBelief
from two_manifold_ros.readout.forecast import ForecastReadout
from two_manifold_ros.readout.sharpened import SharpenedReadout
from two_manifold_ros.windows.familiarity import Familiarity, UNFAMILIAR
from two_manifold_ros.windows.sliding import SlidingWindow
from two_manifold_ros.windows.stillness import Stillness

if TYPE_CHECKING:
    from two_manifold_ros.localisation.surprise import Surprise
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.typing import Floats


def make_belief(model: Model) -> Belief | RouteBelief:
    """Return a fresh belief of the kind that the model was trained for."""
    if model.route is not None:
        return RouteBelief(model.route)
    return Belief(model.tables, model.operator)


class Tracker:
    """
    Belief and window of one model.

    Parameters
    ----------
    model
        Any.
    with_places
        Whether ``places`` will be asked for; only a route belief can tell them.

    Attributes
    ----------
    belief
        The HMM's belief.
    window
        The newest observations and their distances to the training windows.

    """

    def __init__(self, model: Model, *, with_places: bool = False) -> None:
        channels = model.channels
        self._readout = model.readout
        self._mean = channels.mean[channels.live]
        self._inverse_scale = 1.0 / channels.scale[channels.live]
        self._live = np.flatnonzero(channels.live)
        self._state_bound = model.state_bound
        self._familiarity = Familiarity(model.familiarity, model.window)
        self._stillness = Stillness(len(model.series))
        self._aftermath = Aftermath(model.window)
        self._rejected = 0
        # A ridge read-out was fitted to states that were left alone.
        self._mixes = isinstance(self._readout, SharpenedReadout)
        self._window_known = False
        self._places = None
        if with_places and isinstance(self._readout, ForecastReadout):
            self._places = Places(self._readout.targets[:, 0])
        self.belief = make_belief(model)
        self.window = SlidingWindow(model.series, model.starts, model.window)
        self._recollection = Recollection(self.window, model.warm_start)

    def start(self) -> None:
        """Forget everything."""
        self._familiarity.clear()
        self._stillness.clear()
        self._aftermath.clear()
        self.belief.start()
        self.window.clear()
        self._rejected = 0

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill anew."""
        self.belief.skip(ticks)
        self.window.clear()
        self._rejected = 0

    def update(self, values: Floats) -> Step:
        """Take the (6,) means of one tick, in the units of the IMU."""
        observation = (values[self._live] - self._mean) * self._inverse_scale
        if self._mixes and self._window_known and isinstance(self.belief, Belief):
            self._recollection.remind(self.belief)
        evidence = self.belief.update(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        restarted = self._rejected >= REJECTED_BEFORE_RESTART or self._escaped()
        if restarted:
            # From the window before this observation, which is then taken as any other: the
            # weights stay those at this tick.
            self._restart()
            evidence = self.belief.update(observation)
        self.window.push(observation)
        still = self._stillness.push(observation)
        familiarity = self._familiarity.push(*self.window.nearest_and_mean(), still)
        self._window_known = familiarity <= UNFAMILIAR
        step = Step(evidence, self.belief.accepted, familiarity, restarted)
        if isinstance(self.belief, RouteBelief):
            return self._with_surprise(step, self.belief.surprise)
        return step

    def _with_surprise(self, step: Step, surprise: Surprise) -> Step:
        if self._aftermath.push(step.familiarity, doubted=surprise.doubted):
            self._familiarity.clear()
        return replace(
            step,
            surprise=surprise.recent,
            doubted=surprise.doubted,
            excused=self._aftermath.lasts,
        )

    def _escaped(self) -> bool:
        if isinstance(self.belief, RouteBelief):
            return False
        state = self.belief.state
        return not float(np.dot(state, state)) <= 1.0 + self._state_bound**2

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        return self._readout.read(self.belief.weights, self.belief.state, self.belief.pace)

    def places(self) -> Floats | None:
        """Return the (m, 3) places where the vehicle may be; ``None`` if they cannot be told."""
        return None if self._places is None else self._places.read(self.belief.weights)

    def _restart(self) -> None:
        """Start from the newest window where there is one, else from the prior (section 6.4)."""
        self._rejected = 0
        if isinstance(self.belief, Belief):
            self.belief.start(self._recollection.state())
        else:
            # The route belief finds its way from anywhere.
            self.belief.start()
