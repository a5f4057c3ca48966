# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What happens to a sample before the filter takes it: waiting, sorting, judging by its stamp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.ticks.jumps import JumpGate
from two_manifold_ros.ticks.reordering import Reordering
from two_manifold_ros.ticks.stamps import StampRule, Verdict

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from two_manifold_ros.ticks.reordering import Stamped
    from two_manifold_ros.typing import Floats

_DROPPED = (Verdict.ZERO, Verdict.DUPLICATE, Verdict.OUT_OF_ORDER)


class Intake:
    """
    Tell wild stamps from jumps, sort what is late by little, refuse the rest.

    Nothing is lost uncounted: what was received is given out, counted under a cause, or
    ``waiting``.

    Parameters
    ----------
    channels
        Values per sample.
    max_gap_ns
        A longer step forward is a gap.
    reorder_ns
        How late a sample may come and still be used; everything is as much later for it.

    """

    def __init__(self, channels: int, max_gap_ns: int, reorder_ns: int) -> None:
        # What comes in disorder may be ahead of the others by a gap and all that is still late.
        self._gate: JumpGate[Floats] = JumpGate(max_gap_ns + reorder_ns)
        self._late = Reordering(channels, reorder_ns) if reorder_ns else None
        self._rule = StampRule(max_gap_ns)

    @property
    def waiting(self) -> int:
        """How many samples were neither given out nor dropped yet."""
        return self._gate.waiting + (0 if self._late is None else len(self._late))

    @property
    def jumped(self) -> bool:
        """Whether the newest sample jumped, so that any next one may bring about anything."""
        return self._gate.waiting > 0

    @property
    def aside_ns(self) -> int:
        """See ``StampRule``."""
        return self._rule.aside_ns

    def push(
        self, stamp: int, sample: Floats, counters: Counter[str]
    ) -> Iterator[tuple[Verdict, int, Floats]]:
        """
        Take a (c,) sample, which is not copied; yield those to use, each with what it means.

        Parameters
        ----------
        stamp
            Nanoseconds.
        sample
            As it is to be given out.
        counters
            Where samples that are dropped are counted, by cause.

        """
        for passed in self._gate.push(stamp, sample, counters):
            if self._late is None or passed[0] <= 0:
                yield from self._judged([passed], counters)
            else:
                yield from self._judged(self._late.push(*passed), counters)

    def drain(self, counters: Counter[str]) -> Iterator[tuple[Verdict, int, Floats]]:
        """Forget the stream, but yield first what only waited for others to come."""
        self._gate.drop(counters)
        if self._late is not None:
            yield from self._judged(self._late.flush(), counters)
        self._rule.forget()

    def _judged(
        self, stamped: Stamped, counters: Counter[str]
    ) -> Iterator[tuple[Verdict, int, Floats]]:
        for stamp, sample in stamped:
            verdict = self._rule.judge(stamp)
            if verdict in _DROPPED:
                counters[verdict.value] += 1
            else:
                yield verdict, stamp, sample
