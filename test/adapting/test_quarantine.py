# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is set aside, dropped and learned after all."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.adapting.quarantine import Quarantine, Verdict
from two_manifold_ros.adapting.window_delay import Sample
from two_manifold_ros.adapting.witness import Witness

WINDOW, LASTING = 4, 20


class Gate:
    """A quarantine with a stream of samples that are told apart by their numbers."""

    def __init__(self, weight: float = 1.0) -> None:
        self.quarantine = Quarantine(WINDOW, LASTING)
        self.witness = Witness(10.0)
        self.witness.weight = weight
        self.tick = 0
        self.calm = 0
        self.learned: list[int] = []

    def run(self, ticks: int, *, strange: bool = False, **kinds: bool) -> list[Verdict]:
        """Push ticks; learn what may be learned after each."""
        verdicts = []
        for _ in range(ticks):
            self.calm = 0 if strange else self.calm + 1
            verdicts.append(
                self.quarantine.judge(
                    suspicious=strange,
                    calm_for=self.calm,
                    faulty=kinds.get('faulty', False),
                    resting=kinds.get('resting', False),
                    witness=self.witness,
                )
            )
            if verdicts[-1] not in {Verdict.DROP, Verdict.REST}:
                mark = np.array([float(self.tick)])
                self.quarantine.push(Sample(mark, mark, mark, mark))
            self.tick += 1
            while (sample := self.quarantine.pop(WINDOW)) is not None:
                self.learned.append(int(sample.test[0]))
        return verdicts


def test_samples_wait_for_a_window() -> None:
    gate = Gate()
    assert set(gate.run(10)) == {Verdict.LEARN}
    assert gate.learned == [0, 1, 2, 3, 4, 5]


def test_a_short_suspicion_leaves_no_trace() -> None:
    gate = Gate()
    gate.run(10)
    verdicts = gate.run(5, strange=True) + gate.run(10)
    assert verdicts == [Verdict.HOLD] * 14 + [Verdict.DROP]
    gate.run(10)
    # The last four before it are dropped as well: their futures may be part of it.
    assert gate.learned == [0, 1, 2, 3, 4, 5, 25, 26, 27, 28, 29, 30]
    assert gate.quarantine.dropped == 4 + 14


def test_a_lasting_one_is_learned_but_for_what_reaches_into_it() -> None:
    gate = Gate()
    gate.run(10)
    verdicts = gate.run(LASTING, strange=True)
    assert verdicts == [Verdict.HOLD] * (LASTING - 1) + [Verdict.ACCEPT]
    assert gate.learned == [0, 1, 2, 3, 4, 5, *range(10, 10 + LASTING - WINDOW)]


def test_some_calm_seconds_do_not_end_it() -> None:
    gate = Gate()
    gate.run(10)
    verdicts = gate.run(8, strange=True) + gate.run(9) + gate.run(5, strange=True)
    assert verdicts[-3] is Verdict.ACCEPT


@pytest.mark.parametrize(('weight', 'needed'), [(1.0 / 3.0, 60), (0.0, None)])
def test_it_takes_longer_without_a_witness_and_for_ever_while_standing(
    weight: float, needed: int | None
) -> None:
    gate = Gate(weight)
    verdicts = gate.run(100, strange=True)
    first = verdicts.index(Verdict.ACCEPT) + 1 if Verdict.ACCEPT in verdicts else None
    assert first is None if needed is None else abs(first - needed) <= 1
    assert gate.quarantine.waiting <= WINDOW + 3 * LASTING


def test_what_is_faulty_is_never_learned_and_proves_nothing() -> None:
    gate = Gate()
    gate.run(10)
    assert set(gate.run(100, faulty=True)) == {Verdict.HOLD}
    gate.run(LASTING - 1, strange=True)
    assert gate.learned == [0, 1, 2, 3, 4, 5]
    gate.run(30)
    assert min(gate.learned[6:]) > 110


def test_a_vehicle_that_stands_is_left_alone() -> None:
    gate = Gate()
    assert set(gate.run(10, resting=True)) == {Verdict.REST}
    assert gate.learned == []


def test_a_seam_ends_a_suspicion() -> None:
    gate = Gate()
    gate.run(10)
    gate.run(5, strange=True)
    assert gate.quarantine.end() is Verdict.DROP
    assert gate.quarantine.end() is Verdict.LEARN
    assert gate.quarantine.waiting == 0
