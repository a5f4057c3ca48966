# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A search along one setting at a time that keeps only what is better by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.tuning.trial import clearly_better, Failure, Outcome, Trial

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.tuning.steps import Steps


@dataclass(frozen=True)
class Tried:
    """
    One entry of the table of a search.

    Parameters
    ----------
    settings
        What was tried.
    outcome
        What it reached.
    rival
        The best until then; where the search starts there is none.

    """

    settings: TrainingSettings
    outcome: Outcome
    rival: TrainingSettings | None


class Search:
    """
    A coordinate search; the same outcomes lead it the same way.

    Parameters
    ----------
    steps
        Where it starts, and what may be changed.
    attempt
        Tries settings.
    trials
        How many may be tried, the first included.

    Attributes
    ----------
    best
        The settings kept.
    table
        All that was tried, in order.

    Raises
    ------
    InputError
        If already the first settings cannot be tried.

    """

    def __init__(
        self, steps: Steps, attempt: Callable[[TrainingSettings], Outcome], trials: int
    ) -> None:
        self._steps = steps
        self._attempt = attempt
        self._trials = trials
        self.table: dict[TrainingSettings, Tried] = {}
        self.best = steps.start
        first = self._try(steps.start, None)
        if isinstance(first, Failure):
            msg = f'nothing can be tuned: {first.reason}'
            raise InputError(msg)
        self._best_trial = first
        self._run()

    def _run(self) -> None:
        """Go over all settings again and again until a round changes nothing."""
        before = None
        while before != self.best:
            before = self.best
            for name in self._steps.names:
                while self._improve(name):
                    pass

    def _improve(self, name: str) -> bool:
        """Try the steps along a setting; return whether one is kept."""
        rival = self.best
        tried: list[tuple[float, int, TrainingSettings, Trial]] = []
        for number, settings in enumerate(self._steps.around(name, rival)):
            if settings in self.table or len(self.table) >= self._trials:
                continue
            outcome = self._try(settings, rival)
            if isinstance(outcome, Trial):
                tried.append((outcome.score_m, number, settings, outcome))
        for _, _, settings, trial in sorted(tried, key=lambda each: each[:2]):
            if clearly_better(trial, self._best_trial):
                self.best, self._best_trial = settings, trial
                return True
        return False

    def _try(self, settings: TrainingSettings, rival: TrainingSettings | None) -> Outcome:
        outcome = self._attempt(settings)
        self.table[settings] = Tried(settings, outcome, rival)
        return outcome
