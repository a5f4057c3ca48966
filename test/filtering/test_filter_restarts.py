# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A belief that escaped, or that no observation fits, is started anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from filter_runs import feed
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.tracker import REJECTED_BEFORE_RESTART, Tracker
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import RidgeKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from filter_runs import Stream

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel


def restarted_state(model: Model, stream: Stream, tick: int) -> np.ndarray:
    """Return the state after a tick's observation, started from the window before it."""
    width = model.window
    means = np.array([sample for _, sample in stream[: tick + 1]])
    observations = model.channels.standardise(means)
    belief = Belief(model.tables, model.operator)
    if tick >= width:
        window = observations[tick - width : tick].T
        squared = np.array([np.square(model.series[:, s : s + width] - window).sum()
                            for s in model.starts])  # fmt: skip
        warm = model.warm_start.transform(squared)
        assert warm is not None
        belief.start(np.concatenate([[1.0], warm]))
    belief.update(observations[tick])
    return belief.state


@pytest.fixture
def contrary_model(spectral_model: Model) -> Model:
    """Return a model whose observation operator is negative, so that nothing ever fits."""
    landmarks = spectral_model.operator.kernel_points[:50]
    features = np.ones((len(spectral_model.tables.weights), 1))
    operator = RidgeKernel(landmarks, 2.0, -np.ones((50, 1)), features)
    return replace(spectral_model, operator=operator)


def test_an_escaped_state_starts_from_the_window(spectral_model: Model, stream: Stream) -> None:
    narrow = replace(spectral_model, state_bound=1e-9)
    live = Filter(narrow)
    found = feed(live, stream[:60])
    assert live.counters['restarts'] == len(found)
    for tick, estimate in enumerate(found):
        np.testing.assert_allclose(
            estimate.state, restarted_state(narrow, stream, tick), rtol=1e-7, atol=1e-9
        )


def test_a_window_unlike_all_of_the_training_starts_at_the_prior(spectral_model: Model) -> None:
    tracker = Tracker(replace(spectral_model, state_bound=1e-9))
    channels = spectral_model.channels
    for tick in range(spectral_model.window + 1):
        tracker.update(channels.mean + 30.0 * (-1.0) ** tick * channels.scale)
    prior = Belief(spectral_model.tables, spectral_model.operator)
    prior.update(channels.standardise(channels.mean + 30.0 * channels.scale))
    np.testing.assert_array_equal(tracker.belief.state, prior.state)


def test_the_warm_start_knows_where_the_car_is(spectral_model: Model, stream: Stream) -> None:
    """Started anew at every tick, the filter still agrees with the one that never was."""
    restarted = feed(Filter(replace(spectral_model, state_bound=1e-9)), stream)
    usual = feed(Filter(spectral_model), stream)
    apart = [
        float(np.linalg.norm(left.positions[0] - right.positions[0]))
        for left, right in zip(restarted, usual, strict=True)
        if right.valid
    ]
    assert np.median(apart) < 0.3


def test_a_belief_within_bounds_is_left_alone(spectral_model: Model, stream: Stream) -> None:
    live = Filter(spectral_model)
    feed(live, stream)
    assert live.counters['restarts'] == 0
    assert live.counters['rejected_observations'] == 0


def test_observations_that_fit_nothing(contrary_model: Model, stream: Stream) -> None:
    live = Filter(contrary_model)
    found = feed(live, stream[: 1 + 4 * REJECTED_BEFORE_RESTART])
    assert all(each.evidence <= 0.0 for each in found)
    assert live.counters['rejected_observations'] == len(found)
    assert live.counters['restarts'] == 4
    for tick in (REJECTED_BEFORE_RESTART - 1, 4 * REJECTED_BEFORE_RESTART - 1):
        wanted = restarted_state(contrary_model, stream, tick)
        np.testing.assert_allclose(found[tick].state, wanted, atol=1e-9)


def test_a_gap_forgives_rejected_observations(contrary_model: Model, stream: Stream) -> None:
    live = Filter(contrary_model)
    feed(live, stream[:REJECTED_BEFORE_RESTART])
    feed(live, stream[REJECTED_BEFORE_RESTART + 5 : 2 * REJECTED_BEFORE_RESTART + 5])
    assert live.counters['rejected_observations'] == 2 * (REJECTED_BEFORE_RESTART - 1)
    assert live.counters['restarts'] == 0


def test_an_observation_unlike_any_in_training_is_passed_over(
    spectral_model: Model, stream: Stream
) -> None:
    """The belief moves on as if the tick had no observation."""
    belief = Belief(spectral_model.tables, spectral_model.operator)
    means = np.array([sample for _, sample in stream[:30]])
    for observation in spectral_model.channels.standardise(means):
        belief.update(observation)
    before = belief.state.copy()
    assert belief.update(np.full(6, 60.0)) == 0.0
    after = belief.state.copy()
    belief.start(before)
    belief.skip(1)
    np.testing.assert_allclose(after, belief.state)


def test_a_belief_that_everything_contradicts_is_lost(
    contrary_model: Model, spectral_model: Model, stream: Stream
) -> None:
    found = feed(Filter(contrary_model), stream[:100])
    width = contrary_model.window
    assert [each.status for each in found[width:]] == [Status.LOST] * len(found[width:])
    assert not any(each.valid for each in found)
    assert all(each.valid for each in feed(Filter(spectral_model), stream[:100])[width:])


@pytest.mark.long
@pytest.mark.parametrize(
    ('spoil', 'word'),
    [
        (lambda sample: sample * [1 / 9.81, 1 / 9.81, 1 / 9.81, 1, 1, 1], 'look like g'),
        (lambda sample: sample - [0, 0, 9.81, 0, 0, 0], 'gravity'),
        (lambda sample: sample * 0.0, 'repeats'),
    ],
    ids=['g instead of m/s2', 'gravity removed', 'frozen at zero'],
)
def test_input_unlike_that_of_training_is_not_published(
    spoil: Callable[[np.ndarray], np.ndarray],
    word: str,
    slot_car_model: RouteModel,
    stream: Stream,
) -> None:
    live = Filter(slot_car_model)
    found = feed(live, [(stamp, spoil(np.asarray(sample))) for stamp, sample in stream[:150]])
    full = found[slot_car_model.window :]
    assert sum(each.valid for each in full) <= 0.02 * len(full)
    assert live.status is Status.REFUSED
    assert word in live.why
