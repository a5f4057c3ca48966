# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One line about each node, made of its diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.outputs.diagnostics import Level

if TYPE_CHECKING:
    from collections.abc import Mapping

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
