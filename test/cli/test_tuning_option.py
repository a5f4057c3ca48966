# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold train --tune`."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from command_runs import Command
import pytest

from two_manifold_ros.cli.info import in_a_sentence, print_tuning
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training import tuning as tune_module
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.tuning import Failure, Outcome, Trial

OPTIONS = ['--window', '10', '--horizons', '0,5', '--kernel', 'gaussian', '--rate', '5']
"""So that sharpness and persistence of a route are left."""


@pytest.fixture(scope='module')
def long_bag(
    tmp_path_factory: pytest.TempPathFactory,
    write_bag: Callable[..., Path],
    slot_car_laps: tuple[Recording, Recording],
) -> Path:
    """Return twelve laps of the slot car, hardly more than a tuning needs."""
    laps = slot_car_laps[0].between(None, 115.0)
    return write_bag(tmp_path_factory.mktemp('long') / 'bag', laps)


class Trials:
    """Made-up errors, lower with less persistence; a trial is interrupted on request."""

    def __init__(self) -> None:
        self.tried: list[TrainingSettings] = []
        self.interrupt_at = -1

    def __call__(self, settings: TrainingSettings) -> Outcome:
        if len(self.tried) == self.interrupt_at:
            raise KeyboardInterrupt
        self.tried.append(settings)
        if settings.sharpness == 0.1:
            return Failure('not now')
        error_m = 0.4 * (settings.persistence or 0.0)
        return Trial(error_m, ((0.99 * error_m, error_m), (error_m, 1.01 * error_m)))


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Trials:
    """Return what is run in the place of real trials."""
    made_up = Trials()
    monkeypatch.setattr(tune_module, 'TrialBench', lambda *_: made_up)
    # What would be fitted without a tuning is then what is usual.
    fold = SimpleNamespace(passes=SimpleNamespace(persistence=0.5))
    monkeypatch.setattr(tune_module, 'RouteFold', lambda *_: fold)
    return made_up


def test_the_model_is_trained_with_what_was_found(
    long_bag: Path, tmp_path: Path, trials: Trials, command: Command
) -> None:
    path = tmp_path / 'm.npz'
    said = command.words('train', long_bag, '-o', path, '--tune', *OPTIONS)
    sentence = 'tuning: persistence 0.5 -> 0.05: held-out error 0.200 -> 0.020 m (90 % less)'
    for words in (
        sentence,
        '-> persistence 0.05 4 of 4 0.020',
        '(untuned) 0.200',
        'failed: sharpness 0.1: not',
    ):
        assert words in said
    model = load_model(path)
    assert model.summary['chosen']['persistence'] == 0.05
    assert len(model.summary['validation']['compared']) == 1
    assert len(model.summary['tuning']['trials']) == len(trials.tried) == 9
    assert sentence in command.words('info', path)


def test_what_was_given_is_not_tuned_and_trials_are_counted(
    long_bag: Path, tmp_path: Path, trials: Trials, command: Command
) -> None:
    options = ['--tune', '--trials', '3', '--sharpness', '0.3', *OPTIONS]
    content = command.json('train', long_bag, '-o', tmp_path / 'm', *options)
    assert len(content['tuning']['trials']) == len(trials.tried) == 3
    for each in trials.tried:
        assert (each.sharpness, each.kernel, each.rate_hz) == (0.3, 'gaussian', 5.0)


def test_interrupted_it_goes_on_where_it_was(
    long_bag: Path, tmp_path: Path, trials: Trials, command: Command
) -> None:
    path = tmp_path / 'm'
    arguments = ['train', long_bag, '-o', path, '--tune', '--trials', '5', *OPTIONS]
    trials.interrupt_at = 0
    assert 'stopped' not in command(*arguments, status=130).err
    assert not list(tmp_path.iterdir())
    trials.interrupt_at = 2
    journal = f'{path}.tuning.json'
    said = command(*arguments, status=130).err
    assert f'stopped: 2 trials are kept in {journal}, from which the' in said
    assert not path.exists()
    trials.interrupt_at = -1
    command(*arguments)
    assert len(trials.tried) == len(set(trials.tried)) == 5
    resumed = path.read_bytes()
    command(*arguments, '--no-resume')
    assert len(trials.tried) == 10
    assert path.read_bytes() == resumed


def test_too_short_a_recording_says_so_and_is_trained_on(
    slot_car_bag: Path, tmp_path: Path, command: Command
) -> None:
    path = tmp_path / 'm'
    options = ['--tune', '--window', '20', '--horizons', '0,5', '--until', '30']
    said = command('train', slot_car_bag, '-o', path, *options).out
    assert 'note: nothing was tuned: the recording is too short to choose settings: ' in said
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ('--trials 9', '--trials is about tuning: add --tune, or leave it out'),
        ('--no-resume', '--no-resume is about tuning: add --tune, or leave it out'),
        ('--tune --trials 0', '--trials 0 must be at least 1'),
        ('--tune --method paper', '--method paper settles everything itself: leave out --tune'),
    ],
)
def test_options_that_make_no_sense(
    options: str, words: str, tmp_path: Path, command: Command
) -> None:
    assert words in command.refused('train', 'bag', '-o', tmp_path / 'm', *options.split())


def test_a_file_in_the_place_of_the_journal(
    long_bag: Path, tmp_path: Path, command: Command
) -> None:
    notes = tmp_path / 'm.tuning.json'
    notes.write_text('mine')
    line = command.refused('train', long_bag, '-o', tmp_path / 'm', '--tune', *OPTIONS)
    assert f'{notes} exists and is no journal of a tuning' in line
    assert notes.read_text() == 'mine'


def summary_of(changed: dict[str, Any], rows: int) -> dict[str, Any]:
    trials = [
        {'changed': {'window': 60 + row}, 'score_m': 1.0 - 0.01 * row, 'laps_won': [1, 2]}
        for row in range(rows)
    ]
    return {
        'note': None, 'laps': 4.0, 'untuned_m': 1.0, 'tuned_m': 0.8, 'trials': trials,
        'untuned': dict.fromkeys(changed, 1), 'changed': changed,
    }  # fmt: skip


def test_the_ten_best_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_tuning(summary_of({'window': 71}, 12))
    said = capsys.readouterr().out
    shown = [line.split()[-1] for line in said.splitlines() if ' 1 of 2 ' in line]
    assert shown == [f'{1.0 - 0.01 * row:.3f}' for row in reversed(range(2, 12))]
    assert 'best of 12 trials over 4.0 held-out laps' in said


def test_changes_in_words() -> None:
    changed = {'refined': False, 'horizons': [0, 5], 'kernel': 'gaussian', 'sharpness': 0.25}
    assert in_a_sentence(summary_of(changed, 0)) == (
        'tuning: refined 1 -> no, horizons 1 -> 0,5, kernel 1 -> gaussian, sharpness 1 -> 0.25: '
        'held-out error 1.000 -> 0.800 m (20 % less)'
    )
    nothing = in_a_sentence(summary_of({}, 0))
    assert nothing == 'tuning: nothing is better by more than chance than the settings without it'
