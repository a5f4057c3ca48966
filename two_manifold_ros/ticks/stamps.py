# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Judge, hold back and sort samples by their stamps, and average them over ticks.

A sample is held until the next one arrives (zero-order hold), and a tick is the mean of what was
held during it. The same compiled function serves the live stream and whole recordings: both give
the same bits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Generic, TypeVar

import numpy as np

from two_manifold_ros.compilation import compiled, shared
from two_manifold_ros.recordings.excursions import LATE_NS
from two_manifold_ros.typing import Bools, Floats, Ints

JUMP_BACK_NS = LATE_NS
"""Stamps that go back by less are out of order; by more, the clock or the bag jumped back."""


class Verdict(Enum):
    """Meaning of one stamp for the stream; the values are names of counters."""

    ACCEPT = 'accepted'
    START = 'starts'
    GAP = 'gaps'
    JUMP_BACK = 'jumps_back'
    DUPLICATE = 'duplicate_stamp'
    OUT_OF_ORDER = 'out_of_order'
    ZERO = 'zero_stamp'
    WILD = 'wild_stamp'


USED = (Verdict.ACCEPT, Verdict.START, Verdict.GAP, Verdict.JUMP_BACK)
"""What the stream goes on with; all other verdicts drop the sample."""

Item = TypeVar('Item')

MOST_LATE = 2048
"""Samples that wait for late ones at the most, whatever their stamps: half a second at 4 kHz."""


class StampGate(Generic[Item]):
    """
    Judge the stamps of a stream, of samples of any kind: live, and of whole recordings.

    A step forward by more than ``jump_ns``, and one back by ``JUMP_BACK_NS``, is a jump, of which
    one flipped bit would cost two resets. So the sample waits. If the next one continues what was
    before the jump, it was *wild* and is dropped. If not, the jump is believed, and it passes
    first. Then late samples are sorted, where that is asked for, and each is judged against the
    newest one used. A step forward by more than ``max_gap_ns`` is a gap. So is a clock that was
    set back: where for longer than that only older stamps came, which the next one continues.

    ``jump_ns``, by default the longest gap and how late samples may come, may change on the way. A
    sample may come ``reorder_ns`` late, less than ``JUMP_BACK_NS``; all others wait as long.
    During ``aside_ns`` before the newest stamp nothing was used. A stamp that
    ``jumped`` is there with its item until the next one decides what that means.
    """

    def __init__(self, max_gap_ns: int, jump_ns: int | None = None, reorder_ns: int = 0) -> None:
        self.jump_ns = max_gap_ns + reorder_ns if jump_ns is None else jump_ns
        self._max_gap, self._reorder = max_gap_ns, reorder_ns
        self._forget()

    def _forget(self) -> None:
        self.aside_ns = 0
        # Newest that came without a jump; late ones by stamp; newest one used, and the first and
        # last of the older ones since.
        self._came: int | None = None
        self.jumped: tuple[int, Item] | None = None
        self._late: list[tuple[int, Item]] = []
        self._used: int | None = None
        self._older: tuple[int, int] | None = None

    @property
    def waiting(self) -> int:
        """Samples that were not judged yet."""
        return len(self._late) + (self.jumped is not None)

    def push(self, stamp: int, item: Item) -> list[tuple[Verdict, int, Item]]:
        """Take an item and its stamp, ns; return what is judged now, in order."""
        judged: list[tuple[Verdict, int, Item]] = []
        ready = self._settle(stamp, item, judged)
        if self._reorder:
            ready = [each for passed in ready for each in self._sort(*passed)]
        judged += [(self._judge(each[0]), *each) for each in ready]
        return judged

    def drain(self) -> list[tuple[Verdict, int, Item]]:
        """Judge all that waited, of which a jump was none, and forget the stream."""
        judged = [] if self.jumped is None else [(Verdict.WILD, *self.jumped)]
        judged += [(self._judge(each[0]), *each) for each in self._late]
        self._forget()
        return judged

    def _settle(  # noqa: PLR0911 - one for each case
        self, stamp: int, item: Item, judged: list[tuple[Verdict, int, Item]]
    ) -> list[tuple[int, Item]]:
        """Return what jumps no more, of this one and one that waited; add what is dropped."""
        came, waiting = self._came, self.jumped
        # Without a time it cannot confirm a jump.
        if stamp <= 0 or came is None:
            self._came = came if stamp <= 0 else stamp
            return [(stamp, item)]
        step = stamp - came
        if waiting is None:
            if -JUMP_BACK_NS < step <= self.jump_ns:
                self._came = max(came, stamp)
                return [(stamp, item)]
            self.jumped = stamp, item
            return []
        onward = stamp - waiting[0]
        if onward == 0:
            # A copy is no witness of what it was copied from.
            judged.append((Verdict.DUPLICATE, stamp, item))
            return []
        # One between the two is in order: the longest gap has become longer.
        if 0 < step <= self.jump_ns and not came < waiting[0] < stamp:
            judged.append((Verdict.WILD, *waiting))
            self._came, self.jumped = stamp, None
            return [(stamp, item)]
        if -JUMP_BACK_NS < step <= 0 and not 0 < onward <= self.jump_ns:
            # A late one or a copy from before the jump may still be on its way in either case.
            return [(stamp, item)]
        self._came, self.jumped = waiting[0], None
        return [waiting, *self._settle(stamp, item, judged)]

    def _sort(self, stamp: int, item: Item) -> list[tuple[int, Item]]:
        """Return those before which none is expected any more, the oldest first."""
        late = self._late
        if stamp <= 0:
            return [(stamp, item)]
        ready: list[tuple[int, Item]] = []
        if late and stamp <= late[-1][0] - JUMP_BACK_NS:
            # The first of another time: all of the old one come before it.
            ready, self._late = late, []
            late = self._late
        insort(late, (stamp, item), key=itemgetter(0))
        count = bisect_right(late, late[-1][0] - self._reorder, key=itemgetter(0))
        count = max(count, len(late) - MOST_LATE)
        ready += late[:count]
        del late[:count]
        return ready

    def _judge(self, stamp: int) -> Verdict:
        """Judge a stamp against the newest one used, which it may become."""
        if stamp <= 0:
            return Verdict.ZERO
        newest = self._used
        if newest is None:
            self._used = stamp
            return Verdict.START
        step = stamp - newest
        if -JUMP_BACK_NS < step <= 0:
            first, last = self._older or (stamp, stamp)
            self._older = first, max(last, stamp)
            return Verdict.OUT_OF_ORDER if step else Verdict.DUPLICATE
        # For how long older stamps came that this one continues.
        first, last = self._older or (stamp, stamp)
        continues = last - first > self._max_gap and 0 < stamp - last <= self._max_gap
        self.aside_ns = stamp - first if continues else 0
        self._used, self._older = stamp, None
        if step < 0:
            return Verdict.JUMP_BACK
        return Verdict.GAP if step > self._max_gap or self.aside_ns else Verdict.ACCEPT


@dataclass(frozen=True)
class Stretches:
    """
    The stamps (N,) of a whole stream, ns, as received, judged by a `StampGate` as a live one is.

    Indices of those used are ``kept`` (K,), increasing; at ``begins`` (S,) of the kept a stretch
    starts: the first, and each after a gap or a jump back. ``wild`` (W,) jumped alone. ``counts``
    are by verdict.
    """

    stamps: Ints
    kept: Ints
    begins: Ints
    wild: Ints
    counts: Counter[str]

    @property
    def first_is_alone(self) -> bool:
        """True if no other stamp follows the first, as none follows a wild stamp later."""
        return len(self.begins) > 1 and int(self.begins[1]) == 1

    def main_course(self, counted: Bools | None = None) -> Bools:
        """
        Return which of the (N,) stamps are in the stretches that follow each other and hold most.

        Where a clock was set back or a bag looped, several parts stand for the same time. Most is
        by the number of stamps that are ``counted`` (N,), by default all. A first stamp that is
        alone is left out.
        """
        chosen = np.zeros(len(self.stamps), dtype=np.bool_)
        if not len(self.kept):
            return chosen
        begins = self.begins[1:] if self.first_is_alone else self.begins
        ends = np.append(begins[1:], len(self.kept))
        first, last = self.stamps[self.kept[begins]], self.stamps[self.kept[ends - 1]]
        if (first[1:] > last[:-1]).all():
            chosen[self.kept[begins[0] :]] = True
            return chosen
        # The best courses so far, by their last stamp: a later one is kept if it holds more.
        each = np.ones(len(self.stamps), dtype=np.int64) if counted is None else counted
        held = np.add.reduceat(each[self.kept].astype(np.int64), begins).tolist()
        before = [-1] * len(held)
        tops: list[tuple[int, int]] = []
        for stretch, (start, stop) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            if place := bisect_left(tops, (start, 0)):
                before[stretch] = tops[place - 1][1]
                held[stretch] += held[before[stretch]]
            place = beyond = bisect_left(tops, (stop + 1, 0))
            if place and held[tops[place - 1][1]] >= held[stretch]:
                continue
            while beyond < len(tops) and held[tops[beyond][1]] <= held[stretch]:
                beyond += 1
            tops[place:beyond] = [(stop, stretch)]
        stretch = tops[-1][1]
        while stretch >= 0:
            chosen[self.kept[begins[stretch] : ends[stretch]]] = True
            stretch = before[stretch]
        return chosen


def judge_stamps(stamps: Ints, max_gap_ns: int) -> Stretches:
    """Judge (N,) stamps, ns, in the order received; longer steps than ``max_gap_ns`` are gaps."""
    kept = np.ones(len(stamps), dtype=np.bool_)
    wild = np.zeros(len(stamps), dtype=np.bool_)
    begins: list[int] = []
    counts: Counter[str] = Counter()
    steps = np.diff(stamps)
    odd = np.flatnonzero((steps <= 0) | (steps > max_gap_ns)) + 1
    index = 0
    while index < len(stamps):
        # From here on one by one, until a stamp continues what was accepted before.
        gate = StampGate[int](max_gap_ns)
        if index:
            gate.push(int(stamps[index - 1]), index - 1)
        settled = False
        while index < len(stamps) and not settled:
            kept[index] = False
            judged = gate.push(int(stamps[index]), index)
            index += 1
            if index == len(stamps):
                judged += gate.drain()
            for verdict, _, place in judged:
                counts[verdict.value] += 1
                wild[place] = verdict is Verdict.WILD
                kept[place] = verdict in USED
                if kept[place] and verdict is not Verdict.ACCEPT:
                    begins.append(place)
            settled = bool(kept[index - 1]) and gate.jumped is None
        after = np.searchsorted(odd, index)
        regular = (int(odd[after]) if after < len(odd) else len(stamps)) - index
        if regular:
            counts[Verdict.ACCEPT.value] += regular
        index += regular
    at = np.cumsum(kept)[begins] - 1 if begins else np.zeros(0, dtype=np.int64)
    return Stretches(stamps, np.flatnonzero(kept), at, np.flatnonzero(wild), counts)


@shared
def hold_until(
    clock: Ints, held: Floats, integral: Floats, stamp: int, period: int, means: Floats, ends: Ints
) -> int:
    """
    Integrate the held sample (c,) up to a stamp, ns; return how many ticks ended on the way.

    Updated: ``clock`` (2,), the time integrated up to and the end of the running tick, ns, and its
    ``integral`` (c,). ``means`` (>= ended, c) and ``ends`` (>= ended,), ns, get the ended ticks.
    """
    count = 0
    now = clock[0]
    end = clock[1]
    while stamp >= end:
        for c in range(held.size):
            means[count, c] = (integral[c] + held[c] * float(end - now)) / float(period)
            integral[c] = 0.0
        ends[count] = end
        count += 1
        now = end
        end += period
    for c in range(held.size):
        integral[c] += held[c] * float(stamp - now)
    clock[0] = stamp
    clock[1] = end
    return count


@compiled
def _average(
    clock: Ints, held: Floats, integral: Floats, stamps: Ints, samples: Floats, period: int,
    means: Floats, ends: Ints,
) -> int:  # fmt: skip
    """Take (N, c) samples, see `hold_until`, of which the newest is held at last."""
    count = 0
    for i in range(stamps.size):
        count += hold_until(clock, held, integral, stamps[i], period, means[count:], ends[count:])
        # One by one: numba takes two seconds longer to compile the assignment of a row.
        for c in range(held.size):
            held[c] = samples[i, c]
    return count


class TickAverager:
    """
    Average a stream of (c,) samples over ticks, live or recorded.

    ``span_ns``, the longest time from one sample to those taken next, bounds the ticks that end
    then. The ``clock`` (2,) has the newest stamp and the end of the running tick, ns.
    """

    def __init__(self, channels: int, period_ns: int, span_ns: int) -> None:
        self._period = period_ns
        self.clock = np.zeros(2, dtype=np.int64)
        self._held, self._integral = np.zeros((2, channels))
        most = span_ns // period_ns + 2
        self._means, self._ends = np.zeros((most, channels)), np.zeros(most, dtype=np.int64)

    def start(self, stamp: int, sample: Floats) -> None:
        """Restart the grid of ticks at this sample."""
        self.clock[:] = stamp, stamp + self._period
        self._integral[:] = 0.0
        self._held[:] = sample

    def push(self, stamp: int, sample: Floats) -> tuple[int, Ints, Floats]:
        """Return how many ticks ended; ends and means (>= count, c), valid until the next call."""
        count = hold_until(
            self.clock, self._held, self._integral, stamp, self._period, self._means, self._ends
        )
        self._held[:] = sample
        return count, self._ends, self._means

    def take(self, stamps: Ints, samples: Floats) -> tuple[Ints, Floats]:
        """Take (N, c) samples; return ends and means of ticks, valid until the next call."""
        count = _average(
            self.clock, self._held, self._integral, stamps, samples, self._period, self._means,
            self._ends,
        )  # fmt: skip
        return self._ends[:count], self._means[:count]


def average_ticks(stamps: Ints, samples: Floats, period_ns: int) -> tuple[Ints, Floats]:
    """Average samples (N, c) without gaps over ticks from the first one on: ends and means."""
    span_ns = int(stamps[-1] - stamps[0]) if len(stamps) else 0
    averager = TickAverager(samples.shape[1], period_ns, span_ns)
    if span_ns:
        averager.start(int(stamps[0]), samples[0])
    return averager.take(stamps[1:], np.ascontiguousarray(samples)[1:])
