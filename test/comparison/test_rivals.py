# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules that every method keeps, all methods by name, and the filters of this package."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial

import numpy as np
from other_recordings import multiplied_imu, without_imu
import pytest
from small_trains import (
    circle,
    driven,
    GRAVITY,
    MOUNT,
    steady,
    train_of,
    varied,
    wander,
    without_positions,
)

from two_manifold_ros.comparison import comparing, rivals
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.names import KERNELS
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings


@pytest.mark.parametrize('name', ['mean', 'previous', 'imu-only', 'kalman', 'hmm', 'nearest'])
def test_every_rival_is_causal_and_repeatable(name):
    method = rivals.METHODS[name]
    fit = method.fit
    if name == 'hmm':
        pytest.importorskip('hmmlearn')
        fit = partial(fit, states=(6,))
    drive = (lambda _, ticks: varied(ticks)) if name == 'imu-only' else circle
    part, live = drive(0, 300), drive(1, 80)
    train = train_of(part, window=10)
    first, second = fit(train), fit(train)
    predicted = first.predict(live)
    for now in (0, 7, 15, 40):
        # Whatever comes after a tick, predictions up to it stay the same bits.
        values, places = live.values.copy(), live.positions.copy()
        values[now + 1 :] += np.random.default_rng(7).normal(size=values[now + 1 :].shape)
        places[now + 1 :] += 100.0
        after = first.predict(replace(live, values=values, positions=places))
        for before, found in zip(predicted, after, strict=True):
            if before is not None:
                np.testing.assert_array_equal(before[: now + 1], found[: now + 1])
    assert first.chosen == second.chosen
    wanted = predicted.positions.tobytes()
    assert second.predict(live).positions.tobytes() == wanted
    if not method.sees_positions:
        assert first.predict(without_positions(live)).positions.tobytes() == wanted


@pytest.mark.parametrize(
    ('name', 'given', 'share'),
    [('nearest', {}, 0.5), ('kalman', {'states': 40}, 0.6), ('hmm', {'states': (20,)}, 0.7)],
)
def test_a_slot_car_is_followed_better_than_by_its_mean(name, given, share, slot_car_laps):
    if name == 'hmm':
        pytest.importorskip('hmmlearn')
    settings = TrainingSettings(window=20, horizons=(0, 10))
    learned, followed = (build_dataset([each], settings) for each in slot_car_laps)
    train, rest = comparing.TrainSplit(slot_car_laps[:1], learned, settings), followed.segments
    error = comparing.held_out_error(rivals.METHODS[name].fit(train, **given), rest, train)
    assert error < share * comparing.held_out_error(rivals.METHODS['mean'].fit(train), rest, train)


def test_the_mean_of_the_known_ticks_and_the_position_at_the_tick():
    first, second = wander(0, 20), wander(1, 30)
    first.positions[3:9] = np.nan
    train, live = train_of(first, second), wander(2, 4)
    known = [*first.positions[:3], *first.positions[9:], *second.positions]
    fitted = (rivals.METHODS[name].fit(train) for name in ('mean', 'previous'))
    mean, previous = (each.predict(live) for each in fitted)
    np.testing.assert_allclose(mean.positions, np.tile(sum(known) / len(known), (4, 3, 1)))
    np.testing.assert_array_equal(previous.positions, np.repeat(live.positions[:, None], 3, 1))
    second.positions[:, 1] = np.nan
    with pytest.raises(InputError, match='no training position is known'):
        rivals.METHODS['mean'].fit(train_of(without_positions(first), second))


def naive_nearest(
    train: comparing.TrainSplit, segment: Segment, tick: int, neighbours: int, width: int
) -> np.ndarray:
    """Compare the window that ends at a tick with every training window, one at a time."""
    standardise = train.dataset.channels.standardise
    live = standardise(segment.values)[tick - width + 1 : tick + 1]
    predicted = np.full((len(train.horizons), 2), np.nan)
    for place, horizon in enumerate(train.horizons):
        found = []
        for training in train.dataset.segments:
            observations = standardise(training.values)
            for end in range(width - 1, len(training) - horizon):
                position = training.positions[end + horizon]
                if np.isfinite(position).all():
                    window = observations[end - width + 1 : end + 1]
                    found.append((np.sum((window - live) ** 2), position))
        found.sort(key=lambda pair: pair[0])
        if found:
            predicted[place] = np.mean([pair[1] for pair in found[:neighbours]], axis=0)
    return predicted


@pytest.mark.parametrize('neighbours', [1, 30, 500])
@pytest.mark.parametrize('width', [1, 5])
def test_nearest_windows_as_by_comparing_every_window(neighbours, width):
    training = [wander(0, 40), wander(1, 9), wander(2, 25), wander(3, 4)]
    training[0].positions[10:30] = np.nan
    train = train_of(*training, horizons=(0, 2, 7, 38))
    with pytest.raises(InputError, match='record longer'):
        rivals.follow_nearest(train, neighbours, 41)
    segment = wander(4, 20)
    predicted = rivals.follow_nearest(train, neighbours, width).predict(segment).positions
    assert np.isnan(predicted[: width - 1]).all()
    for tick in range(width - 1, len(segment)):
        wanted = naive_nearest(train, segment, tick, neighbours, width)
        np.testing.assert_allclose(predicted[tick], wanted, atol=1e-12)


def test_methods_by_name_and_the_kernels_in_one_word():
    methods = rivals.methods_named(['kernels', 'manifold', 'mean'])
    assert [method.name for method in methods[:3]] == ['mean', 'gaussian', 'manifold']
    assert len(methods) == 1 + len(KERNELS)
    seeing = [name for name, each in rivals.METHODS.items() if each.sees_positions]
    assert seeing == ['previous', 'imu-only']
    for names in (['mean', 'magic'], [''], []):
        with pytest.raises(InputError, match=r'there is no method .*; choose from mean,previous,'):
            rivals.methods_named(names)


SETTINGS = TrainingSettings(window=20, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def planned(slot_car_laps: tuple[Recording, Recording]) -> Callable[[Recording], comparing.Plan]:
    """Return a function that plans to follow a drive with the settings of `slot_car_model`."""
    return lambda drive: comparing.plan_bags(
        [slot_car_laps[0]], [replace(drive, name='the rest')], SETTINGS
    )


@pytest.mark.parametrize('faulty', [False, True])
def test_places_and_scores_are_those_of_evaluate(faulty, slot_car_model, slot_car_laps, planned):
    """Also over a gap, and where the IMU is turned over, which shows in the samples only."""
    followed = slot_car_laps[1]
    if faulty:
        followed = multiplied_imu(without_imu(followed, 8.0, 9.0), 10.0, 18.0)
    plan, fitted = planned(followed), rivals.fitted_model(slot_car_model)
    wanted = evaluate(slot_car_model, [followed])
    (run,) = wanted.runs
    assert len(plan.tests) == 1 + faulty
    for test in plan.tests:
        predicted = fitted.predict(test)
        rows = np.searchsorted(run.stamps, test.stamps[test.scored])
        assert predicted.positions[test.scored].tobytes() == run.positions[rows].tobytes()
        assert predicted.valid[test.scored].tolist() == run.published[rows].tolist()
    # Of ticks alone nothing is withheld, and one that the filter never saw has no position.
    first = plan.tests[0].part(0, 50)
    part = fitted.predict(Segment(first.stamps, first.values, first.positions))
    assert part.valid is None
    np.testing.assert_array_equal(fitted.predict(first).positions, part.positions)
    unseen = replace(first, stamps=first.stamps + (np.arange(50) == 7))
    assert np.isnan(fitted.predict(unseen).positions[7]).all()
    assert (wanted.published < 0.95 * wanted.ticks) == faulty
    method = comparing.Method('ours', 'ours', lambda _: fitted)
    (result,) = comparing.compare(plan, [method]).results
    assert result.chosen['states'] == slot_car_model.states
    assert result.chosen['neighbours'] == slot_car_model.summary['neighbours']
    # The ticks after a gap count there, and not here.
    for mine, its in () if faulty else zip(result.scores, wanted.scores, strict=True):
        unlike = {'coverage68': None, 'coverage95': None}
        assert asdict(mine) == pytest.approx(
            asdict(its.model) | unlike | {'all': pytest.approx(asdict(its.model.all) | unlike)}
        )


@pytest.mark.parametrize(
    ('name', 'changes'),
    [
        ('default', {}),
        ('tpsr', {'method': 'tpsr'}),
        ('manifold', {'method': 'spectral', 'kernel': 'laplacian-eigenmap'}),
        ('paper-gaussian', {'method': 'paper', 'kernel': 'gaussian'}),
    ],
)
def test_each_is_trained_so(name, changes, slot_car_model, slot_car_laps, planned, monkeypatch):
    given: list[object] = []
    monkeypatch.setattr(rivals, 'train_model', lambda *each: given.extend(each) or slot_car_model)
    train = planned(slot_car_laps[1]).train
    rivals.methods_named([name])[0].fit(train)
    same = {'method': 'route', 'rate_hz': train.dataset.rate_hz}
    assert given == [train.recordings, SETTINGS.with_method(**{**same, **changes})]


GIVEN = 20
"""Ticks after which no position is given any more."""


@pytest.fixture(scope='module')
def fitted() -> rivals.Motion:
    return rivals.learn_motion(train_of(varied(900), horizons=(0, 5, 20)))


def test_the_mount_is_found(fitted):
    """Upside down, turned and in other units, with the biases of gravity."""
    weights = np.linalg.pinv(MOUNT)
    np.testing.assert_allclose(fitted.weights[:, :6], weights, atol=5e-3)
    np.testing.assert_allclose(fitted.weights[:, 6], -weights @ GRAVITY, atol=0.02)
    assert fitted.usual_m_s == pytest.approx(2.0, abs=0.2)
    assert fitted.fastest_m_s == pytest.approx(2 * 2.6, abs=0.2)


def test_dead_axes_and_too_little_known_motion_are_refused():
    for dead in (slice(0, 3), slice(3, 6)):
        segment = varied(200)
        segment.values[:, dead] = 0.0
        with pytest.raises(InputError, match='axis, varies in training'):
            rivals.learn_motion(train_of(segment))
    segment = varied(200)
    for known in (14, 0):
        segment.positions[known:] = np.nan
        with pytest.raises(InputError, match='too few'):
            rivals.learn_motion(train_of(segment, window=9))


@pytest.mark.parametrize('rate', [1.0, -2.0])
def test_the_speed_is_corrected_in_bends(fitted, rate):
    """A forward bias b is held at b / (gain |rate|); on the straight it would add up."""
    segment = steady(400, rate, 2.0)
    segment.values[:] += MOUNT[:, 1] * 0.2
    states = replace(fitted, gain=0.5).predict(segment).states
    assert states[-1, 3] - 2.0 == pytest.approx(0.2 / (0.5 * abs(rate)), abs=0.05)


def test_ahead_it_drives_on_as_now_and_standing_is_reported_until_it_sets_off(fitted):
    segment = steady(120, 0.5, 2.0)
    predicted = fitted.predict(segment).positions
    # After the positions are no longer given it is where the vehicle is, a lap on.
    assert np.linalg.norm(predicted[:, 0] - segment.positions, axis=1).max() < 0.3
    for column, horizon in ((1, 5), (2, 20)):
        apart = predicted[GIVEN + 5 : -horizon, column] - predicted[GIVEN + 5 + horizon :, 0]
        assert np.linalg.norm(apart, axis=1).max() < 0.15
    # Without a course there is nothing to integrate; the start is where it drives off.
    segment = driven(200, lambda t: 0.2 * np.tanh(t - 8.0) + 0.2, lambda t: 1.0 + np.tanh(t - 8.0))
    course = fitted.predict(segment)
    begun = int(np.flatnonzero(np.isfinite(course.states[:, 0]))[0])
    assert 60 < begun < 110
    np.testing.assert_array_equal(
        course.positions[:begun], segment.positions[:begun, None] + np.zeros((begun, 3, 2))
    )
