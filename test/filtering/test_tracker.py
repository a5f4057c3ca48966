# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The spectral filter restarts a belief that diverged, and stands while the vehicle does."""

from dataclasses import replace

from filter_runs import feed, Stream
import naive
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import REJECTED_BEFORE_RESTART
from two_manifold_ros.filtering.tracker import Tracker
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import RidgeKernel
from two_manifold_ros.model.model import Model
from two_manifold_ros.ticks.rest import RestRule
from two_manifold_ros.ticks.sliding import NOVEL


def restarted_state(model: Model, stream: Stream, tick: int) -> np.ndarray:
    """Return the state after a tick's observation, started from the window before it."""
    seen = model.channels.standardise(np.array([row for _, row in stream[: tick + 1]]))
    belief = Belief(model.tables, model.operator)
    if tick >= model.window:
        window = seen[tick - model.window : tick].T
        squared = naive.window_distances(model.series, window)[model.starts]
        belief.start(np.concatenate([[1.0], model.warm_start.transform(squared)]))
    belief.update(seen[tick])
    return belief.state


def test_an_escaped_state_starts_from_the_window_or_at_the_prior(spectral_model, stream):
    """If the window is unlike all of the training."""
    narrow, channels = replace(spectral_model, state_bound=1e-9), spectral_model.channels
    live = Filter(narrow)
    found = feed(live, stream[:60])
    assert live.counters['restarts'] == len(found)
    for tick, estimate in enumerate(found):
        wanted = restarted_state(narrow, stream, tick)
        np.testing.assert_allclose(estimate.state, wanted, rtol=1e-7, atol=1e-9)
    tracker = Tracker(narrow)
    for tick in range(spectral_model.window + 1):
        tracker.update(channels.mean + 30.0 * (-1.0) ** tick * channels.scale)
    prior = Belief(spectral_model.tables, spectral_model.operator)
    prior.update(channels.standardise(channels.mean + 30.0 * channels.scale))
    np.testing.assert_array_equal(tracker.belief.state, prior.state)


def test_observations_that_fit_nothing(spectral_model, stream):
    """As the observation operator is negative."""
    landmarks = spectral_model.operator.kernel_points[:50]
    features = np.ones((len(spectral_model.tables.weights), 1))
    operator = RidgeKernel(landmarks, 2.0, -np.ones((50, 1)), features)
    contrary_model = replace(spectral_model, operator=operator)
    live = Filter(contrary_model)
    found = feed(live, stream[: 1 + 4 * REJECTED_BEFORE_RESTART])
    assert all(each.evidence <= 0.0 for each in found)
    assert live.counters['rejected_observations'] == len(found)
    assert live.counters['restarts'] == 4
    for tick in (REJECTED_BEFORE_RESTART - 1, 4 * REJECTED_BEFORE_RESTART - 1):
        wanted = restarted_state(contrary_model, stream, tick)
        np.testing.assert_allclose(found[tick].state, wanted, atol=1e-9)


TICKS = 5
DRIVEN = 120


@pytest.fixture(scope='module')
def standing_model(spectral_model: Model) -> Model:
    """Return a model that takes for rest what no slot car does while it drives."""
    return replace(spectral_model, rest=RestRule(TICKS, 1e-3))


def at_rest(model: Model, ticks: int) -> np.ndarray:
    channels, rng = model.channels, np.random.default_rng(ticks)
    return channels.mean + 1e-5 * channels.scale * rng.normal(size=(ticks, len(channels.mean)))


def followed(model: Model, stream: Stream) -> Tracker:
    """Return a tracker that followed the drive up to a stop."""
    tracker = Tracker(model)
    for _, sample in stream[:DRIVEN]:
        assert not tracker.update(sample).standing
    return tracker


@pytest.fixture
def driven(standing_model: Model, stream: Stream) -> Tracker:
    return followed(standing_model, stream)


def test_how_long_it_stood_makes_no_difference(standing_model, stream):
    after = []
    for ticks in (TICKS + 1, 300):
        tracker = followed(standing_model, stream)
        # The first ticks of a stop are no rest yet.
        steps = [tracker.update(at_rest(standing_model, 1)[0]) for _ in range(ticks)]
        assert [step.standing for step in steps] == [tick >= TICKS - 1 for tick in range(ticks)]
        tracker.update(stream[DRIVEN][1])
        after.append([tracker.belief.state.tobytes(), *(x.tobytes() for x in tracker.read())])
    assert after[0] == after[1]


def test_a_sensor_that_froze_does_not_pass_for_a_vehicle_at_rest(standing_model, driven, stream):
    frozen = standing_model.novelty.still + standing_model.window
    steps = [driven.update(stream[DRIVEN][1]) for _ in range(frozen + 3)]
    # As soon as it works again nothing is held against it.
    steps += [driven.update(each) for each in at_rest(standing_model, 9)]
    first, last, healthy = steps[TICKS + 1], steps[frozen + 2], steps[-1]
    assert all(each.standing for each in (first, last, healthy))
    assert max(first.novelty, healthy.novelty) < NOVEL < last.novelty


def test_over_a_gap_a_standing_vehicle_is_taken_to_stand_still(standing_model, driven, stream):
    rest = at_rest(standing_model, 20)
    for each in rest[:10]:
        driven.update(each)
    state, read = driven.belief.state.copy(), driven.read()
    driven.coast(7)
    assert driven.seen < standing_model.window
    np.testing.assert_array_equal(driven.belief.state, state)
    assert driven.update(rest[10]).standing
    np.testing.assert_array_equal(driven.read()[0], read[0])
    assert not driven.update(stream[DRIVEN][1]).standing
    assert driven.seen == 1
