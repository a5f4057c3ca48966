# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cannot be learned is said to be of no use, with the likely reason; what can is not."""

from drives_of_no_use import circle, drive, eight, track, weaving, with_noise_alone, with_stops
import ellipse
import numpy as np
from other_recordings import with_imu, without_positions
import pytest

from two_manifold_ros.hse_hmm.readout import Calibration
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training.held_out import beside_mean_position, Validation
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.summary import judge, measure_drives
from two_manifold_ros.training.train import train_model

QUICK = {
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
    return judge([recording], followed, measure_drives([recording]))


DRIVES = {
    'circle': lambda: drive(circle(3.0, 6.3)),
    'circle far away': lambda: drive(circle(30.0, 21.0), blurred_m=0.3),
    'weaving': lambda: drive(weaving),
    'drifting': lambda: drive(eight(0.05), 180.0),
    'drifting away': lambda: drive(eight(1.0)),
    'one lap': lambda: drive(track(30.0), 30.0),
    'positions end': lambda: without_positions(drive(track()), 10.8, 90.0),
    'noise': lambda: with_noise_alone(drive(track())),
    'another drive': lambda: with_imu(drive(track()), samples=drive(weaving).imu.samples),
    'late by 30 s': lambda: drive(track(varied=0.2), 120.0, late_s=30.0),
    'late by 1.8 s': lambda: drive(track(4.0, 0.6), late_s=1.8),
    'at 5 Hz': lambda: drive(track(3.0, seed=2), rate_hz=5),
    'few laps': lambda: ellipse.drive(16.0),
    'ellipse': lambda: ellipse.drive(48.0),
    'track': lambda: drive(track()),
    'three laps': lambda: drive(track(), 32.0),
    'stops': lambda: drive(with_stops(track(), 1 / 2, 8), 60.0),
}


@pytest.mark.parametrize(
    ('name', 'reason', 'words'),
    [
        ('circle', 'circle', 'speed and rate of turn are the same everywhere'),
        ('circle far away', 'circle', 'train on a route with bends, stops or ramps'),
        ('weaving', 'laps_differ', 'no lap is driven like the others'),
        ('drifting', 'laps_apart', 'nothing repeats, laps lie 2.5'),
        (
            'drifting away',
            'nothing_repeats',
            'nothing repeats, only 1% of the way is driven twice',
        ),
        ('one lap', 'nothing_repeats', 'drive at least five laps'),
        ('positions end', 'positions_missing', 'positions cover only 12%'),
        ('noise', 'no_signal', 'of what /imu measures, and there is no signal in it'),
        ('another drive', 'times_unrelated', 'times of positions and IMU are unrelated'),
        ('late by 30 s', 'positions_late', 'are 30.0'),
        ('late by 1.8 s', 'positions_late', 'are 1.8'),
        ('at 5 Hz', 'imu_slow', '/imu has 15 samples in a lap of 2.9'),
        ('few laps', 'few_laps', 'there are 2.0 laps'),
        ('ellipse', 'places_alike', 'looks the same on several parts of a lap'),
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
        ('circle', 'route', 'circle'),
        ('noise', 'spectral', 'no_signal'),
        ('noise', 'tpsr', 'no_signal'),
        ('three laps', 'route', None),
        ('stops', 'route', None),
    ],
)
def test_a_training_says_so_if_it_has_not_worked_by_any_method(name, method, reason):
    summary = train_model([DRIVES[name]()], QUICK[method]).summary
    found, validation = summary['refusal'], summary['validation']
    assert (found and found['reason']) == reason
    assert (validation['followed_m'] >= 0.5 * validation['mean_position_m']) == bool(reason)
    assert [note for note in summary['notes'] if 'of no use' in note] == (
        [found['sentence']] if found else []
    )


@pytest.mark.parametrize(
    ('off_m', 'often', 'rests', 'of_use'),
    [
        (0.1, 0.7, 0.0, True),
        (0.1, 0.7, 0.5, True),
        (0.1, 0.3, 0.0, False),
        (0.1, 0.05, 0.9, False),
        (0.9, 1.0, 0.0, False),
    ],
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
    found = judge(halves, 'each is short', measure_drives(halves))
    assert (found is None) == (count == 2)
    if found:
        assert found['sentence'].endswith('(no part could be left out and followed)')
