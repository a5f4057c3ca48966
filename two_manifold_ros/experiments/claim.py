# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One claim of a paper beside what was measured here."""

from __future__ import annotations

from dataclasses import dataclass
import math


@dataclass(frozen=True)
class Claim:
    """
    A claim, what the paper says about it, what is found here, and whether that will do.

    Parameters
    ----------
    what
        The claim in a few words, units and limit included.
    paper
        The paper's number, or which of its pictures shows it.
    ours
        What was measured, as text.
    passed
        Whether the claim holds.
    value, limit
        What was measured and what it is held against, where the claim is about a number that is
        one.

    """

    what: str
    paper: str
    ours: str
    passed: bool
    value: float | None = None
    limit: float | None = None

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail``."""
        return 'pass' if self.passed else 'fail'


def at_most(what: str, paper: str, ours: float, limit: float) -> Claim:
    """Claim that a number is no more than a limit; NaN fails."""
    return _number(f'{what}, at most {limit:.3g}', paper, ours, limit, passed=ours <= limit)


def at_least(what: str, paper: str, ours: float, limit: float) -> Claim:
    """Claim that a number is no less than a limit; NaN fails."""
    return _number(f'{what}, at least {limit:.3g}', paper, ours, limit, passed=ours >= limit)


def _number(what: str, paper: str, ours: float, limit: float, *, passed: bool) -> Claim:
    # JSON has no number for what is not finite.
    value = float(ours) if math.isfinite(ours) else None
    return Claim(what, paper, f'{ours:.3g}', bool(passed), value, float(limit))
