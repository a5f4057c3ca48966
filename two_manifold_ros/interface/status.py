# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status and diagnostics of a node as messages, and a table of those that were heard."""

from __future__ import annotations

from enum import IntEnum
import math
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.messages import header, labelled_array
from two_manifold_ros.interface.snapshot import REJECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.interface.topics import Message


OUTSIDE = -1
"""Code of a node that is unconfigured, inactive or disabled: it is in none of the states."""

CODES = {status: code for code, status in enumerate(Status)}
"""Codes of the states, in the order of the way from the first sample to tracking."""

COUNTS = ('received', 'used', 'waiting', 'published', 'gaps', 'resets', 'restarts', *REJECTIONS)
"""``received`` is the sum of ``used``, ``waiting`` and the rejections, which come last."""

NUMBERS = (
    'status',
    'valid',
    'level',
    'evidence',
    'familiarity',
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
)
"""Numbers on the topic ``status``, in this order, after the stamp."""


def status_message(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``, see `labelled_array`, of always the same layout.

    Numbers are by names of ``NUMBERS``; those that are not given are NaN, which means unknown.
    """
    return labelled_array(stamp_ns, {name: numbers.get(name, math.nan) for name in NUMBERS})


class Level(IntEnum):
    """Levels of ``diagnostic_msgs/DiagnosticStatus``."""

    OK = 0
    WARN = 1
    ERROR = 2


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
        The node, and the frame of its sensor.
    level, why
        Whether somebody has to act, and one sentence: what the node is doing, or why nothing is
        published.
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


class StatusTable:
    """
    One line for every node whose diagnostics have the keys ``status`` and ``cause``.

    Parameters
    ----------
    gone_s
        Silence after which a node is taken to be gone; each reports once a second.

    """

    def __init__(self, gone_s: float = 3.0) -> None:
        self._gone_s = gone_s
        self._heard: dict[str, tuple[tuple[str, str], str, float]] = {}

    def update(
        self, name: str, level: int, why: str, values: Mapping[str, str], now_s: float
    ) -> bool:
        """
        Take a ``DiagnosticStatus``, and when it came by a clock that never goes back.

        Returns
        -------
        bool
            Whether the node is one of ours, and in another state than before.

        """
        if not {'status', 'cause'} <= values.keys():
            return False
        state = values['status'], values['cause']
        is_new = name not in self._heard or self._heard[name][0] != state
        word = Level(level).name if level in set(Level) else 'STALE'
        received, published = (_rate(values, f'{each}_rate_hz') for each in ('input', 'estimate'))
        line = f'{word:5}  {received} Hz in, {published} Hz out  {why}'
        self._heard[name] = state, line, now_s
        return is_new

    def line(self, name: str, now_s: float) -> str:
        """Return the line about a node."""
        _, line, heard_s = self._heard[name]
        silent_s = now_s - heard_s
        if silent_s > self._gone_s:
            return f'{name}  GONE   not heard for {silent_s:.0f} s'
        return f'{name}  {line}'

    def lines(self, now_s: float) -> list[str]:
        """Return the lines about all nodes, by name."""
        return [self.line(name, now_s) for name in sorted(self._heard)]


def _rate(values: Mapping[str, str], key: str) -> str:
    try:
        return f'{float(values.get(key, "")):.1f}'
    except ValueError:
        return '-'
