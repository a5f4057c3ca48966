# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The spectral filter over ticks: belief, window and read-out together, whatever the stamps."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.step import REJECTED_BEFORE_RESTART, Step
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.recollection import Recollection
from two_manifold_ros.readout.sharpened import SharpenedReadout
from two_manifold_ros.ticks.rest import Rest
from two_manifold_ros.windows.familiarity import Familiarity, UNFAMILIAR
from two_manifold_ros.windows.sliding import SlidingWindow
from two_manifold_ros.windows.stillness import Stillness

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.typing import Floats


class Tracker:
    """
    Belief and window of one model.

    Where the model has a clock that stands while the vehicle does, observations at rest are left
    out: belief and window are those of the last tick of driving, and so are the positions ahead,
    which count ticks of driving; the velocity is nought.

    Parameters
    ----------
    model
        Any.

    Attributes
    ----------
    belief
        The HMM's belief.
    window
        The newest observations and their distances to the training windows.

    """

    def __init__(self, model: Model) -> None:
        channels = model.channels
        self._readout = model.readout
        self._mean = channels.mean[channels.live]
        self._inverse_scale = 1.0 / channels.scale[channels.live]
        self._live = np.flatnonzero(channels.live)
        self._state_bound = model.state_bound
        self._familiarity = Familiarity(model.familiarity, model.window)
        self._stillness = Stillness(len(model.series))
        self._rest = None if model.rest is None else Rest(model.rest, len(model.series))
        self._driven = Step(math.nan, accepted=True, familiarity=math.nan, restarted=False)
        self._stands = False
        self._rejected = 0
        # A ridge read-out was fitted to states that were left alone.
        self._mixes = isinstance(self._readout, SharpenedReadout)
        self._window_known = False
        self.belief = Belief(model.tables, model.operator)
        self.window = SlidingWindow(model.series, model.starts, model.window)
        self._recollection = Recollection(self.window, model.warm_start)

    def start(self) -> None:
        """Forget everything."""
        self._familiarity.clear()
        self._stillness.clear()
        if self._rest is not None:
            self._rest.clear()
        self._stands = False
        self.belief.start()
        self.window.clear()
        self._rejected = 0

    def coast(self, ticks: int) -> None:
        """
        Move on by some ticks without observations; the window has to fill anew.

        A vehicle that stood is taken for one that still does: the first tick after the gap shows
        whether that is so, since it is compared with those before.
        """
        if not self._stands:
            self.belief.skip(ticks)
        self.window.clear()
        self._rejected = 0

    def update(self, values: Floats) -> Step:
        """Take the (6,) means of one tick, in the units of the IMU."""
        observation = (values[self._live] - self._mean) * self._inverse_scale
        still = self._stillness.push(observation)
        if self._rest is not None and self._rest.push(observation):
            # A sensor that broke stands still to the last digit, which no vehicle does.
            familiarity = max(self._driven.familiarity, self._familiarity.frozen(still))
            self._stands = True
            return replace(self._driven, familiarity=familiarity, standing=True)
        self._driven = self._drive(observation, still)
        self._stands = False
        return self._driven

    def _drive(self, observation: Floats, still: int) -> Step:
        if self._mixes and self._window_known:
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
        familiarity = self._familiarity.push(*self.window.nearest_and_mean(), still)
        self._window_known = familiarity <= UNFAMILIAR
        return Step(evidence, self.belief.accepted, familiarity, restarted)

    def _escaped(self) -> bool:
        state = self.belief.state
        return not float(np.dot(state, state)) <= 1.0 + self._state_bound**2

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        means, covariances = self._readout.read(self.belief.weights, self.belief.state)
        if self._stands:
            means[-1] = 0.0
        return means, covariances

    def places(self) -> None:
        """Return ``None``: weights that may be negative are no chances of places."""

    def _restart(self) -> None:
        """Start from the newest window where there is one, else from the prior (section 6.4)."""
        self._rejected = 0
        self.belief.start(self._recollection.state())
