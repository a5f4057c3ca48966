# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where the vehicle really was a moment ago."""

from __future__ import annotations

from collections import deque

KEPT_NS = 2_000_000_000
"""For how long a position is remembered; predictions for a time before that come too late."""

_MOST = 4096


class Truth:
    """
    The newest reference positions.

    Parameters
    ----------
    max_gap_ns
        Longest step between two of them that is interpolated across.

    """

    def __init__(self, max_gap_ns: int) -> None:
        self._max_gap_ns = max_gap_ns
        self._fixes: deque[tuple[int, float, float]] = deque(maxlen=_MOST)

    @property
    def newest_ns(self) -> int | None:
        """Stamp of the newest one."""
        return self._fixes[-1][0] if self._fixes else None

    def add(self, stamp_ns: int, x: float, y: float) -> None:
        """Take a position that is newer than the ones before."""
        fixes = self._fixes
        fixes.append((stamp_ns, x, y))
        while len(fixes) > 2 and fixes[1][0] < stamp_ns - KEPT_NS:
            fixes.popleft()

    def at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return x and y at a time not after the newest one, ``None`` where they are not known."""
        later = None
        for earlier in reversed(self._fixes):
            if earlier[0] == stamp_ns:
                return earlier[1:]
            if earlier[0] < stamp_ns:
                return self._between(earlier, later, stamp_ns) if later else None
            later = earlier
        return None

    def _between(
        self, earlier: tuple[int, float, float], later: tuple[int, float, float], stamp_ns: int
    ) -> tuple[float, float] | None:
        step_ns = later[0] - earlier[0]
        if step_ns > self._max_gap_ns:
            return None
        share = (stamp_ns - earlier[0]) / step_ns
        x, y = (earlier[axis] + share * (later[axis] - earlier[axis]) for axis in (1, 2))
        return x, y

    def clear(self) -> None:
        """Forget all."""
        self._fixes.clear()
