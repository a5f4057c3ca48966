# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One warning per cause, one line when it is over, and no dying of a message."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re
import traceback
from typing import Any, TYPE_CHECKING

from two_manifold_ros.interface.snapshot import REJECTIONS, rejections

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping


# A file, a topic or a parameter; or a file with blanks in its name, which a colon follows.
_NAME = re.compile(r'\S*[/\\_]|\S*\.\S*[^\s.,:;]|[^:]*\.[A-Za-z]\w*:')


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital, unless it begins with a name, which stays as it is."""
    if _NAME.match(sentence):
        return sentence
    return f'{sentence[:1].upper()}{sentence[1:]}'


def rejection_key(cause: str) -> str:
    """Return under which key `input_causes` tells of messages that were not used."""
    return f'rejected {cause}'


def input_causes(fresh: Counter[str], sensor: str, topic: str) -> dict[str, str]:
    """Return sentences by cause about what happened lately to a sensor's messages on a topic."""
    causes = {
        rejection_key(cause): (
            f'{sensor} samples rejected on {topic}: {cause} ({count}): {REJECTIONS[cause]}'
        )
        for cause, count in rejections(fresh).items()
    }
    events = {
        'restarts': 'The belief contradicted itself and was started again from the last window',
        'estimates_not_finite': 'Estimates that are not finite were withheld, please report it',
    }
    return {**causes, **{event: words for event, words in events.items() if fresh[event]}}


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


class Guard:
    """
    Runs callbacks so that an exception is counted and logged, and the node goes on.

    Parameters
    ----------
    log
        Logs one text; called for the first exception of each kind, with its traceback.
    alive
        Whether the middleware is up. A signal shuts it down in the middle of a callback, whose
        next publishing then fails: that is no bug.

    """

    def __init__(
        self, log: Callable[[str], object], alive: Callable[[], bool] = lambda: True
    ) -> None:
        self._log = log
        self._alive = alive
        self._seen: set[str] = set()
        self.count = 0

    def __call__(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the callback guarded; it returns its last argument if it fails."""

        def guarded(*arguments: object) -> object:
            try:
                return callback(*arguments)
            # Every exception here is a bug, but none is worth a robot that stops.
            except Exception as error:  # noqa: BLE001 - see above
                if self._alive():
                    self._report(error)
                # To a service the last argument is the response, which is then unsuccessful.
                return arguments[-1] if arguments else None

        return guarded

    def _report(self, error: Exception) -> None:
        self.count += 1
        kind = f'{type(error).__name__}: {error}'
        if kind not in self._seen and len(self._seen) < 100:
            self._seen.add(kind)
            self._log(f'Bug, please report it; the node goes on.\n{traceback.format_exc()}')
