# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far a command is, and how long it will still take, on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


PATIENCE_S = 2.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 60.0

LEAST_SHARE = 0.05
"""
Share that has to be done before the time left is estimated from it.

With half of it the first estimates are off by the start-up of a command; with twice as much the
first ones of a long training come late.
"""

REDRAWN_S = 0.25


class Progress:
    """
    A context manager that is called with what is done and how far it is.

    Nothing shows during the first two seconds. Then a terminal gets a line that is written over
    itself, and anything else, such as a log file, whole lines, each after a longer pause until
    there is one a minute, whether there was a call since or not. Both have the time that passed,
    and the time left where the rate until now gives one. ``what`` is done until the first call.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._fraction = 0.0
        self._began_s = self._called_s = monotonic()
        self._over = Event()
        # What takes long may not call for long.
        self._thread = Thread(target=self._show, name='progress', daemon=True)

    def __enter__(self) -> Self:
        self._began_s = self._called_s = monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def __call__(self, what: str, fraction: float) -> None:
        """Say that a part, named in a word or two, is done up to a fraction in [0, 1]."""
        if fraction != self._fraction:
            self._called_s = monotonic()
        self._what, self._fraction = what, fraction

    def times(self, passed_s: float) -> str:
        """Return the time that passed, and about how long it will still take, in words."""
        left_s = time_left(self._fraction, self._called_s - self._began_s, passed_s)
        left = 'time left unknown' if left_s is None else f'about {in_words(left_s)} left'
        return f'{in_words(passed_s)}, {left}'

    def _show(self) -> None:
        if self._over.wait(PATIENCE_S):
            return
        on_terminal = sys.stderr.isatty() and os.environ.get('TERM') != 'dumb'
        passed_s, pause_s = PATIENCE_S, REDRAWN_S if on_terminal else FIRST_PAUSE_S
        over = False
        while not over:
            line = f'{self._what}: {self._fraction:.0%} after {self.times(passed_s)}'
            if on_terminal:
                line = f'\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K'
            print(line, end='' if on_terminal else '\n', file=sys.stderr, flush=True)
            over = self._over.wait(pause_s)
            passed_s += pause_s
            pause_s = pause_s if on_terminal else min(2.0 * pause_s, LONGEST_PAUSE_S)
        if on_terminal:
            print('\r\x1b[K', end='', file=sys.stderr, flush=True)


def time_left(fraction: float, called_s: float, passed_s: float) -> float | None:
    """
    Return the seconds left, by the rate at which a share was done in ``called_s``.

    ``None`` where too little is done to know a rate, or the present part takes longer than that
    rate allows for all that is left.
    """
    if fraction < LEAST_SHARE:
        return None
    left_s = called_s / fraction - passed_s
    return left_s if left_s >= 0.0 else None


def in_words(seconds: float) -> str:
    """Return a duration with as much precision as an estimate has."""
    whole = round(seconds)
    if whole < 120:
        return f'{whole} s'
    minutes = round(seconds / 60.0)
    return f'{minutes} min' if minutes < 120 else f'{minutes / 60.0:.1f} h'
