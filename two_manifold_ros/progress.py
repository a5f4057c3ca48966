# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a command says while it runs: notes, warnings, how far it is and how long it will take."""

from __future__ import annotations

import os
import shutil
import sys
from textwrap import fill
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


PATIENCE_S = 2.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 60.0

LEAST_SHARE = 0.05
"""Share done before the time left is estimated: with half of it the start-up counts."""

REDRAWN_S = 0.25

NARROWEST = 20
"""Columns below which a terminal is not believed to be so narrow."""


class Progress:
    """
    A context manager that is called with what is done, in a word or two, and how far it is.

    Nothing shows during the first two seconds. Then a terminal gets a line that is drawn again,
    and a log file lines after longer and longer pauses until there is one a minute.
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

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __call__(self, what: str, fraction: float) -> None:
        """Say that a part, named in a word or two, is done up to a fraction in [0, 1]."""
        if fraction != self._fraction:
            self._called_s = monotonic()
        self._what, self._fraction = what, fraction

    def line(self, passed_s: float) -> str:
        """Return what is done, how far it is after some seconds, and the time left if known."""
        left = 'time left unknown'
        if self._fraction >= LEAST_SHARE:
            left_s = (self._called_s - self._began_s) / self._fraction - passed_s
            # Else the present part takes longer than that rate allows for all that is left.
            left = f'about {in_words(left_s)} left' if left_s >= 0.0 else left
        return f'{self._what}: {self._fraction:.0%} after {in_words(passed_s)}, {left}'

    def _show(self) -> None:
        if self._over.wait(PATIENCE_S):
            return
        redrawn = sys.stderr.isatty() and os.environ.get('TERM') != 'dumb'
        pause_s = REDRAWN_S if redrawn else FIRST_PAUSE_S
        while True:
            line = self.line(monotonic() - self._began_s)
            # What is wider than the terminal would not be written over.
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f'\r{line[:width]}\x1b[K' if redrawn else f'{line}\n')
            sys.stderr.flush()
            if self._over.wait(pause_s):
                break
            pause_s = REDRAWN_S if redrawn else min(2.0 * pause_s, LONGEST_PAUSE_S)
        if redrawn:
            sys.stderr.write('\r\x1b[K')
            sys.stderr.flush()


def in_words(seconds: float) -> str:
    """Return a duration with as much precision as an estimate has."""
    whole = round(seconds)
    if whole < 120:
        return f'{whole} s'
    minutes = round(seconds / 60.0)
    return f'{minutes} min' if minutes < 120 else f'{minutes / 60.0:.1f} h'


def print_wrapped(text: str, *, on_error: bool = False) -> None:
    """Print a line on standard output or error; on a terminal it is wrapped between words."""
    stream = sys.stderr if on_error else sys.stdout
    if stream.isatty():
        # One column is left free, or some terminals begin an empty line.
        width = max(shutil.get_terminal_size().columns - 1, NARROWEST)
        text = fill(text, width, break_long_words=False, break_on_hyphens=False)
    print(text, file=stream)


def on_stderr(line: str) -> None:
    """Print a line on standard error."""
    print_wrapped(line, on_error=True)


def warn(*sentences: str) -> None:
    """Print warnings on standard error."""
    for each in sentences:
        on_stderr(f'two-manifold: warning: {each}')
