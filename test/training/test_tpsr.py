# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR of a route: trained at once, and going on with what is driven later."""

from dataclasses import replace
import pickle

from exact_tpsr import evidences, learn_by_tensor, unit
from filter_runs import feed
import numpy as np
from other_recordings import with_imu
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import TpsrModel
from two_manifold_ros.tpsr.learner import Triples
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.spectral import training_windows
from two_manifold_ros.training.tpsr import MEMORY_TICKS, RouteTpsr
from two_manifold_ros.training.train import learn_model, train_model

SETTINGS = TrainingSettings(
    method='tpsr', horizons=(0, 5, 20), rate_hz=10.0, window=20, states=30, features=200
)
MOST_S = 90.0


@pytest.fixture(scope='module')
def laps(slot_car_laps):
    return slot_car_laps[0]


def errors_m(model, recording):
    return evaluate(model, [recording]).scores[0].model.rmse_m


def test_what_goes_on_learning_errs_less_and_ends_where_the_drive_does(laps):
    first, _ = learn_model([laps.between(None, 25.0)], SETTINGS)
    assert isinstance(first, TpsrModel)
    _, learned = learn_model([laps.between(None, 25.0)], SETTINGS)
    learned.go_on(laps.between(None, MOST_S))
    # Of what was learned already nothing is learned again, ...
    numbers = learned.route.learner.remembered.numbers
    assert len(np.unique(numbers)) == len(numbers)
    ended_s = (learned.ended_ns - laps.imu.first_stamp) * 1e-9
    assert ended_s == pytest.approx(MOST_S, abs=0.2)
    # ... and windows reach over the end of the first part.
    assert (np.diff(numbers) == 1).all()
    rest = laps.between(MOST_S, None)
    assert errors_m(learned.model, rest) < 0.8 * errors_m(first, rest)


@pytest.mark.parametrize('commands', [False, True])
@pytest.mark.parametrize('until', [0, 300, None])
def test_it_goes_on_learning_whatever_a_channel_that_is_left_out_holds(laps, commands, until):
    """An axis of NaN, for all of the drive, or until it is measured, or from then on."""
    whole = laps.between(None, 60.0)
    samples, names = whole.imu.samples.copy(), whole.imu.names
    samples[:, 3] = 5.0
    samples[:until, 3] = np.nan
    if commands:
        samples = np.column_stack([samples, np.sin(0.3 * np.arange(len(samples)))])
        names = (*names, 'command.data')
    drive = with_imu(whole, samples=samples, names=names)
    first = drive.between(None, 25.0)
    first.imu.samples[:, 3] = np.nan
    _, learned = learn_model([first], SETTINGS)
    count = len(learned.route.learner.remembered.numbers)
    learned.go_on(drive)
    # 35 s of ticks at 10 Hz, less those that wait for their windows.
    assert len(learned.route.learner.remembered.numbers) > count + 300


def test_it_goes_on_with_a_drive_of_an_earlier_clock_that_was_too_short_to_train_on(laps):
    _, learned = learn_model([laps.between(40.0, 80.0), laps.between(None, 3.0)], SETTINGS)
    count = len(learned.route.learner.remembered.numbers)
    learned.go_on(laps.between(None, 20.0))
    # The whole drive, less two windows of 2 s.
    assert len(learned.route.learner.remembered.numbers) == pytest.approx(count + 160, abs=3)


def test_stretches_too_short_to_be_remembered_take_no_memory(laps):
    _, learned = learn_model([laps.between(None, 40.0)], SETTINGS)
    route = learned.route
    before = route.readout()
    drawn = np.random.default_rng(0)

    def learn(*parts: np.ndarray) -> None:
        route.learner.end_stretch()
        for part in parts:
            route.learn(drawn.standard_normal((len(part), learned.model.live)), part)

    sizes = []
    for _ in range(200):
        # Just short of two windows, in parts.
        learn(*np.split(drawn.standard_normal((2 * SETTINGS.window - 1, 2)), [SETTINGS.window]))
        sizes.append(len(pickle.dumps(route)))
    # As many as are followed for calibration are kept, and no more.
    assert sizes[-1] == pytest.approx(sizes[50], rel=1e-3)
    # What is remembered is where it was, and what comes after it is remembered as well.
    np.testing.assert_array_equal(route.readout().targets, before.targets)
    places = np.tile(np.arange(100.0)[:, None], 2)
    learn(*np.split(places, 10))
    found = route.readout().targets[len(before.targets) :, 0]
    np.testing.assert_array_equal(found, places[SETTINGS.window : -SETTINGS.window])


def test_a_filter_goes_on_with_newer_parameters(laps):
    """Its next estimates are about those of a filter that had them all along."""
    _, learned = learn_model([laps.between(None, 40.0)], replace(SETTINGS, features=500))
    live = Filter(learned.model)
    imu = laps.imu
    until = int(np.searchsorted(imu.stamps - imu.first_stamp, 60e9))
    stream = list(zip(imu.stamps.tolist(), imu.samples, strict=True))[: until + 50]
    feed(live, stream[:until])
    move = learned.go_on(laps.between(None, 60.0))
    live.ticks.adopt(learned.model, move)
    other = Filter(learned.model)
    feed(other, stream[:until])
    both = [feed(each, stream[until:]) for each in (live, other)]
    for mine, theirs in zip(*both, strict=True):
        assert np.hypot(*(mine.positions[0] - theirs.positions[0])) < 0.1


EIGENMAP = TrainingSettings(
    method='tpsr', window_features='eigenmap', horizons=(0, 5, 20), rate_hz=10.0, window=20
)


def test_an_hse_hmm_that_went_on_is_that_of_all_ticks_at_once_on_the_same_eigenmap():
    """Beside the moments of all rows, written out; the rows of new windows are out of sample."""
    rng = np.random.default_rng(5)
    phase = np.cumsum(rng.uniform(0.1, 0.3, 900))
    seen = np.stack([np.cos(phase), np.sin(2 * phase), np.cos(3 * phase)], axis=1)
    seen += 0.1 * rng.normal(size=seen.shape)
    track = np.stack([np.cos(phase), np.sin(phase)], axis=1)
    _, _, training = training_windows([seen[:300]], EIGENMAP.window)
    route = RouteTpsr(training, seen[:300], replace(EIGENMAP, states=12), 0.1)
    for begin, end in ((0, 300), (300, 301), (301, 470), (470, 900)):
        route.learn(seen[begin:end], track[begin:end])
    width, windows = EIGENMAP.window, route.learner.windows
    rows = [seen[start : start + width].T.ravel() for start in range(len(seen) - width + 1)]
    embedded = windows.transform(np.array(rows))
    ticks = np.arange(width, len(seen) - width)
    triples = Triples(
        embedded[ticks],
        embedded[ticks + 1],
        embedded[ticks - width],
        route.observations.transform(seen[ticks]),
        np.exp(-np.arange(len(ticks))[::-1] / MEMORY_TICKS),
    )
    route.learner.learner.covariance.refresh()
    found = route.belief().tpsr
    expected = learn_by_tensor(triples, unit(windows.size), 12, route.chosen['ridge'])
    assert found.states == 12
    observed = route.observations.transform(seen)
    np.testing.assert_allclose(
        *(evidences(each, observed) for each in (found, expected)), rtol=0.0, atol=1e-10
    )
    modes = [np.sort_complex(np.linalg.eigvals(each.transition)) for each in (found, expected)]
    np.testing.assert_allclose(*modes, atol=1e-10)
    # Ticks are remembered with the weights that the sums of all of them have.
    weights = route.belief().table @ found.start
    assert weights.sum() == pytest.approx(found.normaliser @ found.start)


def test_an_hse_hmm_goes_on_learning_on_the_eigenmap_of_its_first_laps(laps):
    model, learned = learn_model([laps.between(None, 40.0)], EIGENMAP)
    windows = learned.route.learner.windows
    before = pickle.dumps(windows)
    learned.go_on(laps.between(None, MOST_S))
    assert pickle.dumps(windows) == before
    rest = laps.between(MOST_S, None)
    assert errors_m(learned.model, rest) < 0.9 * errors_m(model, rest)


def test_features_are_at_least_as_many_as_directions(laps):
    short = laps.between(None, 40.0)
    assert train_model([short], replace(SETTINGS, features=59)).states == 30
    # With one less there is no direction beside those that are kept.
    with pytest.raises(InputError, match='58 features are too few'):
        train_model([short], replace(SETTINGS, features=58))
    with pytest.raises(InputError):
        train_model([laps.between(None, 7.0)], SETTINGS)
