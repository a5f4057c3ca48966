# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two frozen models filtering the same samples beside each other, and how the contest stands."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.adapting.contest import Contest, Side, Verdict
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.adapting.contest import ContestSettings
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats

WINDOWS_TO_SETTLE = 3
"""
Windows that a new candidate filters before it is compared.

It begins in the middle of a drive that the incumbent has followed for long: one window passes
until it may say anything, and a belief needs one or two to find its way. Taken for silence, that
would cost a good candidate the contest.
"""


class Rival(NamedTuple):
    """A model and the filter that runs it."""

    model: ModelHead
    filter: Filter


def make_rival(model: ModelHead) -> Rival:
    """Return a model with a filter that is warm and empty."""
    live = Filter(model)
    live.warm_up()
    return Rival(model, live)


class Rivals:
    """
    The model in use, a candidate, and the verdict about them.

    Both are frozen and run by the same code on the same samples as the one that publishes, so
    that what is measured is what will run. Rates, phases and horizons may differ: errors are
    compared at the horizons, in seconds, that both predict.

    Parameters
    ----------
    incumbent
        The one in use.
    settings
        When a candidate is better.

    Attributes
    ----------
    incumbent
        The one in use.
    candidate
        The one that may take its place; ``None`` until there is one.
    contest
        Between the two.

    """

    def __init__(self, incumbent: Rival, settings: ContestSettings) -> None:
        self._settings = settings
        self._terms = _terms(incumbent.model, incumbent.model)
        self._read: tuple[list[int], list[int]] = ([], [])
        self._to_settle = 0
        self.incumbent = incumbent
        self.candidate: Rival | None = None
        self.contest = Contest(*self._terms, settings)

    def challenge(self, candidate: Rival) -> None:
        """Put up another candidate, of which nothing is known."""
        models = (self.incumbent.model, candidate.model)
        self.candidate = candidate
        self._to_settle = WINDOWS_TO_SETTLE * candidate.model.window
        terms = _terms(*models)
        if terms == self._terms:
            self.contest.renew()
        else:
            needed = self.contest.needed
            self.contest = Contest(*terms, self._settings)
            self.contest.needed = needed
            self._terms = terms
        first, second = (_ahead(each) for each in models)
        self._read = ([first.index(ns) for ns in terms[0]], [second.index(ns) for ns in terms[0]])

    def withdraw(self) -> None:
        """Have no candidate, until there is another one."""
        self.candidate = None
        self.contest.renew()

    def take(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """Take a sample of the IMU, whatever it is like."""
        self._run(Side.INCUMBENT, self.incumbent, stamp_ns, sample)
        if self.candidate is not None:
            ticks = self._run(Side.CANDIDATE, self.candidate, stamp_ns, sample)
            self._to_settle = max(0, self._to_settle - ticks)

    def reach(self, stamp_ns: int, x: float, y: float) -> None:
        """Take a reference position that can be trusted, metres."""
        if self.candidate is not None:
            self.contest.reach(stamp_ns, x, y)

    @property
    def verdict(self) -> Verdict:
        """What is to be done."""
        return self.contest.verdict

    @property
    def errors(self) -> tuple[float, float]:
        """Mean errors of incumbent and candidate, metres; NaN if unknown."""
        return self.contest.score(Side.INCUMBENT), self.contest.score(Side.CANDIDATE)

    @property
    def on_trial(self) -> bool:
        """Whether the one in use has come in not long ago, and the one before may come back."""
        return self.contest.on_trial

    @property
    def spent(self) -> bool:
        """
        Whether the candidate had its time and may make room for a newer one.

        That is so if it does not even look better, or of use, or in all its time was not better by
        more than chance. On trial it stays, because somebody has to be there to come back.
        """
        contest = self.contest
        if self.candidate is None:
            return True
        if self.on_trial or contest.verdict is not Verdict.KEEP:
            return False
        old, new = self.errors
        looks_better = new <= self._settings.margin * old and contest.useful(new)
        patience = self._settings.most if looks_better else self._settings.fewest
        return contest.blocks >= patience

    def swap(self) -> None:
        """Note that the candidate runs now; who ran before stays beside it, to come back."""
        if self.candidate is not None:
            self.incumbent, self.candidate = self.candidate, self.incumbent
            self._read = self._read[::-1]
            self.contest.swap()

    def _run(
        self, side: Side, rival: Rival, stamp_ns: int, sample: Sequence[float] | Floats
    ) -> int:
        """Return the number of ticks that ended."""
        estimates = rival.filter.push(stamp_ns, sample)
        if not self._to_settle:
            for estimate in estimates:
                told = estimate.positions[self._read[side.value]] if estimate.valid else None
                self.contest.observe(side, estimate.stamp_ns, told)
        return len(estimates)


def _ahead(model: ModelHead) -> list[int]:
    """Return the horizons of a model in nanoseconds."""
    return [each * model.period_ns for each in model.horizons]


def _terms(first: ModelHead, second: ModelHead) -> tuple[tuple[int, ...], int, int]:
    """Return horizons in common, slot and gap of a contest, in nanoseconds."""
    return (
        tuple(sorted({*_ahead(first)} & {*_ahead(second)})),
        max(first.period_ns, second.period_ns),
        max(first.max_gap_ns, second.max_gap_ns),
    )
