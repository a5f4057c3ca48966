# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status and diagnostics of a node as messages and as one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
import math
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.estimates import header, labelled_array
from two_manifold_ros.interface.snapshot import REJECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.interface.topics import Message


OUTSIDE = -1
"""Code of a node that is unconfigured, inactive or disabled: it is in none of the states."""

CODES = {status: code for code, status in enumerate(Status)}
"""Codes of the states, in the order of the way from the first sample to tracking."""

COUNTS = (
    'received',
    'used',
    'waiting',
    'published',
    'gaps',
    'resets',
    'restarts',
    *REJECTIONS,
)
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
"""What is told, in this order, after the stamp."""


def status_message(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``, see `labelled_array`, of always the same layout.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    numbers
        By names of ``NUMBERS``; those that are not given are NaN, which means unknown.

    """
    return labelled_array(stamp_ns, {name: numbers.get(name, math.nan) for name in NUMBERS})


class Level(IntEnum):
    """Levels of ``diagnostic_msgs/DiagnosticStatus``."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass(frozen=True)
class Health:
    """
    The state of a node.

    Parameters
    ----------
    level
        Whether somebody has to act.
    why
        One sentence: what it is doing, or why nothing is published.
    values
        Numbers and words for plotting and searching, in the order to show.

    """

    level: Level
    why: str
    values: Mapping[str, float | str] = field(default_factory=dict)


def diagnostics_message(stamp_ns: int, name: str, hardware: str, health: Health) -> Message:
    """
    Return ``diagnostic_msgs/DiagnosticArray`` with one status.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    name, hardware
        Who reports (the node), and on what (the frame of the IMU).
    health
        What is reported; numbers that are not finite are written as ``unknown``.

    """
    values = [{'key': key, 'value': as_text(value)} for key, value in health.values.items()]
    status = {
        'level': int(health.level),
        'name': name,
        'message': health.why,
        'hardware_id': hardware,
        'values': values,
    }
    return {'header': header(stamp_ns, ''), 'status': [status]}


def as_text(value: float | str) -> str:
    """Return a value as diagnostics show it."""
    if isinstance(value, float):
        return f'{value:.6g}' if math.isfinite(value) else 'unknown'
    return str(value)


GONE_S = 3.0
"""Silence after which a node is taken to be gone; each reports once a second."""


class RollCall:
    """Remembers the newest word of every node that tells ``status`` and ``cause``."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}
        self._states: dict[str, tuple[str, str]] = {}
        self._heard_s: dict[str, float] = {}

    def hear(
        self, name: str, level: int, why: str, values: Mapping[str, str], now_s: float
    ) -> bool:
        """
        Take a word of diagnostics.

        Parameters
        ----------
        name, level, why, values
            Of a ``DiagnosticStatus``.
        now_s
            Seconds of a clock that never goes back.

        Returns
        -------
        bool
            Whether the node is one of ours, and in another state than before.

        """
        if not {'status', 'cause'} <= values.keys():
            return False
        state = values['status'], values['cause']
        new = self._states.get(name) != state
        self._states[name], self._heard_s[name] = state, now_s
        self._lines[name] = f'{_level(level):5}  {_rates(values)}  {why}'
        return new

    def line(self, name: str, now_s: float) -> str:
        """Return the line about a node."""
        silent_s = now_s - self._heard_s[name]
        if silent_s > GONE_S:
            return f'{name}  GONE   not heard for {silent_s:.0f} s'
        return f'{name}  {self._lines[name]}'

    def lines(self, now_s: float) -> list[str]:
        """Return the lines about all nodes, by name."""
        return [self.line(name, now_s) for name in sorted(self._lines)]


def _level(level: int) -> str:
    return Level(level).name if level in set(Level) else 'STALE'


def _rates(values: Mapping[str, str]) -> str:
    pairs = (('input_rate_hz', 'Hz in'), ('estimate_rate_hz', 'Hz out'))
    return ', '.join(f'{_short(values.get(key, ""))} {unit}' for key, unit in pairs)


def _short(number: str) -> str:
    try:
        return f'{float(number):.1f}'
    except ValueError:
        return '-'
