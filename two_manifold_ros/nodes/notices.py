# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One warning per cause, and one word when it is over."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REPEAT_S = 30.0
"""A cause that lasts or keeps coming back is warned of at most this often."""


@dataclass
class _Present:
    """A cause that is present now."""

    begun_s: float
    sentence: str
    said: bool = False


class Notices:
    """
    Turn the causes that are present now into few log lines.

    Parameters
    ----------
    warn, info
        Log one line.

    """

    def __init__(self, warn: Callable[[str], object], info: Callable[[str], object]) -> None:
        self._warn = warn
        self._info = info
        self._said: dict[str, float] = {}
        self._present: dict[str, _Present] = {}
        self._state = ''

    def note(self, cause: str, sentence: str, now_s: float) -> None:
        """Take notice of a cause that somebody else has logged already."""
        self._said[cause] = now_s
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
        Warn of causes that are new, and tell which are over and how long they lasted.

        Parameters
        ----------
        present
            Sentence by cause.
        now_s
            Seconds of a clock that never goes back.
        state
            Why the node is as it is. Where another cause of those present replaces it, it is
            not told to be over, which would read as if all were well.

        Returns
        -------
        set
            Those told to be over.

        """
        due = [cause for cause in present if self._due(cause, now_s)]
        for cause, sentence in present.items():
            here = self._present.setdefault(cause, _Present(now_s, sentence))
            if cause in due:
                self._said[cause] = now_s
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

    def _due(self, cause: str, now_s: float) -> bool:
        return now_s - self._said.get(cause, -math.inf) >= REPEAT_S
