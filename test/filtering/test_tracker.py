# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Restarts of a belief that diverged, a vehicle that stands, and the size of ellipses ahead."""

from dataclasses import replace

from filter_runs import feed, Stream
import naive
import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import make_tick_filter
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import NOVEL, REJECTED_BEFORE_RESTART
from two_manifold_ros.filtering.tracker import ForecastScales, LIMITS, Tracker
from two_manifold_ros.hse_hmm.hmm import Belief, RidgeKernel
from two_manifold_ros.model.model import Model
from two_manifold_ros.ticks.rest import RestRule


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


def test_a_sensor_that_froze_does_not_pass_for_a_vehicle_at_rest(standing_model, stream):
    driven = followed(standing_model, stream)
    frozen = standing_model.novelty.still + standing_model.window
    steps = [driven.update(stream[DRIVEN][1]) for _ in range(frozen + 3)]
    # As soon as it works again nothing is held against it.
    steps += [driven.update(each) for each in at_rest(standing_model, 9)]
    first, last, healthy = steps[TICKS + 1], steps[frozen + 2], steps[-1]
    assert all(each.standing for each in (first, last, healthy))
    assert max(first.novelty, healthy.novelty) < NOVEL < last.novelty


def test_over_a_gap_a_standing_vehicle_is_taken_to_stand_still(standing_model, stream):
    driven = followed(standing_model, stream)
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


HORIZONS, LAP = (0, 4, 10), 100.0


def wandered(ticks: int, seed: int) -> np.ndarray:
    """Return estimates (T, 2) of a vehicle whose way from tick to tick has unit variance."""
    return np.cumsum(np.random.default_rng(seed).standard_normal((ticks, 2)), axis=0)


def forecast(mean: np.ndarray, believed: float) -> tuple[np.ndarray, np.ndarray]:
    """Return means and covariances of the horizons and a velocity, of a way of that variance."""
    spreads = 0.5 + believed * np.array([*HORIZONS, 0])
    return np.tile(mean, (len(spreads), 1)), spreads[:, None, None] * np.eye(2)


def scales_along(estimates: np.ndarray, believed: float, driving: float = 1.0) -> ForecastScales:
    scales = ForecastScales(HORIZONS, LAP)
    for mean in estimates:
        scales.follow(*forecast(mean, believed), driving)
    return scales


def naive_factors(estimates: np.ndarray, believed: float) -> list[float]:
    """Judge each forecast when its time has come, from a list of all that was said."""
    logs = [0.0] * len(HORIZONS)
    said = [forecast(mean, believed) for mean in estimates]
    for tick, (means, covariances) in enumerate(said):
        for index, ahead in enumerate(HORIZONS):
            if not 0 < ahead <= tick:
                continue
            mean, covariance = (each[index] for each in said[tick - ahead])
            whole = np.exp(logs[index]) * covariance
            way = whole - covariances[0]
            if np.linalg.eigvalsh(way).min() <= 0.0:
                continue
            if np.linalg.det(way) <= LIMITS.least * np.linalg.det(whole):
                continue
            apart = means[0] - mean
            square = apart @ np.linalg.solve(way, apart)
            share = 1.0 - np.sqrt(np.linalg.det(covariances[0]) / np.linalg.det(whole))
            for level, weight in ((0.68, 1.0), (0.95, LIMITS.outer)):
                missed = square > -2.0 * np.log(1.0 - level)
                step = LIMITS.step / LAP * weight * share
                logs[index] += step * (missed - (1.0 - level))
    return [*np.exp(logs), 1.0]


@pytest.mark.parametrize('believed', [0.2, 1.0, 5.0])
def test_factors_are_those_of_a_naive_count(believed):
    estimates = wandered(400, 1)
    wanted = naive_factors(estimates, believed)
    np.testing.assert_allclose(scales_along(estimates, believed).factors, wanted, rtol=1e-9)


def test_a_pause_forgets_the_forecasts_and_a_start_the_factors_too():
    """And forecasts of a vehicle that may not drive as in training do not count."""
    np.testing.assert_array_equal(scales_along(wandered(400, 2), 0.1, driving=0.5).factors, 1.0)
    scales = scales_along(wandered(400, 3), 0.1)
    factors = scales.factors.copy()
    assert factors[1] > 1.5
    scales.pause()
    # Far from where it was forecast to be before the pause.
    for mean in wandered(HORIZONS[1], 3):
        scales.follow(*forecast(mean + 1e3, 0.1), 1.0)
    np.testing.assert_array_equal(scales.factors, factors)
    scales.start()
    np.testing.assert_array_equal(scales.factors, 1.0)


def test_horizons_beyond_what_is_remembered_stay_as_calibrated():
    scales = ForecastScales((0, 5, LIMITS.longest + 1), LAP)
    for mean in wandered(LIMITS.longest + 200, 4):
        means = np.repeat(mean[None], 4, axis=0)
        scales.follow(means, np.array([0.5, 1.0, 1.0, 1.0])[:, None, None] * np.eye(2), 1.0)
    assert scales.factors[1] > 1.5
    assert scales.factors[2] == 1.0


def test_the_filter_of_a_route_scales_what_lies_ahead_and_no_more(slot_car_laps, slot_car_model):
    followed, shares = make_tick_filter(slot_car_model), []

    def shares_now() -> np.ndarray:
        (means, covariances), (plain_means, plain) = followed.read(), followed.belief.read()
        np.testing.assert_array_equal(means, plain_means)
        found = covariances[:, 0, 0] / plain[:, 0, 0]
        np.testing.assert_allclose(covariances, found[:, None, None] * plain, rtol=1e-12)
        return found

    for sample in slot_car_laps[1].imu.samples:
        followed.update(sample)
        shares.append(shares_now())
    shares = np.array(shares)
    np.testing.assert_allclose(shares[:, [0, -1]], 1.0, rtol=1e-12)
    assert np.ptp(np.log(shares[-40:, 2])) > 0.0
    assert not np.allclose(shares[-1, 1:3], 1.0)
    # A gap leaves the factors, a start forgets them.
    followed.coast(3)
    np.testing.assert_allclose(shares_now(), shares[-1], rtol=1e-12)
    followed.start()
    np.testing.assert_allclose(shares_now(), 1.0, rtol=1e-12)
