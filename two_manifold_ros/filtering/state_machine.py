# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what a tick showed to a status and its cause."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering import status
from two_manifold_ros.filtering.status import CAUSES, Status, USABLE
from two_manifold_ros.filtering.tracker import REJECTED_BEFORE_RESTART
from two_manifold_ros.ticks.novelty import STRANGE, UNFAMILIAR

if TYPE_CHECKING:
    from two_manifold_ros.filtering.status import Finding


class Signs(NamedTuple):
    """
    What a tick showed.

    Parameters
    ----------
    window_full
        Whether a whole window was seen.
    recovering
        Whether the window is filling again after a gap.
    accepted
        Whether the observation fitted anything.
    restarted
        Whether the belief had to be started anew.
    familiarity
        See ``Estimate``.
    ellipse_m
        Half the long axis of the 95 % ellipse of the present position, metres; NaN if a number
        that was read out may not be used.
    finding
        The gravest that is wrong with the input.
    seen
        Ticks in the window.
    off_route, unlike, standing
        See ``Step``.

    """

    window_full: bool
    recovering: bool
    accepted: bool
    restarted: bool
    familiarity: float
    ellipse_m: float
    finding: Finding | None = None
    seen: int = 0
    off_route: float = math.nan
    unlike: float = math.nan
    standing: bool = False


@dataclass(frozen=True)
class EllipseLimits:
    """
    How far the 95 % ellipse of the present position may reach.

    Parameters
    ----------
    warn_m
        Half its long axis above which the position is unsure, metres.
    error_m
        And above which it is not told.

    """

    warn_m: float
    error_m: float


DOUBTS = 3
"""Contradictions in a row that make an estimate unsure: one may be a pothole."""

LEAVING, OFF = 0.1, 0.5
"""Probability of being off the route above which the place is unsure, and lost."""

UNSEEN = 0.5
"""Probability of what training never saw above which the place is unsure."""

STEADY = 10
"""Ticks in a row that have to be better before a status is."""

_SEVERITY = {
    Status.TRACKING: 0,
    Status.UNSURE: 1,
    Status.LOCALISING: 2,
    Status.LOST: 3,
    Status.REFUSED: 4,
    Status.FILLING: 5,
}


class Verdict(NamedTuple):
    """
    A status, and why.

    Parameters
    ----------
    status
        Never one that needs a clock.
    cause
        A short key, see ``CAUSES``, or that of a ``Finding``; empty if all is well.
    why
        The status and the cause as one sentence.

    """

    status: Status
    cause: str
    why: str


_ALL_WELL = Verdict(Status.TRACKING, '', Status.TRACKING.value)


class StateMachine:
    """
    Status and cause along a stream, without flicker.

    What is worse holds at once, what is better after ``STEADY`` ticks. A reset leads back to
    ``FILLING``, and so does a window that begins anew without a gap. A wide ellipse is
    ``LOCALISING`` until the position was first known, or lost.

    Parameters
    ----------
    limits
        Of the ellipse.
    window
        Ticks in a window.

    """

    def __init__(self, limits: EllipseLimits, window: int) -> None:
        self._limits = limits
        self._window = window
        self.reset()

    @property
    def status(self) -> Status:
        """The present status."""
        return self._verdict.status

    @property
    def cause(self) -> str:
        """The present cause."""
        return self._verdict.cause

    @property
    def why(self) -> str:
        """Status and cause as one sentence."""
        return self._verdict.why

    @property
    def _unknown(self) -> Status:
        """The status of one who does not know where it is."""
        return Status.LOCALISING if self._searching else Status.LOST

    def reset(self) -> None:
        """Forget everything."""
        self._searching = True
        self._contradictions = 0
        self._steady = 0
        self._worst = _ALL_WELL
        self._verdict = self._filling(0)

    def pause(self) -> None:
        """Take notice of a gap: contradictions before it no longer count, and nothing is sure."""
        self._contradictions = 0
        if self.status is Status.FILLING:
            self._verdict = self._filling(0)
        elif self.status is Status.TRACKING:
            why = CAUSES[status.GAP].format(seen=0, window=self._window)
            self._verdict = Verdict(Status.UNSURE, status.GAP, f'{Status.UNSURE.value}: {why}')

    def step(self, signs: Signs) -> Verdict:
        """Take what a tick showed, and return the status after it."""
        if not signs.standing:
            self._contradictions = 0 if signs.accepted else self._contradictions + 1
        newest = self._judge(signs)
        before = self.status
        if before is not Status.FILLING and _severity(newest) < _severity(self._verdict):
            self._steady += 1
            self._worst = max(newest, self._worst, key=_severity)
            if self._steady < STEADY:
                return self._verdict
            newest = self._worst
        self._steady, self._worst = 0, _ALL_WELL
        self._verdict = newest
        if newest.status is Status.FILLING:
            self._searching = True
        elif newest.status in USABLE or newest.status is Status.LOST:
            self._searching = False
        return newest

    def _judge(self, signs: Signs) -> Verdict:
        if not signs.window_full and (not signs.recovering or self.status is Status.FILLING):
            return self._filling(signs.seen)
        grave = self._refuse(signs) or self._miss(signs)
        if grave is not None:
            return grave
        if not signs.window_full and self.status not in USABLE:
            if self.status is Status.REFUSED and signs.finding is None:
                # What was wrong ended with the gap, and its cure would be in vain.
                return self._say(self._unknown, status.GAP, signs)
            # Too little was seen since the gap to think better of what was before it.
            return self._verdict
        return self._doubt(signs) or _ALL_WELL

    def _refuse(self, signs: Signs) -> Verdict | None:
        finding = signs.finding
        if finding is not None and (finding.refuses or _unfamiliar(signs)):
            return Verdict(
                Status.REFUSED, finding.cause, f'{Status.REFUSED.value}: {finding.words}'
            )
        return None

    def _miss(self, signs: Signs) -> Verdict | None:
        """Return why nobody can say where the vehicle is."""
        unknown = self._unknown
        if math.isnan(signs.ellipse_m):
            return self._say(unknown, status.UNSOUND, signs)
        if _unfamiliar(signs):
            return self._say(Status.LOST, status.UNFAMILIAR, signs)
        if self._contradictions >= REJECTED_BEFORE_RESTART:
            return self._say(Status.LOST, status.CONTRADICTED, signs)
        if signs.off_route > OFF:
            return self._say(Status.LOST, status.OFF_ROUTE, signs)
        if signs.ellipse_m > self._limits.error_m:
            cause = status.SEARCHING if self._searching else status.ASTRAY
            return self._say(unknown, cause, signs)
        return None

    def _doubt(self, signs: Signs) -> Verdict | None:
        """Return why the position that is told may be wrong."""
        if signs.finding is not None:
            why = f'{Status.UNSURE.value}: {signs.finding.words}'
            return Verdict(Status.UNSURE, signs.finding.cause, why)
        doubts = {
            status.GAP: not signs.window_full,
            status.RESTARTED: signs.restarted,
            status.DOUBTED: self._contradictions >= DOUBTS,
            status.LEAVING: signs.off_route > LEAVING,
            status.UNSEEN: signs.unlike > UNSEEN,
            status.WIDE: signs.ellipse_m > self._limits.warn_m,
            status.STRANGE: signs.familiarity > STRANGE,
        }
        for cause, holds in doubts.items():
            if holds:
                return self._say(Status.UNSURE, cause, signs)
        return None

    def _filling(self, seen: int) -> Verdict:
        why = CAUSES[status.FILLING].format(seen=seen, window=self._window)
        return Verdict(Status.FILLING, status.FILLING, f'{Status.FILLING.value}: {why}')

    def _say(self, status: Status, cause: str, signs: Signs) -> Verdict:
        why = CAUSES[cause].format(
            seen=signs.seen,
            window=self._window,
            ellipse=signs.ellipse_m,
            warn=self._limits.warn_m,
            error=self._limits.error_m,
            familiarity=signs.familiarity,
            contradictions=self._contradictions,
            off_route=signs.off_route,
            unlike=signs.unlike,
        )
        return Verdict(status, cause, f'{status.value}: {why}')


def _severity(verdict: Verdict) -> int:
    return _SEVERITY[verdict.status]


def _unfamiliar(signs: Signs) -> bool:
    # What is not known is not better than what is bad.
    return signs.window_full and not signs.familiarity <= UNFAMILIAR
