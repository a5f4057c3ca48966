# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, diagnostics and log of a node."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math
import re
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import REJECTIONS
from two_manifold_ros.interface.messages import header, labelled_array
from two_manifold_ros.names import NO_ROUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.assessment import Level
    from two_manifold_ros.interface.messages import Message


OUTSIDE = -1
"""Code of a node that is unconfigured, inactive or disabled: it is in none of the states."""

CODES = {status: code for code, status in enumerate(Status)}
"""Codes of the states, in the order of the way from the first sample to tracking."""

COUNTS = ('received', 'used', 'waiting', 'published', 'gaps', 'resets', 'restarts', *REJECTIONS)
"""``received`` is the sum of ``used``, ``waiting`` and the rejections."""

NUMBERS = (
    'status',
    'valid',
    'level',
    'evidence',
    'novelty',
    'off_route',
    'ellipse_m',
    'ticks_since_good_sample',
    'input_rate_hz',
    'estimate_rate_hz',
    'stamp_age_s',
    'processing_p50_us',
    'processing_p99_us',
    'processing_max_us',
    *COUNTS,
    'route_number',
    'route_chance',
)
"""Numbers on the topic ``status``, in this order, after the stamp."""


def status_message(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``, see `labelled_array`, of always the same layout.

    Numbers are by names of ``NUMBERS``; those that are not given are NaN, which means unknown.
    """
    return labelled_array(stamp_ns, {name: numbers.get(name, math.nan) for name in NUMBERS})


def estimate_numbers(estimate: Estimate | None) -> dict[str, float]:
    """Return what a status states of the newest estimate; NaN where there is none."""
    names = 'evidence', 'novelty', 'off_route', 'ellipse_m'
    numbers = {
        'valid': estimate is not None and estimate.valid,
        **{name: getattr(estimate, name) if estimate else math.nan for name in names},
    }
    if estimate is not None and estimate.name:
        # As numbers can say it: counted from 0 in the order of the topic ``routes``.
        numbers['route_number'] = list(estimate.chances).index(estimate.name)
        numbers['route_chance'] = estimate.chances[estimate.name]
    return numbers


LEAST_CHANCE = 0.01
"""Of a route to be in the diagnostics, where fifty would not be read."""


def routes_message(estimate: Estimate) -> Message:
    """Return ``std_msgs/Float64MultiArray``: the chance of each known route, and of none."""
    none = max(1.0 - sum(estimate.chances.values()), 0.0)
    return labelled_array(estimate.stamp_ns, {**estimate.chances, NO_ROUTE: none})


def diagnostics_message(
    stamp_ns: int,
    name: str,
    level: Level,
    why: str,
    values: Mapping[str, float | str],
    hardware: str = '',
) -> Message:
    """
    Return ``diagnostic_msgs/DiagnosticArray`` with one status.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    name, hardware
        The node, and what distinguishes its robot from others.
    level, why
        Whether the operator has to act, and one sentence: what the node is doing, or why nothing
        is published.
    values
        Numbers and words in the order to show; numbers that are not finite become ``unknown``.

    """
    status = {
        'level': int(level),
        'name': name,
        'message': why,
        'hardware_id': hardware,
        'values': [{'key': key, 'value': as_text(value)} for key, value in values.items()],
    }
    return {'header': header(stamp_ns, ''), 'status': [status]}


def as_text(value: float | str) -> str:
    """Return a value as diagnostics show it."""
    if isinstance(value, float):
        return f'{value:.6g}' if math.isfinite(value) else 'unknown'
    return str(value)


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital, unless it starts with a name, which stays as it is."""
    # A file, a topic or a parameter; or a file with blanks in its name, which a colon follows.
    if re.match(r'\S*[/\\_]|[^\s.]*\.[.,:;]*[^\s.,:;]|[^:]*\.[A-Za-z]\w*:', sentence):
        return sentence
    return f'{sentence[:1].upper()}{sentence[1:]}'


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
        A cause that lasts is warned of at most this often, seconds.
    most
        One that keeps coming back is warned of so many times in as long at most: with one, a
        second outage in half a minute would be missing in the log, with many, what flickers fills
        it.

    """

    def __init__(
        self,
        warn: Callable[[str], object],
        info: Callable[[str], object],
        repeat_s: float = 30.0,
        most: int = 3,
    ) -> None:
        self._warn = warn
        self._info = info
        self._repeat_s, self._most = repeat_s, most
        self._said_s: dict[str, deque[float]] = {}
        self._present: dict[str, _Present] = {}
        self._state = ''

    def note(self, cause: str, sentence: str, now_s: float) -> None:
        """Take a cause that has been logged elsewhere already."""
        self._remember(cause, now_s)
        begun_s = self._present[cause].begun_s if cause in self._present else now_s
        self._present[cause] = _Present(begun_s, sentence, said=True)

    def _remember(self, cause: str, now_s: float) -> None:
        """Remember the last times at which a cause was logged."""
        self._said_s.setdefault(cause, deque(maxlen=self._most)).append(now_s)

    def _is_due(self, cause: str, now_s: float) -> bool:
        """Return whether a cause that is present is to be logged now."""
        said = [now_s - each for each in self._said_s.get(cause, ())]
        lately = sum(passed < self._repeat_s for passed in said)
        return lately < (1 if cause in self._present else self._most)

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
        due = {cause for cause in present if self._is_due(cause, now_s)}
        for cause, sentence in present.items():
            here = self._present.setdefault(cause, _Present(now_s, sentence))
            # Its numbers are those of now, as in the diagnostics: of the first moment they are 1.
            here.sentence = sentence
            if cause in due:
                self._remember(cause, now_s)
                here.said = True
                self._warn(sentence)
        ended = {cause: each for cause, each in self._present.items() if cause not in present}
        replaced = self._state if state in present else ''
        over = {cause for cause, each in ended.items() if each.said and cause != replaced}
        for cause, each in ended.items():
            lasted = f'{now_s - each.begun_s:.1f} s'
            if cause in over:
                self._info(f'Over after {lasted}: {each.sentence}')
            elif each.said and state not in due:
                self._info(f'After {lasted} of {cause}, now: {present[state]}')
            del self._present[cause]
        self._state = state
        return over
