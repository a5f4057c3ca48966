# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which ticks are learned, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.frozen_channels import FrozenChannels
from two_manifold_ros.adapting.novelty import Novelty
from two_manifold_ros.adapting.quarantine import Quarantine, Verdict
from two_manifold_ros.adapting.turned_channels import TurnedChannels
from two_manifold_ros.adapting.window_delay import WindowDelay
from two_manifold_ros.filtering.span_familiarity import shown_share
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.windows.familiarity import UNFAMILIAR

if TYPE_CHECKING:
    from two_manifold_ros.adapting.learning_budget import LearningBudget
    from two_manifold_ros.adapting.senses import Senses
    from two_manifold_ros.adapting.settings import AdaptingSettings
    from two_manifold_ros.adapting.witness import Witness
    from two_manifold_ros.tpsr.move import Move
    from two_manifold_ros.typing import Floats

GROWN_S = 60.0
"""Seconds of learning, from the beginning or from a change on, before anything can be unfamiliar:
until then all is new, and there is a hurry."""

RESTING = 0.1
"""Standard deviation of every channel over a window, in its own while driving, of a vehicle that
stands."""

AT_ONCE = 16
"""Samples that are learned in a tick where many wait."""


class Learning:
    """
    The learner behind its gates.

    Parameters
    ----------
    settings
        How it learns.
    senses
        Scales and feature maps.
    budget
        That may drop samples; without one all are learned.

    Attributes
    ----------
    learner
        The online learner.
    familiarity
        Of the newest windows, on the scale of ``Estimate``.
    changes
        How often something unfamiliar became the usual.
    changed
        How much was learned before the last time.
    excess
        How strange that was, see ``Novelty.excess``.
    turn
        Channels whose reversed signs explain why the stream is unfamiliar; usually none.
    turns
        How often signs were put right.

    """

    def __init__(
        self, settings: AdaptingSettings, senses: Senses, budget: LearningBudget | None = None
    ) -> None:
        maps = senses.window_features, senses.observation_features
        self.settings = settings
        self._senses = senses
        self._budget = budget
        self.learner = OnlineLearner(
            LearnerSettings(
                states=settings.states,
                rank=settings.rank,
                ridge=settings.ridge,
                memory=settings.memory_s * settings.rate_hz,
                fold_every=settings.fold_every,
            ),
            np.eye(maps[0].size)[-1],
            maps[0].size,
            maps[1].size,
        )
        self.frozen = FrozenChannels(senses.most_still)
        self.novelty = Novelty(settings.window)
        self.quarantine = Quarantine(settings.window, settings.ticks(settings.quarantine_s))
        self.familiarity = float('nan')
        self.changes = 0
        self.changed = 0
        self.excess = 1.0
        self.turn: tuple[int, ...] = ()
        self.turns = 0
        self._turned = TurnedChannels(senses.channels, settings.window)
        self._delay = WindowDelay(settings.window)

    @property
    def grown(self) -> bool:
        """Whether enough was learned for something to be unfamiliar."""
        return self.learner.samples - self.changed >= self.settings.ticks(GROWN_S)

    @property
    def lag(self) -> int:
        """Ticks for which a sample waits, so that it can still be dropped; none in a hurry."""
        return self.settings.window if self.grown else 0

    def seam(self) -> Verdict:
        """Begin a new stretch: nothing may reach across."""
        self._delay.clear()
        self._turned.clear()
        self.novelty.clear()
        self.familiarity = float('nan')
        return self.quarantine.end()

    def forget(self) -> None:
        """Forget the stream, but nothing that was learned."""
        self.quarantine.forget()
        self.seam()
        self.frozen.clear()

    def sense(self, senses: Senses) -> None:
        """Go on with the same features of a stream whose signs were put right."""
        self._senses = senses
        self._turned = TurnedChannels(senses.channels, self.settings.window)
        self.turn = ()
        self.turns += 1
        self.forget()

    def look(
        self,
        values: Floats,
        observation: Floats,
        point: Floats | None,
        features: Floats,
        *,
        accepted: bool,
        witness: Witness,
    ) -> Verdict:
        """
        Judge a tick and set its sample aside.

        Parameters
        ----------
        values, observation : (c,), (d,)
            Means of the tick, and standardised.
        point : (w d,), optional
            The window that ends with it, once there is one.
        features : (p,)
            Of the observation.
        accepted
            Whether the belief took the observation.
        witness
            What the reference says.

        """
        still = self.frozen.push(observation)
        share = 0.0
        window = None
        if point is not None:
            window = self._senses.window_features.transform(point[None])[0]
            share = shown_share(self.learner.svd.right, window)
            self.novelty.push(share, accepted=accepted)
            self.familiarity = max(self.novelty.familiarity, UNFAMILIAR * still)
        sample = self._delay.push(features, window)
        verdict = self.quarantine.judge(
            suspicious=self.grown and self.novelty.suspicious,
            calm_for=self.novelty.calm_for if point is not None else 0,
            faulty=still > 1.0 or not self._senses.believable(values),
            resting=point is not None and self._rests(point),
            witness=witness,
        )
        if verdict is Verdict.DROP:
            self._delay.clear()
        elif verdict is not Verdict.REST and sample is not None:
            self.quarantine.push(sample)
        if verdict is Verdict.LEARN and point is not None and self.learner.samples:
            self.novelty.learn(share)
        self._try_turns(verdict, point)
        if verdict is Verdict.ACCEPT:
            self.changes += 1
            self.changed = self.learner.samples
            self.excess = self.novelty.excess
            self.novelty.renew()
        return verdict

    def learn(self) -> Move | None:
        """Learn from what has waited long enough; return how the bases moved, if they did."""
        whole: Move | None = None
        for _ in range(AT_ONCE):
            sample = self.quarantine.pop(self.lag)
            if sample is None:
                break
            if self._budget is not None and not self._budget.may_learn():
                continue
            move = self.learner.add(*sample)
            if move is not None:
                whole = move if whole is None else move.after(whole)
        return whole

    def _try_turns(self, verdict: Verdict, point: Floats | None) -> None:
        # Not only while something is held: the signs may be reversed soon after another change.
        learned = self.learner.samples >= self.settings.ticks(GROWN_S)
        sound = verdict in {Verdict.HOLD, Verdict.LEARN}
        if not (learned and sound and self.novelty.suspicious) or point is None:
            self._turned.clear()
            return
        self.turn = self._turned.push(
            point,
            self._senses.window_features,
            self.learner.svd.right,
            self.novelty.mean,
        )

    def _rests(self, point: Floats) -> bool:
        spread = point.reshape(self.settings.window, -1).std(axis=0)
        return bool((spread < RESTING).all())
