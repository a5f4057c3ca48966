# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The states of a filter, the causes of those that are not tracking, and how ticks decide them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import math
from typing import NamedTuple

from two_manifold_ros.names import NOVEL, NOVEL_WARN


class Status(Enum):
    """State of a filter; one that was fed is never ``WAITING`` nor has ``NO_DATA``."""

    WAITING = 'waiting for data'
    FILLING = 'filling the window'
    LOCALISING = 'localising'
    TRACKING = 'tracking'
    UNSURE = 'unsure'
    LOST = 'lost'
    NO_DATA = 'no data'
    REFUSED = 'input rejected'


REJECTED_BEFORE_RESTART = 10
"""Unlikely observations in a row before the belief is restarted (mathematics, section 6.5)."""

LEAST_STEADY, MOST_STEADY = 3, 10
"""Ticks in a row that have to be better before a status is, see `TickFilter`."""

USABLE = frozenset({Status.TRACKING, Status.UNSURE})
"""The states in which an estimate may be used."""

LOOK_FOR_LOST = '; look for lost messages'
"""What to do after a gap of which no more is known."""

CAUSES = {
    'waiting': 'no sample received yet',
    'filling': '{seen} of {window} ticks',
    'converging': (
        'the 95 % ellipse reaches {ellipse} m, above {error} m: the position on the '
        'route is not resolved yet; drive on'
    ),
    'not_useful': (
        'the error of the model was not shown to be below that of the mean position: drive more '
        'laps with positions'
    ),
    'numerics': (
        'a number of the estimate is not finite, or a covariance not positive definite: reset the '
        'filter and report the bug'
    ),
    'outside': (
        'the estimate is outside the region of the training, so the belief diverged: drive on; if '
        'it comes again, train with more laps, or with the default method'
    ),
    'gap': (
        f'after a gap in the input, the window has {{seen}} of {{window}} ticks{LOOK_FOR_LOST}'
    ),
    'wide': (
        'the 95 % ellipse reaches {ellipse} m, above {warn} m (ellipse_warn_m); drive on, '
        'as on the trained route'
    ),
    'novelty_warn': (
        'the input differs from the training (novelty {novelty:.1f}, about 1 is '
        'usual): compare units, mounting and route'
    ),
    'innovation_warn': (
        'the last {contradictions} observations contradict the model: check that the vehicle '
        'drives as in training'
    ),
    'fix_contradicts': (
        'the newest position fix, or its heading, is farther from the estimate than the '
        'covariances of both allow: compare the frame, the stamp and the sensor of the fixes; if '
        'the fix is right, give another one at once'
    ),
    'unlikely': (
        'the newest observation is less likely at the believed position than any of the training '
        'that was left out: if the vehicle was moved, drive on along the trained route'
    ),
    'restarted': 'the belief diverged and was restarted; unsure until it is confirmed; drive on',
    'diverged': (
        'the 95 % ellipse reaches {ellipse} m, above {error} m (ellipse_error_m): if the '
        'vehicle was moved, drive on along the trained route'
    ),
    'novelty': (
        'the input is unlike the training (novelty {novelty:.1f}, about 1 is usual): compare '
        'units, mounting and route'
    ),
    'off_route_warn': (
        'the vehicle may be off the trained route, with a probability of {off_route:.0%}: drive '
        'on, as on that route'
    ),
    'off_route': (
        'the vehicle is off the trained route, or was moved along it, with a probability of '
        '{off_route:.0%}: drive on along it; else compare route, direction and mounting'
    ),
    'disagrees': (
        'the newest bends are not those of the believed place and speed: drive on along the '
        'trained route or give position fixes; else compare route, direction and mounting'
    ),
    'off_network': (
        'the motion fits no way from where the drives of the training begin (with a '
        'probability of {off_route:.0%}), or was not seen from there on, as after a gap: give a '
        'position fix, or bring the vehicle to such a place and reset the filter; follow a '
        'recording from its beginning'
    ),
    'unmodelled_motion': (
        'the vehicle moves as it never did in training, with a probability of {unlike:.0%}: drive '
        'on, as on the trained route'
    ),
    'innovation': (
        '{contradictions} observations in a row contradict the model: compare units, mounting and '
        'route, or train again'
    ),
}
"""Sentences by cause, filled with what is known at the tick; a `Finding` brings its own."""


class Finding(NamedTuple):
    """
    Something that is wrong with the input: its ``cause``, and ``words`` with the cure.

    If it ``refuses``, estimates are withheld while it holds, otherwise they are unsure.
    """

    cause: str
    words: str
    refuses: bool


class TickDiagnostics(NamedTuple):
    """
    One tick: what its filter says of it, and what else its status depends on.

    For ``evidence``, ``novelty`` and ``ellipse_m`` see `Estimate`. The observation was
    ``accepted`` if it moved the belief, which may have had to be ``restarted``; while the vehicle
    is ``standing`` all is of the last tick before. ``off_route`` is the probability that the
    vehicle is not on the trained route, or on no way of a network from where drives begin, where
    it ``stays_off`` until the filter starts again; ``unlike`` that it moves unlike all training.
    What was observed for some bends ``disagrees`` with what the belief expected, see `Witness`.
    An observation is ``unlikely`` if it is less likely than any on held-out parts of the training.
    After a gap the filter is ``recovering`` until ``seen`` ticks fill the window. A position fix
    before this tick was right with the probability ``fix_agrees``, NaN if there was none. Once one
    agreed the vehicle is ``located``.
    The position is ``outside`` where no training position can be, see `region_of`; the ``finding``
    is the gravest.
    """

    evidence: float = 0.0
    accepted: bool = True
    novelty: float = math.nan
    restarted: bool = False
    off_route: float = math.nan
    unlike: float = math.nan
    standing: bool = False
    stays_off: bool = False
    unlikely: bool = False
    disagrees: bool = False
    window_full: bool = False
    recovering: bool = False
    located: bool = False
    fix_agrees: float = math.nan
    seen: int = 0
    outside: bool = False
    ellipse_m: float = math.nan
    finding: Finding | None = None


@dataclass(frozen=True)
class EllipseLimits:
    """Metres of half the long axis of the 95 % ellipse above which it is unsure, or unknown."""

    warn_m: float
    error_m: float


class Verdict(NamedTuple):
    """A status that needs no clock, its cause (empty if all is well), and both as a sentence."""

    status: Status
    cause: str
    why: str


_STATES = 'TRACKING', 'UNSURE', 'LOCALISING', 'LOST', 'REFUSED', 'FILLING'
_RANKS = {Status[name]: rank for rank, name in enumerate(_STATES)}
_ALL_WELL = Verdict(Status.TRACKING, '', Status.TRACKING.value)


class StateMachine:
    """
    The ``verdict``, status and cause, along a stream, without flicker.

    What is worse holds at once, what is better after ``steady`` ticks. A reset leads back to
    ``FILLING``, and so does a window that restarts without a gap. A wide ellipse is ``LOCALISING``
    until the position was first known, or lost. So many ``doubts``, contradictions in a row, make
    an estimate unsure: one may be a pothole. Above a probability ``leaving`` of being off the
    route the position is unsure, above ``likely`` lost; unlike motion is unsure above ``likely``.
    A position fix that is not ``likely`` right makes it unsure for a window, or until one agrees.
    """

    doubts = 3
    leaving = 0.1
    likely = 0.5

    def __init__(self, limits: EllipseLimits, window: int, steady: int = MOST_STEADY) -> None:
        self.adopt(limits, window, steady)
        self.reset()

    def adopt(self, limits: EllipseLimits, window: int, steady: int) -> None:
        """Judge the ticks from now on by these, as those of another route."""
        self._limits, self._window, self._steady = limits, window, steady

    def reset(self) -> None:
        """Forget everything."""
        self._searching = True
        self._contradictions = self._doubted = 0
        self._better_ticks = 0
        self._worst = _ALL_WELL
        self.verdict = self._say(Status.FILLING, 'filling', TickDiagnostics())

    def pause(self) -> None:
        """Note a gap: contradictions before it no longer count, and tracking becomes unsure."""
        self._contradictions = 0
        if self.verdict.status is Status.FILLING:
            self.verdict = self._say(Status.FILLING, 'filling', TickDiagnostics())
        elif self.verdict.status is Status.TRACKING:
            self.verdict = self._say(Status.UNSURE, 'gap', TickDiagnostics())

    def step(self, shown: TickDiagnostics) -> Verdict:
        """Take the diagnostics of a tick, and return the status after it."""
        if not shown.standing:
            self._contradictions = 0 if shown.accepted else self._contradictions + 1
        if not math.isnan(shown.fix_agrees):
            self._doubted = 0 if shown.fix_agrees > self.likely else self._window
        newest, before = self._judge(shown), self.verdict.status
        self._doubted = max(self._doubted - 1, 0)
        better = before is not Status.FILLING and _RANKS[newest.status] < _RANKS[before]
        # A fix that agrees needs no second one.
        if better and not shown.fix_agrees > self.likely:
            self._better_ticks += 1
            if _RANKS[newest.status] >= _RANKS[self._worst.status]:
                self._worst = newest
            if self._better_ticks < self._steady:
                return self.verdict
            newest = self._worst
        self._better_ticks, self._worst = 0, _ALL_WELL
        self.verdict = newest
        if newest.status is Status.FILLING:
            self._searching = True
        elif newest.status in USABLE or newest.status is Status.LOST:
            self._searching = False
        return newest

    def _judge(self, shown: TickDiagnostics) -> Verdict:
        """Return the gravest that holds of a tick, whatever was before."""
        before, full, finding = self.verdict.status, shown.window_full, shown.finding
        # Unlike the training, or nobody knows.
        novel = full and not shown.novelty <= NOVEL
        # The status of a filter without a position.
        unknown = Status.LOCALISING if self._searching else Status.LOST
        off_route = shown.off_route > self.likely
        # Too little was seen since a gap to think better of what was before it.
        unseen = not full and not shown.located
        blind = unseen and before not in USABLE
        causes: tuple[tuple[bool, Status | None, str | Finding | None], ...] = (
            (unseen and (not shown.recovering or before is Status.FILLING), Status.FILLING,
             'filling'),
            (finding is not None and (finding.refuses or novel), Status.REFUSED, finding),
            # No position can be reported.
            (math.isnan(shown.ellipse_m), unknown, 'numerics'),
            (novel, Status.LOST, 'novelty'),
            (self._contradictions >= REJECTED_BEFORE_RESTART, Status.LOST, 'innovation'),
            (off_route, Status.LOST, 'off_network' if shown.stays_off else 'off_route'),
            (shown.disagrees, Status.LOST, 'disagrees'),
            (shown.ellipse_m > self._limits.error_m, unknown,
             'converging' if self._searching else 'diverged'),
            (shown.outside, unknown, 'outside'),
            # What was wrong ended with the gap, and its cure would be in vain.
            (blind and before is Status.REFUSED and finding is None, unknown, 'gap'),
            (blind, None, None),
            # The position that is reported may be wrong.
            (finding is not None, Status.UNSURE, finding),
            (self._doubted > 0, Status.UNSURE, 'fix_contradicts'),
            (not full and shown.recovering, Status.UNSURE, 'gap'),
            (shown.restarted, Status.UNSURE, 'restarted'),
            (self._contradictions >= self.doubts, Status.UNSURE, 'innovation_warn'),
            (shown.unlikely, Status.UNSURE, 'unlikely'),
            (shown.off_route > self.leaving, Status.UNSURE, 'off_route_warn'),
            (shown.unlike > self.likely, Status.UNSURE, 'unmodelled_motion'),
            (shown.ellipse_m > self._limits.warn_m, Status.UNSURE, 'wide'),
            (shown.novelty > NOVEL_WARN, Status.UNSURE, 'novelty_warn'),
        )  # fmt: skip
        for holds, status, cause in causes:
            if holds:
                return self._say(status, cause, shown) if status and cause else self.verdict
        return _ALL_WELL

    def _say(self, status: Status, cause: str | Finding, shown: TickDiagnostics) -> Verdict:
        if isinstance(cause, Finding):
            return Verdict(status, cause.cause, f'{status.value}: {cause.words}')
        lengths = shown.ellipse_m, self._limits.warn_m, self._limits.error_m
        # With digits until the ellipse differs from its limits.
        for digits in range(2, 6):
            ellipse, warn, error = (f'{each:.{digits}f}' for each in lengths)
            if ellipse not in {warn, error}:
                break
        why = CAUSES[cause].format(
            **shown._asdict(), window=self._window, contradictions=self._contradictions,
            ellipse=ellipse, warn=warn, error=error,
        )  # fmt: skip
        return Verdict(status, cause, f'{status.value}: {why}')
