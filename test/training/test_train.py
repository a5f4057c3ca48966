# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training: what it refuses, what it reports, what is of no use, and that all on offer learns."""

from dataclasses import replace

import ellipse
import numpy as np
from other_recordings import with_imu, with_positions, without_positions
import pytest
from rounds import drive, eight, on_circle, track, weaving, with_stops

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.hse_hmm.readout import Calibration
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.recordings.recording import GeodeticOrigin, Recording
from two_manifold_ros.training import summary as module
from two_manifold_ros.training.held_out import beside_mean_position, Validation
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model, with_one_rate, with_time_scales

QUICK = TrainingSettings(window=20, states=40, horizons=(0, 5, 20))


@pytest.fixture(scope='module')
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[0]


def test_two_trainings_give_the_same_file_and_progress_goes_from_0_to_1(
    laps, slot_car_model, tmp_path
):
    reported: list[tuple[str, float]] = []
    settings = TrainingSettings(window=20, horizons=(0, 5, 20))
    again = train_model([laps], settings, lambda *each: reported.append(each))
    save_model(slot_car_model, tmp_path / 'one')
    save_model(again, tmp_path / 'two')
    assert (tmp_path / 'one').read_bytes() == (tmp_path / 'two').read_bytes()
    shares = [share for _, share in reported]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert all(stage for stage, _ in reported)


def test_spectral_filters_are_far_ahead_of_the_mean(laps, slot_car_laps):
    found = []
    forms = {'coupling': 'gram-product', 'kernel': 'gaussian'}, {'observation': 'ridge'}
    for form in ({'readout': 'ridge'}, *forms):
        model = train_model([laps.between(None, 75.0)], QUICK.with_method('spectral', **form))
        own = evaluate(model, [slot_car_laps[1]])
        found.append(own.runs[0].positions)
        for each in own.scores:
            assert each.model.rmse_m < 0.3 * each.mean.rmse_m
    assert not any(np.allclose(found[0], each, atol=1e-6) for each in found[1:])


def test_recordings_that_cannot_be_trained_on_are_refused(laps):
    origin = GeodeticOrigin(48.0, 11.0, 0.0)
    there = replace(with_positions(laps, origin=origin), name='there')
    higher = with_positions(laps, origin=replace(origin, altitude_m=1))
    short = laps.between(None, 30.0)
    still = with_positions(short, positions=np.ones_like(short.positions.positions))
    beyond = replace(QUICK, horizons=(0, 5000))
    for recordings, settings, words in (
        ([], QUICK, 'there is no recording to train on'),
        ([laps, with_positions(laps, frame_id='odom')], QUICK, 'different frames (map, odom)'),
        ([laps, there], QUICK, 'there: the positions on '),
        ([higher, there], QUICK, 'there: '),
        ([laps, replace(laps, name='bare', positions=None)], QUICK, 'bare: training needs pos'),
        ([laps.between(0, 0)], QUICK, 'no IMU sample in the part asked for; check --until'),
        # To a model of it everything but its own training would be novel.
        ([short, replace(short, name='copy')], QUICK, 'most windows occur twice with the same'),
        ([short, short], QUICK.with_method('spectral'), 'most windows occur twice'),
        ([still], QUICK, 'the vehicle never moves'),
        ([short], beyond, 'no position is known 5000 ticks after any training tick; shorten'),
    ):
        with pytest.raises(InputError) as caught:
            train_model(recordings, settings)
        assert words in str(caught.value)
        assert '\n' not in str(caught.value)


def test_what_lessens_a_model_is_in_its_notes(laps):
    """Dead channels, few states, and positions that say nothing of where it drove."""
    part = laps.between(None, 60.0)
    samples = part.imu.samples.copy()
    samples[:, 2:5] = 0.0
    order = np.random.default_rng(0).permutation(len(part.positions.positions))
    scrambled = with_positions(part, positions=part.positions.positions[order])
    worse = replace(with_imu(scrambled, samples=samples), notes=('a note',))
    model = train_model([worse], replace(QUICK, dimension=10))
    notes = model.summary['notes']
    assert 'a note' in notes
    assert any('linear_acceleration.z, angular_velocity.x, angular' in note for note in notes)
    assert any('share only 11 of the 40 states' in note for note in notes)
    assert 'the model is of no use' in notes[0]


@pytest.mark.parametrize(
    ('seconds', 'held_s', 'words'),
    [
        (48.0, 8.5, None),
        (48.0, 4.0, 'there are 6.0 laps, and 0.5 of one in the held-out blocks: the data are '),
        (16.0, 9.0, 'there are 2.0 laps, and 1.1 of one in the held-out blocks: the data are '),
        (16.0, 0.0, 'there are 2.0 laps: record at least five laps'),
        (6.0, 1.5, 'the positions never close a lap: the data are too few'),
    ],
)
def test_too_few_laps_are_said_in_one_sentence(drive, seconds, held_s, words):
    drives = module.measure_drives([drive(seconds=seconds)])
    notes = module.lap_notes(drives, held_s)
    assert [note.startswith(words or '-') for note in notes] == [True] * (words is not None)
    # The laps of all recordings count, but those that close none.
    expected = 2 * seconds / 8.0 if seconds > 8.0 else 0.0
    assert module.all_laps([*drives, *drives])[0] == pytest.approx(expected, abs=0.2)


def test_the_lag_is_that_of_the_bag_whatever_was_undone(drive):
    late = drive(late_s=0.2)
    silent = with_imu(late, samples=np.zeros_like(late.imu.samples))
    recordings = [late, late.with_positions_earlier(0.15), silent]
    rows = module.lag_summary(recordings, module.measure_drives(recordings))
    assert [row['corrected_s'] for row in rows] == [0.0, 0.15, 0.0]
    assert [row['found_s'] for row in rows[:2]] == pytest.approx([0.2, 0.2], abs=0.003)
    assert [row['uncertainty_s'] for row in rows[:2]] == pytest.approx([0.014, 0.014], abs=0.001)
    assert rows[2]['found_s'] is rows[2]['uncertainty_s'] is None
    settings = TrainingSettings(rate_hz=10.0, window=10, states=5, horizons=(0, 5))
    undone = drive(seconds=20.0, late_s=0.2).with_positions_earlier(0.2)
    summary = train_model([undone], settings).summary
    assert summary['laps'] == pytest.approx(2.5, abs=0.1)
    assert summary['position_lag'][0]['corrected_s'] == 0.2
    assert [note for note in summary['notes'] if note.startswith('there are 2.5 laps')]


OF_METHOD = {
    'route': TrainingSettings(states=2, horizons=(0,), max_step_load=0.0),
    'spectral': TrainingSettings(
        method='spectral', rate_hz=10.0, window=20, states=30, bandwidth_factor=1.4, neighbours=30,
        horizons=(0,),
    ),
    'tpsr': TrainingSettings(method='tpsr', features=200, horizons=(0,)),
}  # fmt: skip


def refusal(recording: Recording) -> dict[str, str] | None:
    """Return why no training of it can work, if what is followed errs as the mean position."""
    assert recording.positions is not None
    places = recording.positions.positions
    mean_m = float(np.linalg.norm(places - places.mean(axis=0), axis=1).mean())
    calibration = Calibration(np.zeros(2), np.ones(2))
    followed = Validation((), 1000, mean_m, mean_m, mean_m, mean_m, calibration)
    return module.judge([recording], followed, module.measure_drives([recording]))


DRIVES = {
    'circle': lambda: drive(lambda s: on_circle(s, 3.0)),
    'weaving': lambda: drive(weaving),
    'drifting': lambda: drive(eight(0.05), 180.0),
    'drifting away': lambda: drive(eight(1.0)),
    'positions end': lambda: without_positions(drive(track()), 10.8, 90.0),
    # The IMU is that of a straight road, and shows its noise alone.
    'noise': lambda: replace(drive(track()), imu=drive(lambda s: np.outer(s, [1, 0])).imu),
    'late by 30 s': lambda: drive(track(varied=0.2), 120.0, late_s=30.0),
    'at 5 Hz': lambda: drive(track(3.0, seed=2), rate_hz=5),
    'few laps': lambda: ellipse.drive(16.0),
    'ellipse': lambda: ellipse.drive(48.0),
    'stops': lambda: drive(with_stops(track(), 1 / 2, 8), 60.0),
}


@pytest.mark.parametrize(
    ('name', 'reason', 'words'),
    [
        ('weaving', 'imu_shows_no_place', 'alike, on a route with bends, stops or ramps'),
        ('drifting', 'laps_apart', 'nothing repeats, laps lie 2.5'),
        ('drifting away', 'nothing_repeats', 'nothing repeats, only 1% of the way is driven'),
        ('positions end', 'positions_missing', 'positions cover only 12%'),
        ('noise', 'imu_shows_no_place', 'of what /imu measures; check that this IMU'),
        ('late by 30 s', 'positions_late', 'are 30.0'),
        ('at 5 Hz', 'imu_slow', '/imu has 15 samples in a lap of 2.9'),
        ('few laps', 'few_laps', 'there are 2.0 laps'),
        ('ellipse', 'unknown', 'distinguish places that look alike'),
    ],
)
def test_what_cannot_work_is_named_with_the_likely_reason(name, reason, words):
    found = refusal(DRIVES[name]())
    assert found is not None
    assert found['reason'] == reason
    sentence = found['sentence']
    assert sentence.startswith('the model is of no use: ')
    assert words in sentence
    assert '(mean error on parts left out ' in sentence


@pytest.mark.parametrize(
    ('name', 'method', 'reason'),
    [
        ('circle', 'route', 'imu_shows_no_place'),
        ('noise', 'spectral', 'imu_shows_no_place'),
        ('noise', 'tpsr', 'imu_shows_no_place'),
        ('stops', 'route', None),
    ],
)
def test_a_training_says_so_if_it_has_not_worked_by_any_method(name, method, reason):
    summary = train_model([DRIVES[name]()], OF_METHOD[method]).summary
    found, validation = summary['refusal'], summary['validation']
    assert (found and found['reason']) == reason
    assert (validation['followed_m'] >= 0.5 * validation['mean_position_m']) == bool(reason)
    assert [note for note in summary['notes'] if 'of no use' in note] == (
        [found['sentence']] if found else []
    )


@pytest.mark.parametrize(
    ('off_m', 'often', 'rests', 'of_use'),
    [(0.1, 0.7, 0.5, True), (0.1, 0.3, 0.0, False), (0.9, 1.0, 0.0, False)],
)
def test_what_is_judged_is_what_would_be_published_of_what_drives(off_m, often, rests, of_use):
    # Of those that move; none of the others is published.
    ranks = np.linspace(0.0, 1.0, 1000)
    moves, published = ranks >= rests, ranks > 1.0 - often * (1.0 - rests)
    errors = np.full((1000, 2, 2), 5.0)
    errors[published] = [off_m, 0.0]
    truths = np.full((1000, 2, 2), 1.0)
    truths[:, 0] = [1.0, 0.0]
    truths[~moves, 1] = 0.0
    beside = beside_mean_position(errors, truths, np.zeros(2), 10.0, published)
    ends = Calibration(np.zeros(2), np.ones(2)), float(published.mean())
    assert Validation((), 1000, off_m, 10.0, *beside, *ends).of_use == of_use


@pytest.mark.parametrize('count', [1, 2])
def test_one_lap_in_each_of_two_recordings_repeats(count):
    """Nothing closes a lap in either, and nothing can be held out of so little."""
    whole = drive(track(20.0), 40.0)
    halves = [whole.between(None, 20.0), whole.between(20.0, None)][:count]
    found = module.judge(halves, 'each is short', module.measure_drives(halves))
    assert (found is None) == (count == 2)
    if found:
        assert found['sentence'].endswith('(no part could be left out and followed)')


def test_maps_of_one_atlas_tick_at_the_fastest_rate_that_suits_one_of_them(kart_drives):
    routes = [[kart_drives[name][0]] for name in ('paddock', 'hall')]
    settings = TrainingSettings(method='route')
    fast, slow = (with_time_scales(each, settings).rate_hz for each in routes)
    assert slow < fast
    assert with_one_rate(routes, settings) == replace(settings, rate_hz=fast)
    assert with_one_rate(routes[1:], settings).rate_hz is None
    assert with_one_rate(routes, replace(settings, rate_hz=slow)).rate_hz == slow
