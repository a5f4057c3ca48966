# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Judge, hold back and sort samples by their stamps, and average them over ticks.

A sample is held until the next one arrives (zero-order hold), and a tick is the mean of what was
held during it. The same compiled function serves the live stream and whole recordings: both give
the same bits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TYPE_CHECKING, TypeVar

import numpy as np

from two_manifold_ros.compilation import allocating, shared
from two_manifold_ros.recordings.excursions import LATE_NS

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints

    Stamped = list[tuple[int, Floats]]


JUMP_BACK_NS = LATE_NS
"""
A stamp older than the newest by less than this is one message out of order; by more, the clock
or the bag jumped back and everything restarts.
"""


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


class StampRule:
    """
    Judge stamps one after the other against the newest accepted one.

    A step forward by more than ``max_gap_ns`` is a gap. So is a clock that was set back: where for
    longer than that only older stamps came, which the next one continues. ``aside_ns`` is then
    the time during which nothing was used, which the accepted stamps do not show.
    """

    def __init__(self, max_gap_ns: int) -> None:
        self._max_gap = max_gap_ns
        self.forget()

    def forget(self) -> None:
        """Treat the next stamp as the first."""
        self._newest: int | None = None
        self._refused: tuple[int, int] | None = None
        self.aside_ns = 0

    def judge(self, stamp: int) -> Verdict:
        """Judge a stamp; accepted stamps, gaps and jumps back become the newest."""
        if stamp <= 0:
            return Verdict.ZERO
        newest = self._newest
        if newest is None:
            self._newest = stamp
            return Verdict.START
        step = stamp - newest
        if -JUMP_BACK_NS < step <= 0:
            begin, end = self._refused or (stamp, stamp)
            self._refused = begin, max(end, stamp)
            return Verdict.OUT_OF_ORDER if step else Verdict.DUPLICATE
        self.aside_ns = self._set_aside(stamp)
        self._newest, self._refused = stamp, None
        if step < 0:
            return Verdict.JUMP_BACK
        return Verdict.GAP if step > self._max_gap or self.aside_ns else Verdict.ACCEPT

    def _set_aside(self, stamp: int) -> int:
        """Return for how long older stamps came that this one continues; 0 if not for long."""
        begin, end = self._refused or (stamp, stamp)
        if end - begin <= self._max_gap or not 0 < stamp - end <= self._max_gap:
            return 0
        return stamp - begin


Item = TypeVar('Item')


class JumpGate(Generic[Item]):
    """
    Hold back a sample whose stamp jumps until the next one shows whether the jump is real.

    A step forward by more than ``max_gap_ns`` is a jump, as is one back by ``JUMP_BACK_NS``. One
    flipped bit in a stamp would otherwise cost two resets. If the next sample continues what was
    before the jump, the one held back was *wild*: it is dropped and counted. If not, the jump is
    believed, and the one held back passes first. Samples that do not jump pass at once.
    ``max_gap_ns`` may change on the way.
    """

    def __init__(self, max_gap_ns: int) -> None:
        self.max_gap_ns = max_gap_ns
        self._newest: int | None = None
        self._waiting: tuple[int, Item] | None = None

    @property
    def waiting(self) -> int:
        """Number of samples that are held back: one or none."""
        return 0 if self._waiting is None else 1

    def push(self, stamp: int, item: Item, counters: Counter[str]) -> list[tuple[int, Item]]:
        """Take a stamp and its item; return those that pass, in order, and count those dropped."""
        if stamp <= 0:
            # It has no time, so it cannot confirm a jump.
            return [(stamp, item)]
        if self._newest is None:
            self._newest = stamp
            return [(stamp, item)]
        if self._waiting is not None:
            return self._settle(stamp, item, self._waiting, counters)
        step = stamp - self._newest
        if -JUMP_BACK_NS < step <= self.max_gap_ns:
            self._newest = max(self._newest, stamp)
            return [(stamp, item)]
        self._waiting = (stamp, item)
        return []

    def drop(self, counters: Counter[str]) -> None:
        """Forget the stream; a jump that no sample has followed is counted as wild."""
        if self._waiting is not None:
            counters[Verdict.WILD.value] += 1
        self._newest = self._waiting = None

    def _settle(
        self, stamp: int, item: Item, waiting: tuple[int, Item], counters: Counter[str]
    ) -> list[tuple[int, Item]]:
        newest = self._newest or 0
        step, onward = stamp - newest, stamp - waiting[0]
        if onward == 0:
            # A copy is no witness of what it was copied from.
            counters[Verdict.DUPLICATE.value] += 1
            return []
        # One between the two is in order: the longest gap has become longer.
        if 0 < step <= self.max_gap_ns and not newest < waiting[0] < stamp:
            counters[Verdict.WILD.value] += 1
            self._newest, self._waiting = stamp, None
            return [(stamp, item)]
        if -JUMP_BACK_NS < step <= 0 and not 0 < onward <= self.max_gap_ns:
            # A late one or a copy from before the jump may still be on its way in either case.
            return [(stamp, item)]
        self._newest, self._waiting = waiting[0], None
        return [waiting, *self.push(stamp, item, counters)]


@dataclass(frozen=True)
class Stretches:
    """
    The stamps of a whole stream, judged as those of a live one are: by `JumpGate` and `StampRule`.

    Parameters
    ----------
    stamps : (N,) int64
        In the order received, ns.
    kept : (K,)
        Indices of the stamps that are used, increasing.
    begins : (S,)
        At which of those a new stretch starts: the first, and each after a gap or a jump back.
    wild : (W,)
        Indices of the stamps that jumped alone.
    counts
        How many stamps there are of each verdict.

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

        Where a clock was set back or a bag looped, several parts stand for the same time, and
        wrong stamps that continue each other interrupt it: no one course of time has them all.
        Most is by the number of stamps that are ``counted`` (N,), by default all. A first stamp
        that is alone is left out.
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
            place = bisect_left(tops, (start, 0))
            if place:
                before[stretch] = tops[place - 1][1]
                held[stretch] += held[before[stretch]]
            place = bisect_left(tops, (stop + 1, 0))
            if place and held[tops[place - 1][1]] >= held[stretch]:
                continue
            beyond = place
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
    new_stretch = (Verdict.START, Verdict.GAP, Verdict.JUMP_BACK)
    kept = np.ones(len(stamps), dtype=np.bool_)
    wild = np.zeros(len(stamps), dtype=np.bool_)
    begins: list[int] = []
    counts: Counter[str] = Counter()
    steps = np.diff(stamps)
    odd = np.flatnonzero((steps <= 0) | (steps > max_gap_ns)) + 1
    index = 0
    while index < len(stamps):
        # From here on one by one, until a stamp continues what was accepted before.
        gate, rule = JumpGate[int](max_gap_ns), StampRule(max_gap_ns)
        if index:
            gate.push(int(stamps[index - 1]), index - 1, counts)
            rule.judge(int(stamps[index - 1]))
        settled = False
        while index < len(stamps) and not settled:
            kept[index] = False
            doubt = gate.waiting
            passed = gate.push(int(stamps[index]), index, counts)
            # What is held back is wild unless it passes later; a copy of it is not held back.
            wild[index] = gate.waiting and (passed or not doubt)
            for stamp, place in passed:
                verdict = rule.judge(stamp)
                counts[verdict.value] += 1
                wild[place] = False
                kept[place] = verdict is Verdict.ACCEPT or verdict in new_stretch
                if verdict in new_stretch:
                    begins.append(place)
                settled = bool(kept[place]) and place == index
            settled = settled and not gate.waiting
            index += 1
        if not settled:
            gate.drop(counts)
        after = np.searchsorted(odd, index)
        regular = (int(odd[after]) if after < len(odd) else len(stamps)) - index
        if regular:
            counts[Verdict.ACCEPT.value] += regular
        index += regular
    at = np.cumsum(kept)[begins] - 1 if begins else np.zeros(0, dtype=np.int64)
    return Stretches(stamps, np.flatnonzero(kept), at, np.flatnonzero(wild), counts)


class Reordering:
    """
    Keep (c,) samples until no older one is expected any more.

    A sample is returned once another one is newer by the span. One that comes later than that
    is returned at once, out of order, for others to refuse. One that goes back by
    ``JUMP_BACK_NS`` is not late but the first of another time: all others are returned before it.
    Samples with the same stamp stay in the order of their arrival.

    Parameters
    ----------
    channels
        Values per sample.
    span_ns
        How late a sample may come, nanoseconds; less than ``JUMP_BACK_NS``.
    most
        Samples kept at the most; half a second at 4 kHz has fewer.

    """

    def __init__(self, channels: int, span_ns: int, most: int = 2048) -> None:
        self._span = span_ns
        self._most = most
        # Twice as many, so that they are moved to the front only now and then.
        self._stamps = np.zeros(2 * most, dtype=np.int64)
        self._samples = np.zeros((2 * most, channels))
        self._begin = self._end = 0

    def __len__(self) -> int:
        """Return how many samples are kept."""
        return self._end - self._begin

    def push(self, stamp: int, sample: Floats) -> Stamped:
        """Take a (c,) sample; return those that need not wait any longer, the oldest first."""
        before = self.flush() if self._jumps_back(stamp) else []
        if self._end == len(self._stamps):
            self._move_to_front()
        self._insert(stamp, sample)
        kept = self._stamps[self._begin : self._end]
        count = int(np.searchsorted(kept, int(kept[-1]) - self._span, side='right'))
        return before + self._give(max(count, len(kept) - self._most))

    def flush(self) -> Stamped:
        """Return all that is kept, the oldest first."""
        return self._give(len(self))

    def _jumps_back(self, stamp: int) -> bool:
        return bool(len(self) and stamp <= int(self._stamps[self._end - 1]) - JUMP_BACK_NS)

    def _give(self, count: int) -> Stamped:
        begin = self._begin
        self._begin = begin + count
        stamps = self._stamps[begin : self._begin].tolist()
        return list(zip(stamps, self._samples[begin : self._begin].copy(), strict=True))

    def _insert(self, stamp: int, sample: Floats) -> None:
        end = self._end
        place = end
        if end > self._begin and stamp < self._stamps[end - 1]:
            kept = self._stamps[self._begin : end]
            place = self._begin + int(np.searchsorted(kept, stamp, side='right'))
            self._stamps[place + 1 : end + 1] = self._stamps[place:end].copy()
            self._samples[place + 1 : end + 1] = self._samples[place:end].copy()
        self._stamps[place] = stamp
        self._samples[place] = sample
        self._end = end + 1

    def _move_to_front(self) -> None:
        count = len(self)
        self._stamps[:count] = self._stamps[self._begin : self._end].copy()
        self._samples[:count] = self._samples[self._begin : self._end].copy()
        self._begin, self._end = 0, count


@shared
def hold_until(
    clock: Ints,
    held: Floats,
    integral: Floats,
    stamp: int,
    period: int,
    means: Floats,
    ends: Ints,
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


@allocating
def _average_all(stamps: Ints, samples: Floats, period: int, means: Floats, ends: Ints) -> None:
    clock = np.empty(2, dtype=np.int64)
    clock[0] = stamps[0]
    clock[1] = stamps[0] + period
    held = samples[0].copy()
    integral = np.zeros_like(held)
    count = 0
    for i in range(1, stamps.size):
        count += hold_until(clock, held, integral, stamps[i], period, means[count:], ends[count:])
        # One by one: numba takes two seconds longer to compile the assignment of a row.
        for c in range(held.size):
            held[c] = samples[i, c]


def average_ticks(stamps: Ints, samples: Floats, period_ns: int) -> tuple[Ints, Floats]:
    """
    Average finite (N, c) samples without gaps over ticks: their ends (T,), ns, and means (T, c).

    The (N,) stamps, ns, increase strictly; the first tick starts at the first one.
    """
    count = int((stamps[-1] - stamps[0]) // period_ns) if len(stamps) else 0
    means = np.empty((count, samples.shape[1]))
    ends = np.empty(count, dtype=np.int64)
    if count:
        _average_all(stamps, np.ascontiguousarray(samples), period_ns, means, ends)
    return ends, means


class TickAverager:
    """
    Average a live stream of (c,) samples over ticks.

    ``max_gap_ns``, the longest step between samples, bounds the ticks that one sample can end.
    """

    def __init__(self, channels: int, period_ns: int, max_gap_ns: int) -> None:
        self._period = period_ns
        self._clock = np.zeros(2, dtype=np.int64)
        self._held = np.zeros(channels)
        self._integral = np.zeros(channels)
        most = max_gap_ns // period_ns + 2
        self._means = np.zeros((most, channels))
        self._ends = np.zeros(most, dtype=np.int64)

    @property
    def tick_began(self) -> int:
        """Stamp at which the running tick started, ns."""
        return int(self._clock[1]) - self._period

    def start(self, stamp: int, sample: Floats) -> None:
        """Restart the grid of ticks at this sample."""
        self._clock[0] = stamp
        self._clock[1] = stamp + self._period
        self._integral[:] = 0.0
        self._held[:] = sample

    def push(self, stamp: int, sample: Floats) -> tuple[int, Ints, Floats]:
        """Return how many ticks ended; ends and means (>= count, c), valid until the next call."""
        count = hold_until(
            self._clock, self._held, self._integral, stamp, self._period, self._means, self._ends
        )
        self._held[:] = sample
        return count, self._ends, self._means
