# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A search changes what was not given by one step, and trials are compared on the same laps."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
import json

import numpy as np
from other_recordings import with_imu, with_positions
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training import tuning as module
from two_manifold_ros.training.cross_validation import Candidate, usual_candidate
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.following import usual_tuning
from two_manifold_ros.training.held_out import capped_mean, hold_out
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.training.tuning import (
    clearly_better,
    Failure,
    given_names,
    hold_time,
    Journal,
    key_of,
    laps_won,
    ORDER,
    Outcome,
    RouteFold,
    search,
    steps_around,
    Trial,
    TrialBench,
    Tried,
    tune,
)

USUAL = TrainingSettings(
    rate_hz=20.0, window=60, states=20, neighbours=30, horizons=(0, 10), sharpness=0.2,
    persistence=0.5,
)  # fmt: skip
SPECTRAL = replace(USUAL, method='spectral', bandwidth_factor=1.0, ridge=1.0)
BEFORE = Trial(1.0, ((1.0, 1.0, 1.0), (1.0, 1.0)))


def alike(error_m: float) -> Trial:
    """Return a trial with nearly the same error on four laps."""
    return Trial(error_m, ((0.99 * error_m, error_m), (error_m, 1.01 * error_m)))


@pytest.mark.parametrize(
    ('score_m', 'blocks', 'won', 'better'),
    [
        (0.9, ((0.9, 0.9, 0.92), (0.88, 0.9)), (5, 5), True),
        (0.981, ((0.9, 0.9, 0.92), (0.88, 0.9)), (5, 5), False),  # hardly better in total
        (0.9, ((0.9, 0.9, 0.92), (1.1, 1.1)), (3, 5), False),  # in one block of two
        (0.9, ((0.9, 0.9, 0.1), (0.9, 1.06)), (4, 5), False),  # one lap makes it
        (0.9, ((0.9, 0.9, None), (0.88, None)), (3, 3), True),
        (0.9, ((0.9, 0.91, None), (None, None)), (2, 2), True),  # the only block
        (0.9, ((0.9, None, None), (None, None)), (1, 1), False),  # one lap says nothing
        (1.1, ((1.1, 1.1, 1.1), (1.1, 1.2)), (0, 5), False),
        (0.9, ((0.5, 1.0, 2.0), (None, 0.9)), (2, 4), False),
    ],
)
def test_clearly_better(score_m, blocks, won, better):
    trial = Trial(score_m, blocks)
    assert laps_won(trial, BEFORE) == won
    assert clearly_better(trial, BEFORE) == better
    assert clearly_better(BEFORE, trial) == (score_m > 1.0)


def test_most_laps_and_most_blocks_have_to_be_won():
    """A mean gain of certain sign is not enough, and laps of one block may share one chance."""
    before = Trial(1.0, ((1.0,) * 4, (1.0,) * 4, (1.0,) * 12))
    assert not clearly_better(Trial(0.8, ((0.01,) * 4, (0.01,) * 4, (1.001,) * 12)), before)
    before = Trial(1.0, ((1.0,) * 10, (1.0,), (1.0,)))
    assert clearly_better(Trial(0.9, ((0.9,) * 10, (0.9,), (1.01,))), before)
    assert not clearly_better(Trial(0.9, ((0.9,) * 10, (1.01,), (1.01,))), before)


def test_chance_is_rarely_taken_for_a_gain():
    rng = np.random.default_rng(0)
    taken = 0
    for _ in range(2000):
        before, after = 1.0 + 0.2 * rng.normal(size=(2, 6))
        trials = [Trial(float(each.mean()), (tuple(each),)) for each in (before, after)]
        taken += clearly_better(trials[1], trials[0])
    assert 10 <= taken <= 60


@pytest.mark.parametrize(
    ('name', 'change', 'values'),
    [
        ('sharpness', {}, [0.1, 0.4]),
        ('window', {}, [30, 120]),
        ('window', {'window': 19}, [38]),
        ('neighbours', {'kernel': 'gaussian'}, []),
        ('neighbours', {'kernel': 'isomap'}, [15, 60]),
        ('kernel', {}, ['gaussian', 'locally-linear', 'diffusion-map-beltrami']),
        ('observation', {}, ['ridge']),
        ('bandwidth_factor', {'bandwidth_factor': 1.4}, [1.0, 2.0]),
        ('ridge', {'ridge': 1.0}, []),
        ('ridge', {'ridge': 1.0, 'observation': 'ridge'}, [0.3, 3.0]),
    ],
)
def test_one_step_along_a_setting(name, change, values):
    settings = replace(USUAL, **change)
    around = steps_around(name, settings, USUAL, 100.0)
    assert around == [replace(settings, **{name: value}) for value in values]


@pytest.mark.parametrize(
    ('change', 'native_hz', 'rates'),
    [
        ({}, 100.0, {10.0: (30, (0, 5)), 40.0: (120, (0, 20))}),
        ({'horizons': (0, 5)}, 100.0, {40.0: (120, (0, 10))}),  # 2.5 ticks are no horizon
        ({}, 39.0, {10.0: (30, (0, 5)), 40.0: (120, (0, 20))}),
        ({}, 38.0, {10.0: (30, (0, 5))}),
        # Not a quarter of the rate at the start.
        ({'rate_hz': 10.0, 'window': 30, 'horizons': (0, 4)}, 100.0, {20.0: (60, (0, 8))}),
    ],
)
def test_a_rate_keeps_the_times_of_window_and_horizons(change, native_hz, rates):
    around = steps_around('rate_hz', replace(USUAL, **change), USUAL, native_hz)
    assert {each.rate_hz: (each.window, each.horizons) for each in around} == rates


def test_what_was_given_stays():
    assert given_names(TrainingSettings(sharpness=0.3)) == {'sharpness'}
    spectral = TrainingSettings(method='spectral', states=9, ridge=0.5)
    given = given_names(spectral, ['kernel', 'dimension'])
    assert given == {'states', 'ridge', 'kernel', 'dimension'}
    assert not given_names(TrainingSettings())

    def changed(start: TrainingSettings, given: frozenset[str]) -> list[str]:
        alike = Trial(1.0, ((1.0, 1.0),))
        _, table = search(start, given, 100.0, lambda all_: [alike] * len(all_), 99)
        names = [
            next(name for name in ('rate_hz', *ORDER[start.method])
                 if getattr(each, name) != getattr(start, name))
            for each in table if each != start
        ]  # fmt: skip
        return list(dict.fromkeys(names))

    assert changed(USUAL, frozenset({'sharpness'})) == ['persistence', 'rate_hz']
    assert changed(SPECTRAL, given) == [
        'bandwidth_factor', 'window', 'neighbours', 'rate_hz', 'readout', 'observation',
        'coupling',
    ]  # fmt: skip


def climb(
    start: TrainingSettings, attempt: Callable[[TrainingSettings], Outcome], trials: int = 99
) -> tuple[TrainingSettings, dict[TrainingSettings, Tried]]:
    free = {'bandwidth_factor', 'states'}

    def attempt_all(wanted: Sequence[TrainingSettings]) -> list[Outcome]:
        return [attempt(each) for each in wanted]

    return search(start, set(ORDER['spectral']) - free, 100.0, attempt_all, trials)


def error_m(settings: TrainingSettings) -> float:
    """Return an error that is lowest at bandwidth 2 with 60 states, and else at 1 with 20."""
    states, bandwidth = settings.states or 0, settings.bandwidth_factor or 0.0
    return 1.0 + 0.1 * abs(states - 60) / 20 + abs(bandwidth - (2.0 if states >= 40 else 1.0))


def test_it_climbs_and_goes_round_again():
    start = replace(SPECTRAL, states=40)
    best, table = climb(start, lambda settings: alike(error_m(settings)))
    assert best == replace(start, bandwidth_factor=2.0, states=60)
    order = [(each.bandwidth_factor, each.states) for each in table]
    assert order == [
        (1.0, 40), (0.7, 40), (1.4, 40), (2.0, 40), (2.8, 40),  # along the bandwidth
        (2.0, 20), (2.0, 60), (2.0, 80),
        (1.4, 60), (2.8, 60),  # the second round
    ]  # fmt: skip
    rivals = [rival and rival.bandwidth_factor for _, rival in table.values()]
    assert rivals == [None, 1.0, 1.0, 1.4, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    # The budget holds, and what was tried counts.
    for trials, bandwidth in ((1, 1.0), (2, 1.0), (3, 1.4), (4, 2.0)):
        best, table = climb(start, lambda settings: alike(error_m(settings)), trials)
        assert len(table) == trials
        assert best.bandwidth_factor == bandwidth


def test_a_failure_is_passed_over_and_without_a_clear_gain_nothing_changes():
    def attempt(settings: TrainingSettings) -> Outcome:
        if settings.bandwidth_factor == 1.4:
            return Failure('too wide')
        return alike(1.0 - 0.1 * (settings.states == 10))

    best, table = climb(SPECTRAL, attempt)
    assert best == replace(SPECTRAL, states=10)
    assert table[replace(SPECTRAL, bandwidth_factor=1.4)][0] == Failure('too wide')
    with pytest.raises(InputError, match='too short'):
        climb(SPECTRAL, lambda _: Failure('too short'))
    best, table = climb(SPECTRAL, lambda each: alike(1.0 - 0.01 * (each != SPECTRAL)))
    assert best == SPECTRAL
    assert len(table) == 5


def test_trials_come_back(tmp_path):
    path = tmp_path / 'm.tuning.json'
    journal = Journal(path, 'key')
    assert len(journal) == 0
    assert not path.exists()
    other = replace(USUAL, window=30)
    trial = Trial(1 / 3, [[0.1 + 0.2, None], [1e-17]])
    journal.keep(USUAL, trial)
    journal.keep(other, Failure('why'))
    assert list(tmp_path.iterdir()) == [path]
    json.loads(path.read_text(), parse_constant=pytest.fail)
    again = Journal(path, 'key')
    assert len(again) == 2
    assert (again.find(USUAL), again.find(other)) == (trial, Failure('why'))
    assert again.find(replace(USUAL, window=31)) is None
    for forgetful in (Journal(path, 'other key'), Journal(path, 'key', resume=False)):
        assert len(forgetful) == 0
        assert forgetful.find(USUAL) is None
    with pytest.raises(InputError, match='the trials cannot be written'):
        Journal(tmp_path / 'none' / 'm', 'key').keep(USUAL, Failure('why'))


@pytest.mark.parametrize('text', ['', 'notes', '[1]', '{"format": "another"}', '{}'])
def test_what_is_no_journal_is_left_alone(text, tmp_path):
    path = tmp_path / 'm.tuning.json'
    path.write_text(text)
    with pytest.raises(InputError, match=r'm\.tuning\.json: the journal of a tuning is refused'):
        Journal(path, 'key', resume=False)
    assert path.read_text() == text


def test_the_key_is_of_data_settings_and_what_is_given(drive):
    recording = drive(4.0)
    key = key_of([recording], USUAL, {'states'})
    assert key == key_of([replace(drive(4.0), name='moved')], USUAL, ['states'])
    samples, places = recording.imu.samples.copy(), recording.positions.positions.copy()
    samples[-1, -1] += 1e-9
    places[-1, -1] += 1e-9
    others = {
        key_of([with_imu(recording, samples=samples)], USUAL, {'states'}),
        key_of([recording.with_positions_earlier(-0.1)], USUAL, {'states'}),
        key_of([with_positions(recording, positions=places)], USUAL, {'states'}),
        key_of([recording, recording], USUAL, {'states'}),
        key_of([recording], replace(USUAL, horizons=(0,)), {'states'}),
        key_of([recording], USUAL, set()),
    }
    assert len({key, *others}) == 7


def test_the_key_is_of_the_program(drive, tmp_path, monkeypatch):
    monkeypatch.setattr(module, '__file__', str(tmp_path / 'training' / 'tuning.py'))
    keys = []
    for text in ('one', 'other', 'one'):
        (tmp_path / 'any.py').write_text(text)
        keys.append(key_of([drive(4.0)], USUAL, ()))
    assert keys[0] == keys[2] != keys[1]


SETTINGS = TrainingSettings(window=20, horizons=(0, 6))
GIVEN = frozenset[str]()


@pytest.fixture(scope='module')
def laps(slot_car_laps: tuple[Recording, Recording]) -> list[Recording]:
    """Return twelve laps in one recording, hardly more than a tuning needs."""
    return [slot_car_laps[0].between(None, 115.0)]


@pytest.fixture(scope='module')
def bench(laps: list[Recording]) -> TrialBench:
    """Return a bench over the slot car."""
    dataset = build_dataset(laps, SETTINGS)
    held_time = hold_time(laps, dataset)
    return TrialBench(laps, dataset, held_time)


SETTLED = replace(SETTINGS, rate_hz=10.0, sharpness=usual_tuning(SETTINGS).sharpness)


def test_a_trial_is_the_score_of_a_validation(bench, laps):
    """On all of the blocks, where the window and the rate are the usual ones."""
    dataset = build_dataset(laps, SETTINGS)
    fit, held = hold_out(dataset.segments, dataset.window)
    trial = bench(SETTLED)
    squares = RouteFold(fit, held, dataset, SETTINGS).squared_errors(SETTINGS)
    positions = np.concatenate([segment.positions for segment in fit])
    lost_m = 0.25 * float(np.sqrt(np.nanvar(positions, axis=0).sum()))
    score_m = capped_mean(np.concatenate([square[20:] for square in squares]), lost_m)
    assert trial.score_m == pytest.approx(score_m, rel=1e-9)
    assert len(trial.blocks) == len(held)
    for errors, square in zip(trial.blocks, squares, strict=True):
        seconds = 0.1 * (len(square) - 20)
        assert len(errors) == max(round(seconds / 9.6), 1)
        if len(errors) == 1:
            wanted = np.minimum(np.sqrt(square[20:]), lost_m)
            assert errors[0] == pytest.approx(np.nanmean(wanted))


def test_what_cannot_be_tried_says_why(bench):
    for change, words in (
        ({'rate_hz': 50.0}, 'slower than the 50 Hz asked for'),
        ({'window': 200, 'method': 'spectral'}, 'at least 50 are needed'),
        ({'window': 400}, 'windows of 400 ticks at 10 Hz leave too little'),
    ):
        assert words in bench(replace(SETTLED, **change)).reason


def test_the_same_twice_and_resumed(laps, tmp_path, monkeypatch):
    whole = tune(laps, SETTINGS, GIVEN, trials=6)
    json.dumps(whole.summary, allow_nan=False)
    assert len(whole.summary['trials']) == 6

    class Stopping(TrialBench):
        def __call__(self, settings: TrainingSettings) -> Outcome:
            left.pop()
            return super().__call__(settings)

    left = [1, 2, 3]
    monkeypatch.setattr(module, 'TrialBench', Stopping)
    path = tmp_path / 'journal'
    with pytest.raises(IndexError):
        tune(laps, SETTINGS, GIVEN, 6, Journal(path, 'key'))
    assert len(Journal(path, 'key')) == 3
    left += [1, 2, 3]
    resumed = tune(laps, SETTINGS, GIVEN, 6, Journal(path, 'key'))
    assert not left
    assert resumed == whole
    model = train_model(laps, whole.settings)
    for name, tuning in (('a', whole), ('b', resumed)):
        save_model(tuning.noted_in(model), tmp_path / name)
    assert (tmp_path / 'a').read_bytes() == (tmp_path / 'b').read_bytes()


def test_a_tpsr_is_tuned_by_its_own_numbers(laps):
    """Ridges and bandwidths change its errors, and it starts from the usual ones."""
    settings = TrainingSettings(
        method='tpsr', rate_hz=10.0, window=20, states=20, features=100, horizons=(0, 10)
    )
    tuning = tune(laps, settings, ('states', 'window', 'rate_hz'), trials=5)
    trials = tuning.summary['trials']
    names = [tuple(each['changed']) for each in trials]
    assert names[0] == ()
    assert {('bandwidth_factor',), ('ridge',)} <= set(names)
    scores = [each['score_m'] for each in trials]
    assert all(score > 0.0 for score in scores)
    assert len(set(scores)) == len(scores)


def test_the_summary_lists_the_changes(laps, monkeypatch):
    def attempt(settings: TrainingSettings) -> Outcome:
        """Return an error that is lower with less persistence."""
        if settings.sharpness == 0.4:
            return Failure('too sharp')
        return alike(10.0 * (settings.persistence or 0.0))

    monkeypatch.setattr(module, 'TrialBench', lambda *_: attempt)
    reported: list[tuple[str, float]] = []
    settings = replace(SETTINGS, sharpness=0.2, persistence=0.5)
    tuning = tune(laps, settings, GIVEN, 7, progress=lambda *what: reported.append(what))
    assert tuning.settings.persistence == 0.05
    summary = tuning.summary
    assert (summary['untuned'], summary['changed']) == (
        {'persistence': 0.5}, {'persistence': 0.05}
    )  # fmt: skip
    assert (summary['untuned_m'], summary['tuned_m']) == (5.0, 0.5)
    assert summary['laps'] == pytest.approx(3.1, abs=0.2)
    changes = [row['changed'] for row in summary['trials']]
    assert changes == [
        {}, {'sharpness': 0.1}, {'sharpness': 0.4}, {'persistence': 0.2}, {'persistence': 1.0},
        {'persistence': 0.1}, {'persistence': 0.05},
    ]  # fmt: skip
    failed = summary['trials'][2]
    assert failed == {
        'changed': {'sharpness': 0.4}, 'score_m': None, 'laps_won': None, 'failed': 'too sharp'
    }  # fmt: skip
    assert summary['trials'][3]['laps_won'] == [4, 4]
    assert [share for _, share in reported] == pytest.approx([index / 7 for index in range(7)])


def test_it_starts_from_what_is_trained_without_it(slot_car_laps, spectral_model, monkeypatch):
    """And where nothing is better, that is what is trained."""
    settings = replace(SETTINGS, method='spectral', horizons=spectral_model.horizons)
    starts: list[TrainingSettings] = []

    def attempt(tried: TrainingSettings) -> Outcome:
        starts.append(tried)
        return Trial(1.0, ((1.0, 1.0), (1.0, 1.0)))

    monkeypatch.setattr(module, 'TrialBench', lambda *_: attempt)
    tuning = tune(slot_car_laps[:1], settings, GIVEN, 3)
    assert asdict(usual_candidate(starts[0])) == spectral_model.summary['chosen']
    assert (starts[0].rate_hz, starts[0].window) == (10.0, spectral_model.window)
    # When the observation operator gets a ridge, it is the usual one.
    ridged = usual_candidate(replace(starts[0], observation='ridge'))
    assert ridged.ridge == usual_candidate(replace(settings, observation='ridge')).ridge
    assert len(starts) == 3
    assert tuning.settings == settings
    assert tuning.summary['changed'] == {}


@pytest.mark.parametrize(
    ('seconds', 'window', 'words'),
    [
        (48.0, 60, '1.5 laps in 1 block(s) can be held out, but 3 laps in 2 are needed'),
        (48.0, 20, '1.5 laps in 2 block(s) can be held out'),
        (7.5, 20, 'the positions never close a lap'),
    ],
)
def test_too_short_a_recording_is_not_tuned(drive, seconds, window, words):
    settings = TrainingSettings(window=window)
    tuning = tune([drive(seconds)], settings, given_names(settings))
    assert tuning.settings == settings
    assert tuning.summary['trials'] == []
    assert words in tuning.summary['note']


@pytest.mark.parametrize('method', ['route', 'spectral'])
def test_what_is_left_may_be_too_short(method, laps, monkeypatch):
    def refuse(*_: object) -> Candidate:
        msg = 'only 3 ticks'
        raise InputError(msg)

    for name in ('validate', 'RouteFold'):
        monkeypatch.setattr(module, name, refuse)
    settings = replace(SETTINGS, method=method)
    tuning = tune(laps, settings, GIVEN)
    assert tuning.settings == settings
    assert 'only 3 ticks' in tuning.summary['note']
