# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filters over ticks, and those of the spectral model and a TPSR: belief, window, read-out."""

from __future__ import annotations

from abc import ABC, abstractmethod
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.network_lines import LineState
from two_manifold_ros.filtering.status import (
    MOST_STEADY,
    REJECTED_BEFORE_RESTART,
    TickDiagnostics,
)
from two_manifold_ros.hse_hmm.belief import Belief, Recollection
from two_manifold_ros.hse_hmm.readout import RidgeReadout, SharpenedReadout
from two_manifold_ros.ticks.novelty import NOVEL, NoveltyScore
from two_manifold_ros.ticks.rest import Rest
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.tpsr.features import FourierFeatures
from two_manifold_ros.tpsr.parameters import RememberingBelief

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model, TpsrModel
    from two_manifold_ros.route.belief import RouteBelief
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Floats


class TickFilter(ABC):
    """
    A filter over ticks, without stamps.

    Its status is better after ``steady`` ticks in a row that are. ``lines`` say which line of a
    network was driven at the last tick, and its branches.
    """

    steady = MOST_STEADY
    lines = LineState()
    belief: Belief | RememberingBelief | RouteBelief

    @property
    @abstractmethod
    def seen(self) -> int:
        """Ticks in a row that were seen."""

    @abstractmethod
    def start(self) -> None:
        """Forget everything but what was learned."""

    @abstractmethod
    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill again."""

    @abstractmethod
    def update(self, values: Floats) -> TickDiagnostics:
        """Take the (c,) means of one tick, in the units of the samples."""

    @abstractmethod
    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""

    def places(self) -> Floats | None:
        """Return the (m, 3) modes of the position; ``None`` if they are not known."""
        return None

    def lose(self) -> None:  # noqa: B027 - of a network alone
        """Know, after a start, that no drive begins here: nothing shows the place then."""

    def place(self, chances: Floats) -> None:  # noqa: ARG002 - of a route alone
        """Be at the places of a route with these ``chances`` (P,), after a start."""
        msg = 'only the filter of a route has places to start at'
        raise TypeError(msg)

    def spread_anywhere(self) -> list[Floats]:
        """Return the (2, 2) covariance of a start anywhere; none if a belief has no say in it."""
        return []


class WindowTracker(TickFilter):
    """
    The part of a `TickFilter` that compares windows with those of training, and the clock.

    If the clock of the model stands while the vehicle does, observations at rest are left out:
    belief, window and predicted positions, whose horizons count ticks of driving, stay as they
    were, and the velocity is zero.
    """

    belief: Belief | RememberingBelief

    def __init__(self, model: Model | TpsrModel) -> None:
        channels = model.channels
        self._readout = model.readout
        self._mean = channels.mean[channels.live]
        self._inverse_scale = 1.0 / channels.scale[channels.live]
        self._live = np.flatnonzero(channels.live)
        self._novelty = NoveltyScore(model.novelty, model.window)
        ticks, self._rest_limit = (2, 0.0) if model.rest is None else model.rest
        self._rest = Rest(ticks, len(model.series))
        self._driven = TickDiagnostics(math.nan, accepted=True, novelty=math.nan, restarted=False)
        self._stands = False
        self._rejected = 0
        self._window = SlidingWindow(model.series, model.starts, model.window)

    @property
    def seen(self) -> int:
        """Ticks in a row that were seen."""
        return self._window.count

    def start(self) -> None:
        """Forget everything."""
        self._novelty.clear()
        self._rest.clear()
        self._stands = False
        self.belief.start()
        self._window.clear()
        self._rejected = 0

    def coast(self, ticks: int) -> None:
        """Move on by some ticks, see `TickFilter`; a vehicle that stood is taken to stand."""
        if not self._stands:
            self.belief.skip(ticks)
        self._window.clear()
        self._rejected = 0

    def update(self, values: Floats) -> TickDiagnostics:
        """Take the (c,) means of one tick, in the units of the samples."""
        observation = (values[self._live] - self._mean) * self._inverse_scale
        spread, still = self._rest.push(observation)
        self._stands = spread < self._rest_limit
        if self._stands:
            # A sensor that broke stands still to the last digit, which no vehicle does.
            novelty = max(self._driven.novelty, self._novelty.frozen(still))
            return self._driven._replace(novelty=novelty, standing=True)
        evidence, restarted = self._follow(observation)
        self._window.push(observation)
        novelty = self._novelty.push(*self._window.nearest_and_mean(), still)
        self._driven = TickDiagnostics(evidence, self.belief.accepted, novelty, restarted)
        return self._driven

    @abstractmethod
    def _follow(self, observation: Floats) -> tuple[float, bool]:
        """Take an observation (d,); return the evidence, and whether the belief was restarted."""

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        means, covariances = self._readout.read(self.belief.weights, self.belief.state)
        if self._stands:
            means[-1] = 0.0
        return means, covariances

    def spread_anywhere(self) -> list[Floats]:
        """Return the covariance (2, 2) of a start; a ridge read-out has one for every belief."""
        return [] if isinstance(self._readout, RidgeReadout) else [self.read()[1][0]]


class Tracker(WindowTracker):
    """A `TickFilter` of the spectral model."""

    belief: Belief

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._longest = 1.0 + model.state_bound**2
        self._guarded = model.guarded
        # A ridge read-out was fitted to states that were left alone.
        self._mixes = model.guarded and isinstance(self._readout, SharpenedReadout)
        self.belief = Belief(model.tables, model.operator, guarded=model.guarded)
        self._recollection = Recollection(self._window, model.warm_start)

    def _follow(self, observation: Floats) -> tuple[float, bool]:
        if self._mixes and self._driven.novelty <= NOVEL:
            self._recollection.remind(self.belief)
        evidence = self.belief.update(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        state = self.belief.state
        escaped = not float(np.dot(state, state)) <= self._longest
        restarted = self.belief.lost
        if self._guarded and (escaped or self._rejected >= REJECTED_BEFORE_RESTART):
            restarted = True
            # From the window before this observation if there is one, mathematics (6.4), else from
            # the prior; then this observation is taken as any other: the weights stay those at
            # this tick.
            self._rejected = 0
            self.belief.start(self._recollection.state())
            evidence = self.belief.update(observation)
        return evidence, restarted


class TpsrTracker(WindowTracker):
    """A `TickFilter` of a TPSR, which filters by Boots & Gordon 2011, eq. 2."""

    belief: RememberingBelief

    def __init__(self, model: TpsrModel) -> None:
        super().__init__(model)
        features = FourierFeatures(model.frequencies, model.phases)
        self.belief = RememberingBelief(model.tpsr, features, model.weights, model.features)

    def adopt(self, model: TpsrModel, move: Move) -> None:
        """Go on with newer parameters of the model, whose bases moved."""
        self.belief.adopt(model.tpsr, move, model.weights, model.features)
        self._readout = model.readout

    def _follow(self, observation: Floats) -> tuple[float, bool]:
        evidence = self.belief.update(observation)
        self._rejected = 0 if self.belief.accepted else self._rejected + 1
        restarted = self._rejected >= REJECTED_BEFORE_RESTART
        if restarted:
            self._rejected = 0
            self.belief.start()
        return evidence, restarted
