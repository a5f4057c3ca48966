# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Before the filter takes a sample: live streams and recordings follow one rule for stamps."""

from __future__ import annotations

from collections import Counter
import itertools
import os
from pathlib import Path
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from two_manifold_ros.recordings.recording import ImuStream, Recording
from two_manifold_ros.ticks.segments import cut_segments
from two_manifold_ros.ticks.stamps import StampGate, TickAverager, USED, Verdict

NOW = 1_700_000_000_000_000_000


MS = 1_000_000


PERIOD = 50 * MS


MAX_GAP = 200 * MS


SPAN = 40 * MS


STEPS = st.lists(
    st.integers(1, 20)
    | st.sampled_from([0, -1, -30, -499, -500, -501, 200, 201, 800, -3000, 3_600_000]),
    max_size=80,
)


WILD = st.lists(st.sampled_from([0, 0, 0, 0, 0, 0, 0, 4000, -4000, -(10**12) * 2, 7]), max_size=80)


class Live:
    """Samples through a gate into ticks, as the filter does it."""

    def __init__(self, reorder_ns: int = 0) -> None:
        self.gate: StampGate[float] = StampGate(MAX_GAP, reorder_ns=reorder_ns)
        self.counters: Counter[str] = Counter()
        self.used: list[tuple[Verdict, int, float]] = []
        self.stretches: list[list[tuple[int, float]]] = []
        self._averager = TickAverager(1, PERIOD, MAX_GAP)

    def push(self, stamp: int, value: float) -> None:
        for judged in self.gate.push(stamp, value):
            self._use(*judged)

    def end(self) -> None:
        for judged in self.gate.drain():
            self._use(*judged)

    def _use(self, verdict: Verdict, stamp: int, value: float) -> None:
        if verdict not in USED:
            self.counters[verdict.value] += 1
            return
        self.used.append((verdict, stamp, value))
        sample = np.array([value])
        if verdict is not Verdict.ACCEPT:
            self._averager.start(stamp, sample)
            self.stretches.append([])
            return
        count, ends, means = self._averager.push(stamp, sample)
        self.stretches[-1] += zip(ends[:count].tolist(), means[:count, 0].tolist(), strict=True)


def stamps_of(steps: list[int], wild: list[int]) -> list[int]:
    """Return a course in milliseconds as stamps, some of them far from where they belong."""
    course = itertools.accumulate(steps)
    away = itertools.chain(wild, itertools.repeat(0))
    return [max(0, NOW + (step + off) * MS) for step, off in zip(course, away, strict=False)]


@given(STEPS, WILD)
def test_a_live_stream_and_a_recording_give_the_same_ticks(
    steps: list[int], wild: list[int]
) -> None:
    stamps = stamps_of(steps, wild)
    live = Live()
    for index, stamp in enumerate(stamps):
        live.push(stamp, float(index))
    live.end()
    samples = np.tile(np.arange(float(len(stamps)))[:, None], (1, 6))
    array = np.array(stamps, dtype=np.int64)
    recording = Recording('any', ImuStream('/imu', '', array, samples, array), None)
    segments, counts = cut_segments(recording, PERIOD, MAX_GAP)
    found = [each for each in live.stretches if each]
    wanted = [
        list(zip(each.stamps.tolist(), each.values[:, 0].tolist(), strict=True))
        for each in segments
    ]
    assert found == wanted
    assert len(live.used) == counts['used']
    for cause in ('zero_stamp', 'duplicate_stamp', 'out_of_order', 'wild_stamp'):
        assert live.counters[cause] == counts[cause]


@given(STEPS, WILD, st.sampled_from([0, SPAN]))
def test_every_sample_is_used_refused_or_waiting(
    steps: list[int], wild: list[int], reorder_ns: int
) -> None:
    live = Live(reorder_ns)
    for index, stamp in enumerate(stamps_of(steps, wild), start=1):
        live.push(stamp, 0.0)
        assert index == len(live.used) + live.counters.total() + live.gate.waiting
    live.end()
    assert live.gate.waiting == 0
    for stretch in live.stretches:
        assert all(
            after - before == PERIOD for (before, _), (after, _) in itertools.pairwise(stretch)
        )


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40)), min_size=1, max_size=60),
    st.integers(1, 59),
)
def test_disorder_within_the_span_changes_nothing(
    course: list[tuple[int, int]], wild_at: int
) -> None:
    """Not even with a wild stamp in between."""
    sent = list(itertools.accumulate(step for step, _ in course))
    order = np.argsort([at + delay for at, (_, delay) in zip(sent, course, strict=True)])
    ordered, mixed = Live(), Live(SPAN)
    for index, at in enumerate(sent):
        ordered.push(NOW + at * MS, float(index))
    for count, index in enumerate(order.tolist()):
        mixed.push(NOW + sent[index] * MS, float(index))
        if count == wild_at:
            mixed.push(NOW + 10**15, -1.0)
    ordered.end()
    mixed.end()
    assert mixed.used == ordered.used
    assert mixed.counters == Counter(wild_stamp=int(wild_at < len(course)))


RUN = """
import numpy as np
from two_manifold_ros.filtering.filter import _find_fault, is_compiled
before = is_compiled()
_find_fault(np.zeros(1), np.zeros(1), np.zeros(1))
print(before, is_compiled())
"""


def test_whether_a_filter_has_to_be_compiled(tmp_path: Path) -> None:
    checkout = str(Path(__file__).resolve().parents[2])
    given = {**os.environ, 'PYTHONPATH': checkout, 'TWO_MANIFOLD_CACHE': str(tmp_path)}
    done = subprocess.run([sys.executable, '-c', RUN], env=given, capture_output=True, check=True)
    assert done.stdout.split() == [b'False', b'True']
