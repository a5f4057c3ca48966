# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The spectral filter restarts a belief that diverged, and stands while the vehicle does."""

from dataclasses import replace

from filter_runs import feed, shifted, Stream
import naive
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import REJECTED_BEFORE_RESTART, Status
from two_manifold_ros.filtering.tracker import PositionModes, Tracker
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import RidgeKernel
from two_manifold_ros.model.model import Model
from two_manifold_ros.ticks.novelty import NOVEL
from two_manifold_ros.ticks.rest import RestRule


def restarted_state(model: Model, stream: Stream, tick: int) -> np.ndarray:
    """Return the state after a tick's observation, started from the window before it."""
    width = model.window
    observations = model.channels.standardise(np.array([row for _, row in stream[: tick + 1]]))
    belief = Belief(model.tables, model.operator)
    if tick >= width:
        window = observations[tick - width : tick].T
        squared = naive.window_distances(model.series, window)[model.starts]
        warm = model.warm_start.transform(squared)
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


def test_an_escaped_state_starts_from_the_window(spectral_model, stream):
    narrow = replace(spectral_model, state_bound=1e-9)
    live = Filter(narrow)
    found = feed(live, stream[:60])
    assert live.counters['restarts'] == len(found)
    for tick, estimate in enumerate(found):
        np.testing.assert_allclose(
            estimate.state, restarted_state(narrow, stream, tick), rtol=1e-7, atol=1e-9
        )


def test_a_window_unlike_all_of_the_training_starts_at_the_prior(spectral_model):
    tracker = Tracker(replace(spectral_model, state_bound=1e-9))
    channels = spectral_model.channels
    for tick in range(spectral_model.window + 1):
        tracker.update(channels.mean + 30.0 * (-1.0) ** tick * channels.scale)
    prior = Belief(spectral_model.tables, spectral_model.operator)
    prior.update(channels.standardise(channels.mean + 30.0 * channels.scale))
    np.testing.assert_array_equal(tracker.belief.state, prior.state)


def test_the_warm_start_knows_where_the_car_is(spectral_model, stream):
    """Restarted at every tick, the filter still agrees with the one that never was."""
    restarted = feed(Filter(replace(spectral_model, state_bound=1e-9)), stream)
    usual = feed(Filter(spectral_model), stream)
    apart = [
        float(np.linalg.norm(left.positions[0] - right.positions[0]))
        for left, right in zip(restarted, usual, strict=True)
        if right.valid
    ]
    assert np.median(apart) < 0.3


def test_observations_that_fit_nothing(contrary_model, stream):
    live = Filter(contrary_model)
    found = feed(live, stream[: 1 + 4 * REJECTED_BEFORE_RESTART])
    assert all(each.evidence <= 0.0 for each in found)
    assert live.counters['rejected_observations'] == len(found)
    assert live.counters['restarts'] == 4
    for tick in (REJECTED_BEFORE_RESTART - 1, 4 * REJECTED_BEFORE_RESTART - 1):
        wanted = restarted_state(contrary_model, stream, tick)
        np.testing.assert_allclose(found[tick].state, wanted, atol=1e-9)


def test_a_gap_forgives_rejected_observations(contrary_model, stream):
    live = Filter(contrary_model)
    feed(live, stream[:REJECTED_BEFORE_RESTART])
    feed(live, stream[REJECTED_BEFORE_RESTART + 5 : 2 * REJECTED_BEFORE_RESTART + 5])
    assert live.counters['rejected_observations'] == 2 * (REJECTED_BEFORE_RESTART - 1)
    assert live.counters['restarts'] == 0


def test_an_observation_unlike_any_in_training_is_passed_over(spectral_model, stream):
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


def test_a_belief_that_everything_contradicts_is_lost(contrary_model, spectral_model, stream):
    found = feed(Filter(contrary_model), stream[:100])
    width = contrary_model.window
    assert [each.status for each in found[width:]] == [Status.LOST] * len(found[width:])
    assert not any(each.valid for each in found)
    assert all(each.valid for each in feed(Filter(spectral_model), stream[:100])[width:])


TICKS = 5
DRIVEN = 120


@pytest.fixture(scope='module')
def standing_model(spectral_model: Model) -> Model:
    """Return a model that takes for rest what no slot car does while it drives."""
    return replace(spectral_model, rest=RestRule(TICKS, 1e-3))


def at_rest(model: Model, ticks: int) -> np.ndarray:
    channels, rng = model.channels, np.random.default_rng(ticks)
    return channels.mean + 1e-5 * channels.scale * rng.normal(size=(ticks, len(channels.mean)))


def test_how_long_it_stood_makes_no_difference(standing_model, stream):
    values = np.array([sample for _, sample in stream])
    after = []
    for ticks in (TICKS + 1, 300):
        tracker = Tracker(standing_model)
        # The first ticks of a stop are no rest yet.
        stop = np.tile(at_rest(standing_model, 1), (ticks, 1))
        steps = [tracker.update(each) for each in np.concatenate([values[:DRIVEN], stop])]
        assert [step.standing for step in steps] == [False] * (DRIVEN + TICKS - 1) + [True] * (
            ticks - TICKS + 1
        )
        tracker.update(values[DRIVEN])
        after.append([tracker.belief.state.tobytes(), *(x.tobytes() for x in tracker.read())])
    assert after[0] == after[1]


def test_the_estimate_is_held_and_reported(standing_model, stream):
    """A vehicle stands for 100 ticks after it has driven."""
    period, begin = standing_model.period_ns, stream[DRIVEN][0]
    stop = enumerate(at_rest(standing_model, 100))
    stopped = [(begin + tick * period, sample) for tick, sample in stop]
    after = shifted(stream[DRIVEN:], 100 * period)
    said = feed(Filter(standing_model), [*stream[:DRIVEN], *stopped, *after])
    ticks = [each for each in said if each.tick >= DRIVEN + TICKS]
    standing = ticks[: 100 - TICKS - 1]
    first = standing[0]
    for each in standing:
        np.testing.assert_array_equal(each.positions, first.positions)
        np.testing.assert_array_equal(each.covariances, first.covariances)
        assert not each.velocity.any()
        assert each.status == first.status
    assert standing[-1].tick - first.tick == len(standing) - 1
    assert np.linalg.norm(ticks[100].velocity) > 0.0
    assert (np.linalg.eigvalsh(first.covariances) > 0.0).all()


def test_a_sensor_that_froze_does_not_pass_for_a_vehicle_at_rest(standing_model, driven, stream):
    frozen = standing_model.novelty.still + standing_model.window
    steps = [driven.update(stream[DRIVEN][1]) for _ in range(frozen + 3)]
    # As soon as it works again nothing is held against it.
    steps += [driven.update(each) for each in at_rest(standing_model, 9)]
    first, last, healthy = steps[TICKS + 1], steps[frozen + 2], steps[-1]
    assert first.standing
    assert last.standing
    assert healthy.standing
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


def test_a_reset_forgets_that_it_stood(standing_model, stream):
    tracker = Tracker(standing_model)
    values = np.concatenate(
        [[sample for _, sample in stream[:DRIVEN]], at_rest(standing_model, 9)]
    )
    for each in values:
        tracker.update(each)
    tracker.start()
    assert np.linalg.norm(tracker.read()[0][-1]) > 0.0
    assert not any(tracker.update(each).standing for each in values[-TICKS + 1 :])
    tracker.start()
    fresh = Tracker(standing_model)
    for each in values[:40]:
        assert tracker.update(each) == fresh.update(each) or tracker.seen < standing_model.window
        np.testing.assert_array_equal(tracker.belief.state, fresh.belief.state)
    np.testing.assert_array_equal(tracker.read()[0], fresh.read()[0])


@pytest.fixture
def driven(standing_model: Model, stream: Stream) -> Tracker:
    """Return a tracker that followed the drive up to a stop."""
    tracker = Tracker(standing_model)
    for _, sample in stream[:DRIVEN]:
        tracker.update(sample)
    return tracker


def test_it_is_right_at_every_tick_and_its_ellipses_hold(slot_car_model, slot_car_laps):
    now, _, later = evaluate(slot_car_model, [slot_car_laps[1]]).scores
    assert now.model.published_share == 1.0
    assert now.model.all.rmse_m < 0.06
    assert later.model.all.rmse_m < 0.3
    assert 0.85 < now.model.coverage95 <= 1.0


@pytest.mark.slow
def test_a_vehicle_that_stands_for_a_minute_is_known_afterwards(
    live, slot_car_model, slot_car_laps
):
    """It stops within a tick, which no vehicle can; what it knew must not be lost for that."""
    stamps, samples = slot_car_laps[1].imu.stamps, slot_car_laps[1].imu.samples
    stop, still = 150, 600
    noise = np.random.default_rng(1).normal(size=(still, 6)) * [0.05, 0.05, 0.05, 0.01, 0.01, 0.01]
    standing = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0]) + noise
    order = np.concatenate([samples[:stop], standing, samples[stop:]])
    ticks = stamps[0] + 100_000_000 * np.arange(len(order))
    found = feed(live, zip(ticks.tolist(), order, strict=True))
    usual = feed(Filter(slot_car_model), zip(stamps.tolist(), samples, strict=True))
    settled = stop + 60
    apart = [
        float(np.linalg.norm(one.positions[0] - other.positions[0]))
        for one, other in zip(found[still + settled :], usual[settled:], strict=False)
    ]
    assert np.quantile(apart, 0.9) < 0.1


@pytest.mark.parametrize('shift', [(5e5, 5.4e6), (-3e7, 3e7)])
def test_particles_are_the_same_places_at_large_coordinates(shift):
    rng = np.random.default_rng(2)
    angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, 400))
    track = np.column_stack([5.0 * np.cos(angle), 2.0 * np.sin(angle)])
    track[::50] = np.nan
    weights = rng.dirichlet(np.full(400, 0.3))
    here, there = (PositionModes(each).read(weights) for each in (track, track + shift))
    np.testing.assert_allclose(there[:, 2], here[:, 2], rtol=1e-12)
    np.testing.assert_allclose(there[:, :2] - shift, here[:, :2], atol=1e-6)
    # Several places of half a tick's way are one, none of which is far from it.
    assert 10 < len(here) < 200
    known = track[np.isfinite(track).all(axis=1)]
    nearest = np.linalg.norm(known - here[:, None, :2], axis=2).min(axis=1)
    assert nearest.max() < 10.0 / 100
