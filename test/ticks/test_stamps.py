# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Judge, hold back and sort stamps."""

from collections import Counter
import itertools

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.ticks.stamps import (
    average_ticks,
    judge_stamps,
    JUMP_BACK_NS,
    MOST_LATE,
    StampGate,
    USED,
    Verdict,
)
from two_manifold_ros.typing import Floats, Ints

NOW = 1_700_000_000_000_000_000
MAX_GAP_NS = 200_000_000


def judged(*stamps: int) -> list[Verdict]:
    """Judge stamps with a fresh gate that holds back no step forward."""
    gate, verdicts = StampGate[int](MAX_GAP_NS, 10**20), []
    for stamp in stamps:
        # One that goes back waits, and passes with the next of its time.
        found = gate.push(stamp, stamp) or gate.push(stamp + 1, 0)[:1]
        verdicts += [verdict for verdict, *_ in found]
    return verdicts


@pytest.mark.parametrize(
    ('step', 'verdict'),
    [
        (1, Verdict.ACCEPT), (MAX_GAP_NS, Verdict.ACCEPT), (MAX_GAP_NS + 1, Verdict.GAP),
        (0, Verdict.DUPLICATE), (-1, Verdict.OUT_OF_ORDER),
        (1 - JUMP_BACK_NS, Verdict.OUT_OF_ORDER), (-JUMP_BACK_NS, Verdict.JUMP_BACK),
        (-NOW // 2, Verdict.JUMP_BACK), (-NOW, Verdict.ZERO), (-NOW - 5, Verdict.ZERO),
    ],
)  # fmt: skip
def test_a_step_from_the_newest_stamp(step, verdict):
    assert judged(NOW, NOW + step) == [Verdict.START, verdict]


def test_a_gap_and_a_jump_back_become_the_newest_and_a_dropped_stamp_does_not():
    for dropped in (NOW, NOW - 1, 0, -3):
        assert judged(NOW, dropped, NOW + MAX_GAP_NS)[-1] is Verdict.ACCEPT
    for jump in (-JUMP_BACK_NS, MAX_GAP_NS + 1):
        assert judged(NOW, NOW + jump, NOW + jump + 2)[-1] is Verdict.ACCEPT
        assert judged(NOW, NOW + jump, NOW + jump)[-1] in {Verdict.DUPLICATE, Verdict.OUT_OF_ORDER}


def stream(begin: int, end: int) -> list[int]:
    """Return stamps of 100 Hz, in milliseconds from now."""
    return [NOW + each * 1_000_000 for each in range(begin, end, 10)]


def test_a_clock_that_was_set_back_by_little_is_a_gap_of_as_much():
    gate = StampGate[int](MAX_GAP_NS, 10**20)
    stamps = [*stream(0, 1000), *stream(700, 1010)]
    verdicts = [verdict for stamp in stamps for verdict, *_ in gate.push(stamp, stamp)]
    assert verdicts[100:130] == [Verdict.OUT_OF_ORDER] * 29 + [Verdict.DUPLICATE]
    assert verdicts[130] is Verdict.GAP
    assert gate.aside_ns == 300_000_000


@pytest.mark.parametrize('late', [stream(800, 1000), stream(520, 700), stream(520, 760)])
def test_what_is_only_late_is_no_gap(late):
    verdicts = judged(*stream(0, 1000), *late, *stream(1000, 1020))
    assert verdicts[-2:] == [Verdict.ACCEPT] * 2


STEP = 10_000_000
HOUR = 3600 * 10**9
FAR = [HOUR, -HOUR, MAX_GAP_NS + STEP + 1, -JUMP_BACK_NS, 1 - NOW, 9 * 10**18 - NOW]


def passed(*steps: int) -> tuple[list[int], Counter[str]]:
    """Push stamps given as distances from the first; return those not held back, and the rest."""
    gate, counters = StampGate[int](MAX_GAP_NS), Counter[str]()
    found: list[int] = []
    held = None
    for step in steps:
        judged = gate.push(NOW + step, step)
        held = step if not judged else held
        for verdict, stamp, item in judged:
            assert stamp == NOW + item
            # A copy of what is held back is no witness of it; others are judged later.
            if verdict is Verdict.WILD or (verdict is Verdict.DUPLICATE and item == held):
                counters[verdict.value] += 1
            else:
                found.append(item)
    assert len(steps) == len(found) + counters.total() + gate.waiting
    # What waits at the end was no jump.
    assert all(verdict is not Verdict.GAP for verdict, *_ in gate.drain())
    assert gate.waiting == 0
    return found, counters


UNTIL_NOW = [0, MAX_GAP_NS, MAX_GAP_NS, MAX_GAP_NS - JUMP_BACK_NS + 1, 2 * MAX_GAP_NS]
SLOW = [index * 2 * MAX_GAP_NS for index in range(6)]
TWO_CLOCKS = [part for index in range(20) for part in (index * STEP, HOUR + index * STEP)]


@pytest.mark.parametrize(
    ('steps', 'wanted', 'wild'),
    [
        # One wild stamp is dropped and counted.
        *(([0, STEP, far, 2 * STEP, 3 * STEP], [0, STEP, 2 * STEP, 3 * STEP], 1) for far in FAR),
        # A jump is taken with the sample after it.
        *(([0, STEP, far], [0, STEP], 0) for far in FAR[:4]),
        *(([0, STEP, far, far + STEP],) * 2 + (0,) for far in FAR[:4]),
        # What does not jump passes at once.
        *((UNTIL_NOW[:count],) * 2 + (0,) for count in range(1, 6)),
        # An IMU whose every step is a gap is one sample late.
        (SLOW, SLOW[:-1], 0),
        # Two that jump to different times are two jumps.
        ([0, HOUR, -HOUR, STEP], [0, HOUR, -HOUR], 0),
        # A jump may be followed by a late sample of the new time.
        (*([0, HOUR, HOUR - STEP, HOUR + STEP],) * 2, 0),
        # Of two clocks on one topic, an hour apart, the first one wins, the other is wild.
        (TWO_CLOCKS, TWO_CLOCKS[::2], 19),
    ],
)
def test_jumps_and_wild_stamps_are_reported_apart(steps, wanted, wild):
    assert passed(*steps) == (wanted, Counter(wild_stamp=wild) if wild else Counter())


@pytest.mark.parametrize('far', FAR[:2])
def test_copies_late_ones_and_zeros_prove_nothing(far):
    """Neither for the jump nor against it."""
    doubtful = [far, 0, STEP, -STEP, -NOW]
    found, counters = passed(0, STEP, far, *doubtful, 2 * STEP)
    assert found == [0, STEP, *doubtful[1:], 2 * STEP]
    assert counters == Counter(wild_stamp=1, duplicate_stamp=1)
    found, counters = passed(0, STEP, far, *doubtful, far + STEP)
    assert found == [0, STEP, *doubtful[1:], far, far + STEP]
    assert counters == Counter(duplicate_stamp=1)


MS = 1_000_000
SPAN = 50 * MS


def run(stamps: list[int], span: int = SPAN) -> tuple[list[list[int]], list[int], list[int]]:
    """Return the stamps given out with each push, those left in the end, and all in this order."""
    # Nothing jumps but what goes back.
    gate = StampGate[int](10**20, 10**20, span)
    given_out = [[each for _, each, _ in gate.push(stamp, stamp)] for stamp in stamps]
    assert gate.waiting == len(stamps) - sum(map(len, given_out))
    left = [each for _, each, _ in gate.drain()]
    return given_out, left, [*itertools.chain(*given_out), *left]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 50)), max_size=80), st.integers(1, 1000)
)
def test_disorder_within_the_span_is_sorted_like_a_sort(course, scale):
    """Each sample arrives with a delay of at most the span; scale changes nothing."""
    sent = np.cumsum([step for step, _ in course], dtype=np.int64)
    order = np.argsort(sent + [delay for _, delay in course], kind='stable')
    stamps = [NOW + int(stamp) * scale for stamp in sent[order]]
    assert run(stamps, 50 * scale)[2] == sorted(stamps)


@given(st.lists(st.integers(-400, 0), max_size=80))
def test_nothing_is_lost_and_nothing_waits_longer_than_the_span(late):
    stamps = [NOW + (20 * index + each) * MS for index, each in enumerate(late)]
    given_out, _, every = run(stamps)
    assert sorted(every) == sorted(stamps)
    kept: list[int] = []
    for stamp, out in zip(stamps, given_out, strict=True):
        kept.append(stamp)
        for each in out:
            kept.remove(each)
        assert all(max(kept) - each < SPAN for each in kept)


def test_what_goes_back_far_comes_after_all_that_waited_and_memory_is_bounded():
    back = NOW - JUMP_BACK_NS
    stamps = [NOW, NOW + 20 * MS, back, back + 20 * MS]
    assert run(stamps)[2] == stamps
    # A driver at 1 MHz, for longer than that.
    stamps = [NOW + 1000 * index for index in range(3 * MOST_LATE)]
    _, left, every = run(stamps)
    assert every == stamps
    assert len(left) == MOST_LATE


START_NS = 1_700_000_000_123_456_789
PERIOD_NS = 50_000_000
CHANNELS = 6


@st.composite
def streams(draw: st.DrawFn) -> tuple[Ints, Floats]:
    """Draw jittered samples whose rate is far above, near, or below the rate of the ticks."""
    usual = draw(st.sampled_from([1_000_000, 10_000_000, PERIOD_NS, 120_000_000]))
    step = st.just(usual) | st.integers(1, 2 * usual)
    step |= st.sampled_from([1, PERIOD_NS, 2 * PERIOD_NS, 8 * PERIOD_NS])
    steps = draw(st.lists(step, min_size=1, max_size=60))
    stamps = START_NS + np.cumsum([0, *steps], dtype=np.int64)
    seed = draw(st.integers(0, 2**32 - 1))
    samples = np.random.default_rng(seed).normal(scale=5.0, size=(len(stamps), CHANNELS))
    return stamps, samples


def naive_ticks(stamps: Ints, samples: Floats) -> tuple[list[int], list[Floats]]:
    """Integrate the held sample over each whole tick, piece by piece."""
    ends = range(int(stamps[0]) + PERIOD_NS, int(stamps[-1]) + 1, PERIOD_NS)
    means = []
    for end in ends:
        edges = np.clip(stamps, end - PERIOD_NS, end)
        means.append(np.diff(edges) @ samples[:-1] / PERIOD_NS)
    return list(ends), means


@given(streams())
def test_a_tick_is_the_mean_of_what_was_held(stream):
    ends, means = average_ticks(*stream, PERIOD_NS)
    naive_ends, naive_means = naive_ticks(*stream)
    np.testing.assert_allclose(means, np.reshape(naive_means, means.shape), atol=1e-12)
    assert ends.tolist() == naive_ends
    # Fewer than two samples make no tick.
    for count in (0, 1):
        ends, means = average_ticks(stream[0][:count], stream[1][:count], PERIOD_NS)
        assert (ends.shape, means.shape) == ((0,), (0, CHANNELS))


STEPS_NS = st.sampled_from(
    [MAX_GAP_NS // 5] * 8 + [MAX_GAP_NS + 1] + [MAX_GAP_NS * each for each in (0, 1, -1, 50, -50)]
    + [-MAX_GAP_NS // 5]
)  # fmt: skip


@given(st.lists(STEPS_NS, max_size=40), st.sets(st.integers(0, 40)))
def test_a_whole_stream_is_judged_as_a_live_one(steps, zeros):
    stamps = 10**15 + np.cumsum([0, *steps])
    stamps[[each for each in zeros if each < len(stamps)]] = 0
    whole, gate = judge_stamps(stamps, MAX_GAP_NS), StampGate[int](MAX_GAP_NS)
    judged = [found for i, each in enumerate(stamps.tolist()) for found in gate.push(each, i)]
    judged += gate.drain()
    used = [(verdict, place) for verdict, _, place in judged if verdict in USED]
    begins = [i for i, (verdict, _) in enumerate(used) if verdict is not Verdict.ACCEPT]
    assert whole.kept.tolist() == [place for _, place in used]
    assert whole.begins.tolist() == begins
    assert whole.counts == Counter(verdict.value for verdict, *_ in judged)
    wild = [place for verdict, _, place in judged if verdict is Verdict.WILD]
    assert sorted(whole.wild) == wild


@given(st.lists(STEPS_NS, max_size=12))
def test_the_main_course_is_the_one_that_holds_most(steps):
    stamps = 10**15 + np.cumsum([0, *steps])
    whole = judge_stamps(stamps, MAX_GAP_NS)
    course = whole.main_course()
    assert (np.diff(stamps[course]) > 0).all()
    parts = np.split(whole.kept, whole.begins[1:])
    if len(parts) > 1 and len(parts[0]) == 1:
        assert whole.first_is_alone
        assert not course[parts[0]].any()
        parts = parts[1:]
    best = 0
    for chosen in itertools.product([False, True], repeat=len(parts)):
        places = [part for part, taken in zip(parts, chosen, strict=True) if taken]
        together = stamps[np.concatenate(places)] if places else stamps[:0]
        if (np.diff(together) > 0).all():
            best = max(best, len(together))
    assert course.sum() == best
