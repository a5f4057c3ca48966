# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the filter is, in words and numbers that any diagnostics viewer shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
import math
from typing import TYPE_CHECKING

from two_manifold_ros.outputs.header import header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.outputs.topics import Message


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
