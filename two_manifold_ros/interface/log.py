# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node logs: one warning per cause, and one line when it is over."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re
from typing import TYPE_CHECKING

from two_manifold_ros.interface.snapshot import REJECTIONS, rejections

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital, unless it begins with a name, which stays as it is."""
    # A file, a topic or a parameter; or a file with blanks in its name, which a colon follows.
    if re.match(r'\S*[/\\_]|\S*\.\S*[^\s.,:;]|[^:]*\.[A-Za-z]\w*:', sentence):
        return sentence
    return f'{sentence[:1].upper()}{sentence[1:]}'


def input_causes(fresh: Counter[str], sensor: str, topic: str) -> dict[str, str]:
    """
    Return sentences by cause about what happened in the last second to a sensor's messages.

    Rejections are under ``rejected`` and their cause.
    """
    causes = {
        f'rejected {cause}': (
            f'{sensor} samples rejected on {topic}: {cause} ({count}): {REJECTIONS[cause]}'
        )
        for cause, count in rejections(fresh).items()
    }
    if fresh['restarts']:
        causes['restarts'] = 'The belief contradicted itself and restarted from the last window'
    if fresh['estimates_not_finite']:
        causes['estimates_not_finite'] = (
            'Estimates that are not finite were withheld, please report it'
        )
    return causes


@dataclass
class _Present:
    """A cause that is present now."""

    begun_s: float
    sentence: str
    said: bool = False


class ThrottledLog:
    """
    Turn the causes that are present now into few log lines.

    Parameters
    ----------
    warn, info
        Log one line.
    repeat_s
        A cause that lasts or keeps coming back is warned of at most this often, seconds.

    """

    def __init__(
        self,
        warn: Callable[[str], object],
        info: Callable[[str], object],
        repeat_s: float = 30.0,
    ) -> None:
        self._warn = warn
        self._info = info
        self._repeat_s = repeat_s
        self._said_s: dict[str, float] = {}
        self._present: dict[str, _Present] = {}
        self._state = ''

    def note(self, cause: str, sentence: str, now_s: float) -> None:
        """Take a cause that somebody else has logged already."""
        self._said_s[cause] = now_s
        begun_s = self._present[cause].begun_s if cause in self._present else now_s
        self._present[cause] = _Present(begun_s, sentence, said=True)

    def unsaid(self, cause: str, now_s: float) -> str:
        """Return how long a cause lasts and what it is if it was not warned of this time."""
        here = self._present.get(cause)
        if here is None or here.said:
            return ''
        return f'for {now_s - here.begun_s:.1f} s: {here.sentence}'

    def update(self, present: Mapping[str, str], now_s: float, state: str = '') -> set[str]:
        """
        Warn of causes that are new, and log which are over and how long they lasted.

        Parameters
        ----------
        present
            Sentence by cause.
        now_s
            Seconds of a clock that never goes back.
        state
            Cause of the node's status. Where another cause of those present replaces it, it is
            not logged as over, which would read as if all were well.

        Returns
        -------
        set
            Causes that were logged as over.

        """
        due = {
            cause
            for cause in present
            if now_s - self._said_s.get(cause, -math.inf) >= self._repeat_s
        }
        for cause, sentence in present.items():
            here = self._present.setdefault(cause, _Present(now_s, sentence))
            if cause in due:
                self._said_s[cause] = now_s
                here.sentence, here.said = sentence, True
                self._warn(sentence)
        ended = {cause: each for cause, each in self._present.items() if cause not in present}
        replaced = self._state if state in present else ''
        over = {cause for cause, each in ended.items() if each.said and cause != replaced}
        for cause, each in ended.items():
            lasted = f'{now_s - each.begun_s:.1f} s'
            if cause in over:
                self._info(f'Over after {lasted}: {each.sentence}')
            elif each.said and state not in due:
                self._info(f'After {lasted} instead: {present[state]}')
            del self._present[cause]
        self._state = state
        return over
