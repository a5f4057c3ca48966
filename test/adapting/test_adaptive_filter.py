# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The adaptive filter as a whole: samples and reference positions in, estimates out."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from learned_drive import LEARNED, learned_filter, make_run, push, rms_error, SETTINGS
import numpy as np
import pytest

from two_manifold_ros.adapting import adaptive_tracker
from two_manifold_ros.adapting.adapting_head import head_after, make_head
from two_manifold_ros.adapting.adaptive_filter import AdaptiveFilter
from two_manifold_ros.adapting.learning_budget import LearningBudget
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.tpsr.learner import OnlineLearner


def test_it_begins_to_tell_positions_and_they_are_right() -> None:
    adaptive = learned_filter()
    estimates = push(adaptive, LEARNED, LEARNED + 400)
    spread = np.sqrt(make_run().positions[:, :2].var(axis=0).sum())
    assert sum(each.valid for each in estimates) > 300
    assert rms_error(estimates) < 0.25 * spread
    valid = [each for each in estimates if each.valid]
    assert all(np.linalg.eigvalsh(each.covariances).min() > 0.0 for each in valid)


def test_nothing_is_told_before_enough_was_learned() -> None:
    estimates = push(AdaptiveFilter(make_head(SETTINGS)), 0, 400)
    full = SETTINGS.window - 1
    assert {each.status for each in estimates[:full]} == {Status.FILLING}
    assert {each.status for each in estimates[full:]} == {Status.LOCALISING}
    assert {each.cause for each in estimates[full:]} == {'readout_unproven'}
    assert all(np.isfinite(each.state).all() for each in estimates)


def test_without_a_reference_it_learns_the_dynamics_only() -> None:
    adaptive = AdaptiveFilter(make_head(SETTINGS))
    estimates = push(adaptive, 0, 600, reference=False)
    assert adaptive.tracker.counters['learned'] > 300
    assert not any(each.valid for each in estimates)
    assert np.linalg.norm(estimates[-1].state) > 0.0
    assert estimates[-1].evidence > 0.5


def test_what_was_read_out_stays_when_the_reference_goes() -> None:
    adaptive = learned_filter()
    estimates = push(adaptive, LEARNED, LEARNED + 300, reference=False)
    assert rms_error(estimates) < 0.5


def test_after_a_gap_windows_begin_anew_and_what_was_learned_stays() -> None:
    adaptive = learned_filter()
    samples = adaptive.tracker.counters['learned']
    later = 10 * 10**9
    estimates = push(adaptive, LEARNED, LEARNED + 2 * SETTINGS.window, later_ns=later)
    assert adaptive.filter.counters['gaps'] == 1
    # Only what was complete before and had to wait: nothing from across.
    assert adaptive.tracker.counters['learned'] <= samples + 1
    assert not any(each.valid for each in estimates[: SETTINGS.window - 1])
    estimates = push(adaptive, LEARNED + 2 * SETTINGS.window, LEARNED + 300, later_ns=later)
    assert adaptive.tracker.counters['learned'] > samples + 100
    assert rms_error(estimates, later) < 0.5


def test_a_clock_that_goes_back_is_a_seam_as_well() -> None:
    adaptive = learned_filter()
    samples = adaptive.tracker.counters['learned']
    push(adaptive, LEARNED, LEARNED + 2 * SETTINGS.window, later_ns=-3600 * 10**9)
    assert adaptive.filter.counters['resets'] == 1
    assert adaptive.tracker.counters['learned'] == samples


def test_at_another_rate_of_samples_it_goes_on() -> None:
    adaptive, run = learned_filter(), make_run()
    estimates = []
    for index in range(LEARNED, LEARNED + 300):
        for part in range(4):
            stamp = int(run.stamps_ns[index]) + part * run.settings.period_ns // 4
            estimates += adaptive.push(stamp, run.imu[index])
        adaptive.add_reference(int(run.stamps_ns[index]), *run.positions[index, :2])
    assert rms_error(estimates) < 0.5
    assert adaptive.tracker.counters['changes'] == 0


def test_the_same_stream_gives_the_same_bits() -> None:
    first, second = learned_filter(), learned_filter()
    one, other = (push(each, LEARNED, LEARNED + 100) for each in (first, second))
    assert all(
        np.array_equal(a.positions, b.positions) and np.array_equal(a.covariances, b.covariances)
        for a, b in zip(one, other, strict=True)
    )


def test_a_budget_drops_samples() -> None:
    budget = LearningBudget(0.01, lambda: 0.0)
    adaptive = AdaptiveFilter(make_head(SETTINGS), budget)
    budget.cost_s = 1.0
    push(adaptive, 0, 600)
    assert budget.dropped > 300
    assert adaptive.tracker.counters['learned'] < 5


def test_what_learning_costs_is_paid_from_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning from a sample takes 0.1 s, and there are 0.05 s between two, of which half."""
    processor = [0.0]
    add = OnlineLearner.add

    def slow(*sample: object) -> object:
        processor[0] += 0.1
        return add(*sample)

    monkeypatch.setattr(OnlineLearner, 'add', slow)
    monkeypatch.setattr(adaptive_tracker, 'thread_time', lambda: processor[0])
    budget = LearningBudget(0.5, count(0.0, 0.05).__next__)
    push(AdaptiveFilter(make_head(SETTINGS), budget), 0, 600)
    assert budget.cost_s == pytest.approx(0.1)
    assert budget.dropped == pytest.approx(3 * budget.learned, rel=0.05)


def test_channels_of_a_model_are_taken() -> None:
    channels = replace(learned_filter().tracker.senses.channels, mean=np.arange(6.0))
    head = head_after(replace(make_head(SETTINGS), channels=channels), SETTINGS)
    adaptive = AdaptiveFilter(head)
    push(adaptive, 0, 300)
    assert adaptive.tracker.senses is not None
    assert adaptive.tracker.senses.channels is channels
