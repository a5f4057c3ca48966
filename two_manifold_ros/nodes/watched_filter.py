# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a filter node tells about itself in its diagnostics; knows nothing of ROS."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

AWAY_S = 5.0
"""Silence after which it is taken to be gone; it reports once a second."""


class Running(NamedTuple):
    """
    A model being run.

    Parameters
    ----------
    path
        Its file.
    swaps, starts
        How often the model was exchanged, and the node started, before.

    """

    path: str
    swaps: str
    starts: int


class WatchedFilter:
    """
    Remembers the newest word of a filter node.

    Attributes
    ----------
    running
        What it runs, ``None`` if nothing.

    """

    def __init__(self) -> None:
        self._heard_s = -AWAY_S
        self._received = 0
        self._starts = 0
        self.running: Running | None = None

    def hear(self, told: Mapping[str, str], now_s: float) -> None:
        """Take its values by key, and when they came."""
        self._heard_s = now_s
        if 'swaps' not in told:
            self.running = None
            return
        received = int(told.get('received', '0'))
        # Its messages are counted from the start.
        self._starts += received < self._received
        self._received = received
        self.running = Running(told['model'], told['swaps'], self._starts)

    def look(self, now_s: float) -> None:
        """Forget what it runs if it has been silent for too long."""
        if now_s - self._heard_s > AWAY_S:
            self.running = None
