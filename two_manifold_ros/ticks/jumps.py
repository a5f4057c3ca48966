# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Believe a jump of the stamps only when the stream goes on from there."""

from __future__ import annotations

from typing import Generic, TYPE_CHECKING, TypeVar

from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, Verdict

if TYPE_CHECKING:
    from collections import Counter

Item = TypeVar('Item')


class JumpGate(Generic[Item]):
    """
    Hold back a sample whose stamp jumps until the next one shows whether the jump is real.

    One flipped bit in a stamp would otherwise cost two resets. If the next sample continues what
    was before the jump, the one held back was *wild*: it is dropped and counted. If not, the jump
    is believed, and the one held back passes first. Samples that do not jump pass at once.

    Parameters
    ----------
    max_gap_ns
        A longer step forward is a jump, as is one back by ``JUMP_BACK_NS``.

    """

    def __init__(self, max_gap_ns: int) -> None:
        self._max_gap = max_gap_ns
        self._newest: int | None = None
        self._waiting: tuple[int, Item] | None = None

    @property
    def waiting(self) -> int:
        """How many samples are held back: one or none."""
        return 0 if self._waiting is None else 1

    def push(self, stamp: int, item: Item, counters: Counter[str]) -> list[tuple[int, Item]]:
        """
        Take a stamp and whatever belongs to it; return what passes, in order.

        Parameters
        ----------
        stamp
            Nanoseconds.
        item
            Kept as it is.
        counters
            Where what is dropped is counted, by cause.

        """
        if stamp <= 0:
            # It says nothing of the time, so it is no witness of any jump.
            return [(stamp, item)]
        if self._newest is None:
            self._newest = stamp
            return [(stamp, item)]
        if self._waiting is not None:
            return self._settle(stamp, item, self._waiting, counters)
        step = stamp - self._newest
        if -JUMP_BACK_NS < step <= self._max_gap:
            self._newest = max(self._newest, stamp)
            return [(stamp, item)]
        self._waiting = (stamp, item)
        return []

    def drop(self, counters: Counter[str]) -> None:
        """Forget the stream; a jump that nothing has followed until now was none."""
        if self._waiting is not None:
            counters[Verdict.WILD.value] += 1
        self._newest = self._waiting = None

    def _settle(
        self, stamp: int, item: Item, waiting: tuple[int, Item], counters: Counter[str]
    ) -> list[tuple[int, Item]]:
        """Take a stamp while one waits."""
        newest = self._newest or 0
        step, onward = stamp - newest, stamp - waiting[0]
        if onward == 0:
            # A copy is no witness of what it was copied from.
            counters[Verdict.DUPLICATE.value] += 1
            return []
        if 0 < step <= self._max_gap:
            counters[Verdict.WILD.value] += 1
            self._newest, self._waiting = stamp, None
            return [(stamp, item)]
        if -JUMP_BACK_NS < step <= 0 and not 0 < onward <= self._max_gap:
            # A late one or a copy from before the jump may still be on its way in either case.
            return [(stamp, item)]
        self._newest, self._waiting = waiting[0], None
        return [waiting, *self.push(stamp, item, counters)]
