# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an adapting tracker learns and what not, with the slot car."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learned_drive import LEARNED, learned_filter, make_run, push, rms_error, SETTINGS
import numpy as np
import pytest

from two_manifold_ros.adapting.adapting_head import make_head
from two_manifold_ros.adapting.snapshot import snapshot
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter

RATE = int(SETTINGS.rate_hz)
WINDOW = SETTINGS.window


def spy(adaptive: AdaptiveFilter, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list that will hold the observation features of what is learned."""
    learner, learned = adaptive.tracker.learning.learner, []
    add = learner.add

    def heard(test: object, next_test: object, history: object, observation: np.ndarray) -> object:
        learned.append(observation.tobytes())
        return add(test, next_test, history, observation)

    monkeypatch.setattr(learner, 'add', heard)
    return learned


def stuck(_: int, sample: np.ndarray) -> np.ndarray:
    return np.array([0.3, 1.0, 9.8, 0.0, 0.0, 1.5]) + 0.0 * sample


def one_stuck(_: int, sample: np.ndarray) -> np.ndarray:
    sample[5] = 0.4
    return sample


def lifted(index: int, sample: np.ndarray) -> np.ndarray:
    phase = 0.3 * index
    return sample + np.array([3.0, 4.0, -5.0, 1.0, 2.0, 0.0]) * np.sin(phase + np.arange(6))


@pytest.mark.parametrize(
    ('fault', 'seconds'), [(stuck, 10), (one_stuck, 10), (lifted, 2)], ids=['all', 'one', 'lifted']
)
def test_a_faulty_stretch_leaves_no_trace(
    fault: Callable[[int, np.ndarray], np.ndarray], seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    adaptive = learned_filter()
    learned, tracker = spy(adaptive, monkeypatch), adaptive.tracker
    first = tracker.number + 1
    numbers: dict[bytes, int] = {}
    until = LEARNED + seconds * RATE
    for index in range(LEARNED, until + 17 * RATE):
        push(adaptive, index, index + 1, change=fault if index < until else None)
        numbers[tracker.locating.ticks.part(tracker.number, tracker.number + 1)[1].tobytes()] = (
            tracker.number
        )
    ticks = np.array([numbers[each] for each in learned if each in numbers])
    # A sample reaches from one window before its tick to one after it.
    touching = (ticks + WINDOW >= first) & (ticks - WINDOW < first + seconds * RATE)
    assert not touching.any()
    assert tracker.counters['changes'] == 0
    assert tracker.counters['quarantined'] > 0
    assert (ticks > first + seconds * RATE).any()  # and then it goes on learning
    after = push(adaptive, until + 17 * RATE, until + 20 * RATE)
    assert rms_error(after) < 0.6


def test_a_change_that_lasts_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    adaptive = learned_filter()
    learned = spy(adaptive, monkeypatch)

    def turned_by_60_degrees(_: int, sample: np.ndarray) -> np.ndarray:
        sample[:2] = np.array([[0.5, -(0.75**0.5)], [0.75**0.5, 0.5]]) @ sample[:2]
        return sample

    push(adaptive, LEARNED, LEARNED + 30 * RATE, change=turned_by_60_degrees)
    assert adaptive.tracker.counters['changes'] == 1
    assert len(learned) > 20 * RATE
    assert adaptive.tracker.counters['turns'] == 0
    later = push(adaptive, LEARNED + 30 * RATE, LEARNED + 39 * RATE, change=turned_by_60_degrees)
    assert rms_error(later) < 0.8


def test_reversed_signs_are_put_right_and_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    adaptive = learned_filter()
    tracker = adaptive.tracker
    usual = rms_error(push(learned_filter(), LEARNED + 10 * RATE, LEARNED + 30 * RATE))

    def about_z(_: int, sample: np.ndarray) -> np.ndarray:
        return sample * np.array([-1.0, -1.0, 1.0, -1.0, -1.0, 1.0])

    learned = spy(adaptive, monkeypatch)
    push(adaptive, LEARNED, LEARNED + 10 * RATE, change=about_z)
    assert tracker.counters['turns'] == 1
    assert tracker.counters['changes'] == 0
    assert len(tracker.turned_names) == 4
    assert len(learned) < WINDOW + 3 * RATE
    frozen = Filter(snapshot(tracker, make_head(SETTINGS)))
    later = push(adaptive, LEARNED + 10 * RATE, LEARNED + 30 * RATE, change=about_z)
    assert rms_error(later) < 1.5 * usual
    run, told = make_run(), []
    for index in range(LEARNED + 10 * RATE, LEARNED + 30 * RATE):
        told += frozen.push(int(run.stamps_ns[index]), about_z(index, run.imu[index].copy()))
    assert rms_error(told) < 1.5 * usual
    push(adaptive, LEARNED + 30 * RATE, LEARNED + 39 * RATE)
    assert tracker.counters['turns'] == 2
    assert tracker.turned_names == ()


def test_the_filter_refuses_values_that_are_no_numbers() -> None:
    adaptive = learned_filter()
    samples = adaptive.tracker.counters['learned']
    push(adaptive, LEARNED, LEARNED + 50, change=lambda _, sample: np.nan * sample)
    assert adaptive.filter.counters['non_finite'] == 50
    assert adaptive.tracker.counters['learned'] == samples


def test_values_out_of_range_are_no_samples() -> None:
    adaptive = learned_filter()
    samples = adaptive.tracker.counters['learned']
    estimates = push(adaptive, LEARNED, LEARNED + 50, change=lambda _, sample: 1e6 + sample)
    assert adaptive.tracker.counters['learned'] <= samples + 1
    assert not estimates[-1].valid
    assert np.isfinite(estimates[-1].state).all()


def test_a_vehicle_that_stands_is_not_learned() -> None:
    adaptive = learned_filter()
    rng = np.random.default_rng(0)

    def standing(_: int, sample: np.ndarray) -> np.ndarray:
        return np.array([0.0, 0.0, 9.8, 0.0, 0.0, 0.0]) + 0.01 * rng.normal(size=6) + 0.0 * sample

    push(adaptive, LEARNED, LEARNED + 4 * WINDOW, change=standing)
    tracker = adaptive.tracker
    push(adaptive, LEARNED + 4 * WINDOW, LEARNED + 8 * WINDOW, change=standing)
    weight = tracker.learning.learner.weight
    gram = tracker.locating.learning.sums.gram.copy()
    changes = tracker.counters['changes']
    push(adaptive, LEARNED + 8 * WINDOW, LEARNED + 700, change=standing)
    assert tracker.learning.learner.weight == weight
    # The bases did not move either, so the read-out is what it was.
    np.testing.assert_array_equal(tracker.locating.learning.sums.gram, gram)
    assert tracker.counters['changes'] == changes


def test_the_state_moves_with_the_bases_without_a_jump(monkeypatch: pytest.MonkeyPatch) -> None:
    adaptive = learned_filter()
    tracker = adaptive.tracker
    jumps = []
    adopt = type(tracker)._adopt

    def watched(self: object, learning: object, move: object) -> None:
        reading = tracker.locating.learning
        before = reading.readout.coefficients @ np.append(tracker.belief.state, 1.0)
        adopt(self, learning, move)
        after = reading.readout.coefficients @ np.append(tracker.belief.state, 1.0)
        jumps.append(np.abs(after - before)[:-1].max())

    monkeypatch.setattr(type(tracker), '_adopt', watched)
    push(adaptive, LEARNED, LEARNED + 200)
    assert len(jumps) >= 4
    assert max(jumps) < 0.25
    assert tracker.angle > 0.0
    assert (np.diff(tracker.values) <= 0.0).all()
