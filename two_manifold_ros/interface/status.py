# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, diagnostics and log of a node."""

from __future__ import annotations

from collections import deque
import math
import re
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import Level, REJECTIONS
from two_manifold_ros.interface.messages import header, labelled_array, Message
from two_manifold_ros.names import NO_ROUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from two_manifold_ros.filtering.estimate import Estimate


OUTSIDE = -1
"""Code of a node that is unconfigured, inactive or disabled: it is in none of the states."""

CODES = {status: code for code, status in enumerate(Status)}
"""Codes of the states, in the order of the way from the first sample to tracking."""

COUNTS = ('received', 'used', 'waiting', 'published', 'gaps', 'resets', 'restarts', *REJECTIONS)
"""``received`` is the sum of ``used``, ``waiting`` and the rejections."""

NUMBERS = (
    'status', 'valid', 'level', 'evidence', 'novelty', 'off_route', 'ellipse_m',
    'ticks_since_good_sample', 'input_rate_hz', 'estimate_rate_hz', 'stamp_age_s',
    'processing_p50_us', 'processing_p99_us', 'processing_max_us', *COUNTS,
    'route_number', 'route_chance',
)  # fmt: skip
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
    """Return ``diagnostic_msgs/DiagnosticArray`` with one status of the node of a name."""
    shown = {key: str(value) for key, value in values.items()}
    for key, value in values.items():
        if isinstance(value, float):
            shown[key] = f'{value:.6g}' if math.isfinite(value) else 'unknown'
    status = {
        'level': int(level),
        'name': name,
        'message': why,
        'hardware_id': hardware,
        'values': [{'key': key, 'value': text} for key, text in shown.items()],
    }
    return {'header': header(stamp_ns, ''), 'status': [status]}


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital, unless it starts with a name, which stays as it is."""
    # A file, a topic or a parameter; or a file with blanks in its name, which a colon follows.
    if re.match(r'\S*[/\\_]|[^\s.]*\.[.,:;]*[^\s.,:;]|[^:]*\.[A-Za-z]\w*:', sentence):
        return sentence
    return f'{sentence[:1].upper()}{sentence[1:]}'


class ThrottledLog:
    """
    Turn the causes that are present now into few log lines.

    A cause that lasts is warned of at most once in ``repeat_s`` seconds, and one that keeps coming
    back ``most`` times: with one, a second outage in half a minute would be missing in the log.
    """

    repeat_s, most = 30.0, 3

    def __init__(self, warn: Callable[[str], object], info: Callable[[str], object]) -> None:
        self._warn, self._info = warn, info
        # When each cause was warned of lately.
        self._said_s: dict[str, deque[float]] = {}
        # Of the causes that are present, since when, the newest sentence, and whether it was said.
        self._present: dict[str, tuple[float, str, bool]] = {}

    def update(self, present: Mapping[str, str], now_s: float) -> None:
        """Warn of causes that are new, by their sentences, and log which are over."""
        for cause, sentence in present.items():
            begun_s, _, said = self._present.get(cause, (now_s, '', False))
            times = self._said_s.setdefault(cause, deque(maxlen=self.most))
            lately = sum(now_s - each < self.repeat_s for each in times)
            if lately < (1 if cause in self._present else self.most):
                times.append(now_s)
                said = True
                self._warn(sentence)
            # Its numbers are those of now, as in the diagnostics: of the first moment they are 1.
            self._present[cause] = begun_s, sentence, said
        for cause in [each for each in self._present if each not in present]:
            begun_s, sentence, said = self._present.pop(cause)
            if said:
                self._info(f'Over after {now_s - begun_s:.1f} s: {sentence}')
