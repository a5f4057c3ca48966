# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter over ticks that keeps learning while it filters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math
from time import thread_time
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.learning import Learning
from two_manifold_ros.adapting.locating import BROKEN, FADED, Locating
from two_manifold_ros.adapting.quarantine import Verdict
from two_manifold_ros.adapting.readout_sums import reach
from two_manifold_ros.adapting.seen import NoBelief, Seen
from two_manifold_ros.adapting.warm_up import WarmUp
from two_manifold_ros.filtering.recent_window import RecentWindow
from two_manifold_ros.filtering.step import REJECTED_BEFORE_RESTART, Step
from two_manifold_ros.tpsr.belief import TpsrBelief

if TYPE_CHECKING:
    from two_manifold_ros.adapting.adapting_head import AdaptingHead
    from two_manifold_ros.adapting.learning_budget import LearningBudget
    from two_manifold_ros.adapting.senses import Senses
    from two_manifold_ros.filtering.tick_filter import HasState
    from two_manifold_ros.tpsr.move import Move
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats

FIRST_SAMPLES = 2
"""Times the rank that has to be learned before there is a belief: with less, states run wild."""


class AdaptiveTracker:
    """
    A `TickFilter` that learns from the ticks that it filters.

    Ticks have numbers, under which reference positions may be told afterwards.

    Parameters
    ----------
    head
        Of the stream.
    budget
        That may drop samples; without one all are learned.

    Attributes
    ----------
    belief, window
        See `TickFilter`.
    number
        Of the newest tick.
    senses
        Scales and feature maps; ``None`` during the warm-up.
    learning
        The learner and its gates; ``None`` during the warm-up.
    locating
        The read-out and what it is learned from.
    angle
        By how much the bases moved at the last fold, radians.
    update_s
        Processor time that the last fold took.

    """

    def __init__(self, head: AdaptingHead, budget: LearningBudget | None = None) -> None:
        settings = head.settings
        self._settings = settings
        self._budget = budget
        self._warm_up = WarmUp(
            settings, head.channels.names, head.channels if head.measured else None
        )
        self._recent: RecentWindow | None = None
        self._rejected = 0
        self._settled = 0
        self._held_since: int | None = None
        self._tpsr_belief: TpsrBelief | None = None
        self.senses: Senses | None = None
        self.learning: Learning | None = None
        self.locating = Locating(settings)
        self.belief: HasState = NoBelief(np.zeros(settings.states))
        self.window = Seen()
        self.number = -1
        self.angle = 0.0
        self.update_s = 0.0

    @property
    def tpsr(self) -> Tpsr | None:
        """The parameters of the belief, once there is one."""
        return None if self._tpsr_belief is None else self._tpsr_belief.tpsr

    @property
    def values(self) -> Floats:
        """Singular values of what was learned, largest first."""
        return np.zeros(0) if self.learning is None else self.learning.learner.svd.values

    @property
    def counters(self) -> Counter[str]:
        """What became of the samples, and how often the usual or its signs have changed."""
        learning = self.learning
        if learning is None:
            return Counter()
        return Counter(
            learned=learning.learner.samples,
            refused=learning.learner.refused,
            quarantined=learning.quarantine.dropped,
            changes=learning.changes,
            turns=learning.turns,
            rehearsals=self.locating.rehearsals,
        )

    @property
    def turned_names(self) -> tuple[str, ...]:
        """Names of the channels that are read with their signs reversed."""
        return () if self.senses is None else self.senses.channels.turned_names

    @property
    def progress(self) -> float:
        """How much of the warm-up is done, 0 to 1."""
        return 1.0 if self.senses is not None else self._warm_up.progress

    def start(self) -> None:
        """Forget the stream, but nothing that was learned."""
        if self.learning is not None:
            self.learning.forget()
        # So many numbers are left out that no horizon reaches from one stretch into the next.
        self._seam(reach(self._settings.horizons) + self._settings.window + 1)
        self.locating.forget()
        self._restart()

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill anew."""
        self._seam(ticks)
        if self._tpsr_belief is not None:
            self._tpsr_belief.skip(ticks)

    def update(self, values: Floats) -> Step:
        """Take the (c,) means of one tick, in the units of the samples."""
        self.number += 1
        self.window.count += 1
        self.window.full = self.window.count >= self._settings.window
        learning, senses = self.learning, self.senses
        if learning is None or senses is None:
            self._warm(values)
            return Step(0.0, accepted=True, familiarity=math.nan, restarted=False)
        observation, features = senses.sense(values)
        evidence, accepted, restarted = self._believe(features)
        self._look(learning, values, observation, features, accepted=accepted)
        began = thread_time()
        move = learning.learn()
        if move is not None:
            self._adopt(learning, move)
            self.update_s = thread_time() - began
        self.locating.learn(self.number - learning.lag)
        if self._budget is not None:
            self._budget.spent(thread_time() - began)
        if self._tpsr_belief is not None:
            self.locating.learning.follow(self.number, self._tpsr_belief.state)
        return Step(evidence, accepted, learning.familiarity, restarted)

    def know(self, number: int, x: float, y: float) -> None:
        """Tell where the vehicle was at the end of a tick, metres; oldest ticks first."""
        learning = self.learning
        well = learning is None or not learning.quarantine.held
        self.locating.know(number, np.array([x, y]), well=well)

    def read(self) -> tuple[Floats, Floats]:
        """
        Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity.

        The covariances are NaN as long as the read-out has not shown how much it errs.
        """
        means, covariances = self.locating.learning.read()
        if not self.locating.learning.ready:
            covariances[:] = math.nan
        return means, covariances

    def places(self) -> None:
        """Return ``None``: a predictive state has no weights on places."""

    def believe_in(self, tpsr: Tpsr) -> None:
        """Begin to filter with parameters."""
        self._tpsr_belief = TpsrBelief(tpsr)
        self.belief = self._tpsr_belief

    def _warm(self, values: Floats) -> None:
        if self._warm_up.push(values):
            self.adopt_senses(self._warm_up.senses())

    def adopt_senses(self, senses: Senses) -> None:
        """Begin to learn with known scales and feature maps."""
        self.senses = senses
        self.learning = Learning(self._settings, senses, self._budget)
        self._recent = RecentWindow(
            self._settings.window, int(np.count_nonzero(senses.channels.live))
        )

    def _believe(self, features: Floats) -> tuple[float, bool, bool]:
        belief = self._tpsr_belief
        if belief is None:
            return 0.0, True, False
        evidence = belief.update(features)
        self._rejected = 0 if belief.accepted else self._rejected + 1
        restarted = self._rejected >= REJECTED_BEFORE_RESTART
        if restarted:
            self._restart()
            evidence = belief.update(features)
        self._settled += 1
        return evidence, belief.accepted, restarted

    def _look(
        self,
        learning: Learning,
        values: Floats,
        observation: Floats,
        features: Floats,
        *,
        accepted: bool,
    ) -> None:
        """Show the tick to the gates, and remember it."""
        recent, locating = self._recent, self.locating
        if recent is None:
            return
        recent.push(observation)
        verdict = learning.look(
            values,
            observation,
            recent.point if recent.full else None,
            features,
            accepted=accepted,
            witness=locating.witness,
        )
        good = verdict is Verdict.LEARN and 2 * self._settled >= self._settings.window
        locating.ticks.push(self.number, features, good=good)
        if verdict is Verdict.HOLD and self._held_since is None:
            self._held_since = self.number - self._settings.window
            locating.retract(self._held_since)
        elif verdict is Verdict.ACCEPT and self._held_since is not None:
            anew = learning.excess * locating.strain > BROKEN
            locating.accept(self._held_since + self._settings.window, anew=anew)
            if anew:
                learning.learner.fade(FADED)
        elif verdict is Verdict.DROP:
            self._settled = 0
        if verdict is not Verdict.HOLD:
            self._held_since = None
        if learning.turn:
            self._turn(learning)

    def _turn(self, learning: Learning) -> None:
        """Read some channels with their signs reversed from now on; what was learned holds."""
        if self.senses is None or self._recent is None:
            return
        channels = self.senses.channels.turned(learning.turn)
        self.senses = replace(self.senses, channels=channels)
        learning.sense(self.senses)
        self._recent.clear()
        self.window = Seen()
        self._held_since = None
        self._restart()

    def _adopt(self, learning: Learning, move: Move) -> None:
        """Go on with newer parameters, and with the read-out in their bases."""
        learner, belief = learning.learner, self._tpsr_belief
        if belief is None and learner.samples < FIRST_SAMPLES * self._settings.rank:
            return
        # As a checkpoint holds them, so that what goes on from it is the same to the bit.
        learner.svd.settle()
        tpsr = learner.parameters()
        self.angle = move.angle(tpsr.states)
        if belief is None:
            self.believe_in(tpsr)
        else:
            before = belief.tpsr.states
            belief.adopt(tpsr, move)
            matrix = np.zeros((self._settings.states + 1,) * 2)
            matrix[: tpsr.states, :before] = move.left[: tpsr.states, :before]
            matrix[-1, -1] = 1.0
            self.locating.move(matrix)
        self.locating.consider(tpsr)

    def _seam(self, missed: int) -> None:
        self.number += missed
        self.window = Seen()
        self._rejected = self._settled = 0
        self._held_since = None
        self._warm_up.seam()
        self.locating.seam()
        if self._recent is not None:
            self._recent.clear()
        if self.learning is not None:
            self.learning.seam()

    def _restart(self) -> None:
        self._rejected = self._settled = 0
        if self._tpsr_belief is not None:
            self._tpsr_belief.start()
