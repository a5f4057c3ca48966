# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The spectral filter over ticks: belief, window and read-out together."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.belief import Belief, Recollection
from two_manifold_ros.hse_hmm.readout import SharpenedReadout
from two_manifold_ros.ticks.novelty import Familiarity, UNFAMILIAR
from two_manifold_ros.ticks.rest import Rest, StuckTicks
from two_manifold_ros.ticks.sliding import SlidingWindow

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.typing import Floats


REJECTED_BEFORE_RESTART = 10
"""Unlikely observations in a row before the belief is restarted (mathematics, section 6.5)."""


@dataclass(frozen=True)
class UpdateResult:
    """
    What one observation did.

    Parameters
    ----------
    evidence
        See ``Belief.update``.
    accepted
        Whether the observation moved the belief.
    familiarity
        See ``Estimate``; NaN until the window is full.
    restarted
        Whether the belief had to be restarted.
    off_route
        Probability that the vehicle is not on the trained route; NaN where unknown.
    unlike
        Probability that it moves unlike all training; NaN where unknown.
    standing
        Whether the observation was left out because the vehicle stands; all else is then the
        result of the last observation that was not.

    """

    evidence: float
    accepted: bool
    familiarity: float
    restarted: bool
    off_route: float = math.nan
    unlike: float = math.nan
    standing: bool = False


class Tracker:
    """
    A `TickFilter` of the spectral model.

    Where the model has a clock that stands while the vehicle does, observations at rest are left
    out: belief and window are those of the last tick of driving, and so are the predicted
    positions, whose horizons count ticks of driving; the velocity is zero.

    Parameters
    ----------
    model
        Any; several trackers may share it.

    Attributes
    ----------
    belief
        The HMM's belief.

    """

    def __init__(self, model: Model) -> None:
        channels = model.channels
        self._readout = model.readout
        self._mean = channels.mean[channels.live]
        self._inverse_scale = 1.0 / channels.scale[channels.live]
        self._live = np.flatnonzero(channels.live)
        self._longest = 1.0 + model.state_bound**2
        self._familiarity = Familiarity(model.familiarity, model.window)
        self._stillness = StuckTicks(len(model.series))
        self._rest = None if model.rest is None else Rest(model.rest, len(model.series))
        self._driven = UpdateResult(math.nan, accepted=True, familiarity=math.nan, restarted=False)
        self._stands = False
        self._rejected = 0
        # A ridge read-out was fitted to states that were left alone.
        self._mixes = isinstance(self._readout, SharpenedReadout)
        self._window_known = False
        self.belief = Belief(model.tables, model.operator)
        self._window = SlidingWindow(model.series, model.starts, model.window)
        self._recollection = Recollection(self._window, model.warm_start)

    @property
    def state(self) -> Floats:
        """Latent state (k,) after the last observation."""
        return self.belief.state

    @property
    def seen(self) -> int:
        """Ticks in a row that were seen."""
        return self._window.count

    def start(self) -> None:
        """Forget everything."""
        self._familiarity.clear()
        self._stillness.clear()
        if self._rest is not None:
            self._rest.clear()
        self._stands = False
        self.belief.start()
        self._window.clear()
        self._rejected = 0

    def coast(self, ticks: int) -> None:
        """
        Move on by some ticks without observations; the window has to fill again.

        A vehicle that stood is taken for one that still does: the first tick after the gap shows
        whether that is so, since it is compared with those before.
        """
        if not self._stands:
            self.belief.skip(ticks)
        self._window.clear()
        self._rejected = 0

    def update(self, values: Floats) -> UpdateResult:
        """Take the (c,) means of one tick, in the units of the samples."""
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

    def _drive(self, observation: Floats, still: int) -> UpdateResult:
        if self._mixes and self._window_known:
            self._recollection.remind(self.belief)
        evidence = self.belief.update(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        state = self.belief.state
        escaped = not float(np.dot(state, state)) <= self._longest
        restarted = escaped or self._rejected >= REJECTED_BEFORE_RESTART
        if restarted:
            # From the window before this observation if there is one, mathematics (6.4), else from
            # the prior; then this observation is taken as any other: the weights stay those at
            # this tick.
            self._rejected = 0
            self.belief.start(self._recollection.state())
            evidence = self.belief.update(observation)
        self._window.push(observation)
        familiarity = self._familiarity.push(*self._window.nearest_and_mean(), still)
        self._window_known = familiarity <= UNFAMILIAR
        return UpdateResult(evidence, self.belief.accepted, familiarity, restarted)

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        means, covariances = self._readout.read(self.belief.weights, self.belief.state)
        if self._stands:
            means[-1] = 0.0
        return means, covariances

    def places(self) -> None:
        """Return ``None``: weights that may be negative are no chances of places."""
