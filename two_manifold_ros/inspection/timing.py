# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate, jitter, gaps and wrong stamps of a stream, and the type of a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.recordings.recording import usual_gap_ns
from two_manifold_ros.ticks.segments import holes
from two_manifold_ros.ticks.stamps import judge_stamps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from two_manifold_ros.typing import Bools, Ints


@dataclass(frozen=True)
class Stretch:
    """A stretch of time: its start, seconds from the first IMU stamp, and its length."""

    start_s: float
    length_s: float

    def __str__(self) -> str:
        return f'{self.length_s:.2f} s from {self.start_s:.1f} s on'


def listed(stretches: Sequence[Stretch], most: int = 5) -> str:
    """Return the longest few as words, in the order of time."""
    longest = sorted(stretches, key=lambda stretch: -stretch.length_s)[:most]
    text = ', '.join(str(each) for each in sorted(longest, key=lambda each: each.start_s))
    more = len(stretches) - len(longest)
    return f'{text} and {more} shorter' if more else text


def counted(count: int, one: str, several: str) -> str:
    """Return a count with the words for one or for several."""
    return f'{count} {one if count == 1 else several}'


def some(count: int, one: str, several: str) -> str:
    """Return `counted`, and nothing for none."""
    return counted(count, one, several) if count else ''


Severity: TypeAlias = Literal['info', 'warning']


@dataclass(frozen=True)
class Finding:
    """
    A stable code for machines, and a sentence: what was found and what to do about it.

    Sentences read ``cause: cure.`` or ``cause: effect; cure.``
    """

    severity: Severity
    code: str
    sentence: str

    @property
    def cause(self) -> str:
        """What was found, in small letters unless it begins with a name."""
        cause = self.sentence.rpartition(': ')[0]
        return cause[0].lower() + cause[1:] if cause[1].islower() else cause

    @property
    def cure(self) -> str:
        """What to do about it."""
        return self.sentence.rpartition(': ')[2].rpartition('; ')[2].rstrip('.')


INFO = frozenset({
    'duplicates', 'uneven', 'imu_mounting', 'laps_not_counted', 'standing', 'gyroscope_unclear',
    'yaw_reversed', 'offset_unknown',
})  # fmt: skip
"""Codes, or their ends, of findings that cannot spoil a model; the others are warnings."""


def findings_of(
    words: Mapping[str, str], holds: Mapping[str, object], prefix: str = '', **numbers: object
) -> Iterator[Finding]:
    """
    Yield a finding for each code that holds, by a table of sentences.

    A sentence has the numbers by name and, as ``{0}``, what holds. A code gets the prefix.
    """
    for code, found in holds.items():
        if found:
            severity: Severity = 'info' if code in INFO else 'warning'
            yield Finding(severity, prefix + code, words[code].format(found, **numbers))


@dataclass(frozen=True)
class Timing:
    """
    Rate, jitter and faults of the stamps of one stream.

    Start and duration are of the stamps that count, the start in seconds from the first IMU stamp.
    The rate is one over the median interval, 0 without one; the jitter the standard deviation of
    the intervals and the 99 % quantile of their distance from the median, gaps left out. Gaps are
    intervals above ``gap_s``, see `usual_gap_ns`, by which training judges the stamps as well,
    between stamps that are later than all before them; of positions those across which training
    does not interpolate, see `holes`. ``duplicates``, ``backward`` and ``zero`` stamps are equal
    to the one before, less, and zero or negative; from ``wild`` ones no other goes on, and they
    are none of these. Stamps ``apart`` are of parts at the same time as other parts, which hold
    more: they count for nothing else here.
    """

    count: int
    start_s: float
    duration_s: float
    rate_hz: float
    jitter_std_s: float
    jitter_p99_s: float
    gaps: tuple[Stretch, ...]
    gap_s: float
    duplicates: int
    backward: int
    zero: int
    wild: int = 0
    apart: int = 0


def measure_timing(stamps: Ints, origin_ns: int, *, interpolated: bool = False) -> Timing:
    """
    Measure the stamps (N,) of a stream, nanoseconds, in the order received.

    Times are from the origin on. A stream that is ``interpolated``, as positions are, has gaps
    where training leaves `holes`.
    """
    gap_ns = usual_gap_ns(stamps)
    judged = judge_stamps(stamps, gap_ns)
    course = judged.main_course()
    # Late stamps and copies say how even the stream is, those of other times do not.
    wild = np.append(judged.kept[: judged.first_is_alone], judged.wild)
    present = stamps > 0
    present[wild] = False
    present[judged.kept] = course[judged.kept]
    used = stamps[present]
    # A zero stamp is no step, back to zero and forth again.
    steps = np.diff(np.delete(stamps, np.append(wild, np.flatnonzero(stamps <= 0))))
    earliest, latest = (used.min(), used.max()) if len(used) else (origin_ns, origin_ns)
    intervals = np.diff(used)
    intervals = intervals[intervals > 0] / 1e9
    median = float(np.median(intervals)) if len(intervals) else 0.0
    regular = intervals[intervals <= gap_ns / 1e9]
    # From a late stamp to the next one it is as long as it was late, and nothing is missing.
    ordered = stamps[course]
    later = np.diff(ordered)
    is_gap = holes(later) if interpolated and len(later) else later > gap_ns
    starts, lengths = (ordered[:-1][is_gap] - origin_ns) / 1e9, later[is_gap] / 1e9
    return Timing(
        count=len(stamps),
        start_s=float(earliest - origin_ns) / 1e9,
        duration_s=float(latest - earliest) / 1e9,
        rate_hz=1 / median if median else 0.0,
        jitter_std_s=float(regular.std()) if len(regular) else 0.0,
        jitter_p99_s=float(np.quantile(abs(regular - median), 0.99)) if len(regular) else 0.0,
        gaps=tuple(map(Stretch, starts.tolist(), lengths.tolist())),
        gap_s=gap_ns / 1e9,
        duplicates=int((steps == 0).sum()),
        backward=int((steps < 0).sum()),
        zero=int((stamps <= 0).sum()),
        wild=len(wild),
        apart=len(judged.kept) + len(judged.wild) - len(wild) - int(course.sum()),
    )


def advancing(stamps: Ints, counted: Bools | None = None) -> Bools:
    """Return a mask (N,) of the stamps that are later than all before them, wild ones left out."""
    return judge_stamps(stamps, usual_gap_ns(stamps)).main_course(counted)


STAMP_WORDS = {
    'gaps': '{word} messages have {0}, {gaps}: {in_gaps}; look for a slow disk or network if they '
    'are many.',
    'backward': '{0} back in time: late messages are {late}, and a larger step back starts a new '
    'part{parts}; check that no clock was set and no bag looped while recording.',
    'wild': '{0} far from all others, and no later stamp follows them: these messages are left '
    'out; check what stamps them if there are many.',
    'zero': '{0} zero or negative: these messages are left out; have the driver stamp them, or '
    'try --use-receive-time.',
    'duplicates': '{0} the one before: the repetitions are left out; check the driver if there '
    'are many.',
    'uneven': '{word} stamps are uneven, 1 % of the intervals are off by more than {0:.0f} ms: '
    'averaging over ticks deals with it; stamp in the driver rather than on arrival if you can.',
}


def timing_findings(word: str, timing: Timing, in_gaps: str, late: str) -> Iterator[Finding]:
    """Yield findings about the stamps of a stream by its word, and what training does to them."""
    stamp, stamps = f'{word} stamp', f'{word} stamps'
    parts = f', of which those with {timing.apart} messages are not measured here'
    holds = {
        'gaps': some(len(timing.gaps), 'gap', 'gaps'),
        'backward': some(timing.backward, f'{stamp} goes', f'{stamps} go'),
        'wild': some(timing.wild, f'{stamp} is', f'{stamps} are'),
        'zero': some(timing.zero, f'{stamp} is', f'{stamps} are'),
        'duplicates': some(timing.duplicates, f'{stamp} repeats', f'{stamps} repeat'),
        'uneven': timing.jitter_p99_s * timing.rate_hz > 0.5 and 1e3 * timing.jitter_p99_s,
    }
    yield from findings_of(
        STAMP_WORDS, holds, f'{word.lower()}_', word=word, gaps=listed(timing.gaps),
        in_gaps=in_gaps, late=late, parts=parts if timing.apart else '',
    )  # fmt: skip
