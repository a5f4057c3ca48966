# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A search changes what was not given, by one step, and is the same twice."""

from __future__ import annotations

from dataclasses import asdict, replace
import json
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.training import tuning as tune_module
from two_manifold_ros.training.cross_validation import usual_candidate
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.held_out import capped_mean, hold_out
from two_manifold_ros.training.route import RouteFold, usual_tuning
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.training.tuning import (
    given_names,
    ORDER,
    search,
    settle,
    steps_around,
    Tried,
    tune,
)
from two_manifold_ros.training.tuning_trials import (
    Failure,
    HeldTime,
    hold_time,
    Journal,
    Outcome,
    Trial,
    TrialBench,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording


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
def test_one_step_along_a_setting(
    name: str, change: dict[str, Any], values: list[Any], usual: TrainingSettings
) -> None:
    settings = replace(usual, **change)
    around = steps_around(name, settings, usual, 100.0)
    assert [getattr(each, name) for each in around] == values
    assert [replace(each, **{name: getattr(settings, name)}) for each in around] == [
        settings
    ] * len(values)


@pytest.mark.parametrize(
    ('horizons', 'native_hz', 'rates'),
    [
        ((0, 10), 100.0, {10.0: (30, (0, 5)), 40.0: (120, (0, 20))}),
        ((0, 5), 100.0, {40.0: (120, (0, 10))}),  # 2.5 ticks are no horizon
        ((0, 10), 39.0, {10.0: (30, (0, 5)), 40.0: (120, (0, 20))}),
        ((0, 10), 38.0, {10.0: (30, (0, 5))}),
    ],
)
def test_a_rate_keeps_the_times_of_window_and_horizons(
    horizons: tuple[int, ...],
    native_hz: float,
    rates: dict[float, tuple[int, tuple[int, ...]]],
    usual: TrainingSettings,
) -> None:
    usual = replace(usual, horizons=horizons)
    around = steps_around('rate_hz', usual, usual, native_hz)
    assert {each.rate_hz: (each.window, each.horizons) for each in around} == rates


def test_a_rate_stays_near_the_usual_one(usual: TrainingSettings) -> None:
    slow = replace(usual, rate_hz=10.0, window=30, horizons=(0, 4))
    assert [each.rate_hz for each in steps_around('rate_hz', slow, usual, 100.0)] == [20.0]


def test_a_ridge_is_settled_before_it_is_used(
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    settings = TrainingSettings(method='spectral', horizons=(0, 5))
    dataset = build_dataset(slot_car_laps[:1], settings)
    settled = settle(settings, dataset, usual_candidate(settings))
    ridged = replace(settled, observation='ridge')
    assert usual_candidate(ridged) == usual_candidate(replace(settings, observation='ridge'))


def test_what_was_given_stays(usual: TrainingSettings) -> None:
    assert given_names(TrainingSettings(sharpness=0.3)) == {'sharpness'}
    given = given_names(
        TrainingSettings(method='spectral', states=9, ridge=0.5), ['kernel', 'dimension']
    )
    assert given == {'states', 'ridge', 'kernel', 'dimension'}
    assert not given_names(TrainingSettings())

    def changed(start: TrainingSettings, given: frozenset[str]) -> list[str]:
        _, table = search(start, given, 100.0, lambda _: Trial(1.0, ((1.0, 1.0),)), 99)
        names = [
            next(name for name in ('rate_hz', *ORDER[start.method])
                 if getattr(each, name) != getattr(start, name))
            for each in table if each != start
        ]  # fmt: skip
        return list(dict.fromkeys(names))

    assert changed(usual, frozenset({'sharpness'})) == ['persistence', 'rate_hz']
    spectral = replace(usual, method='spectral', bandwidth_factor=1.0, ridge=1.0)
    assert changed(spectral, given) == [
        'bandwidth_factor', 'window', 'neighbours', 'rate_hz', 'readout', 'observation',
        'coupling',
    ]  # fmt: skip


FREE = ('bandwidth_factor', 'states')


@pytest.fixture
def spectral(usual: TrainingSettings) -> TrainingSettings:
    """Return settings of the spectral filter, of which more is tuned."""
    return replace(usual, method='spectral', bandwidth_factor=1.0, ridge=1.0)


def climb(
    start: TrainingSettings, attempt: Callable[[TrainingSettings], Outcome], trials: int = 99
) -> tuple[TrainingSettings, dict[TrainingSettings, Tried]]:
    return search(start, set(ORDER['spectral']) - set(FREE), 100.0, attempt, trials)


def error_m(settings: TrainingSettings) -> float:
    """Return an error that is lowest at bandwidth 2 with 60 states, and else at 1 with 20."""
    states, bandwidth = settings.states or 0, settings.bandwidth_factor or 0.0
    return 1.0 + 0.1 * abs(states - 60) / 20 + abs(bandwidth - (2.0 if states >= 40 else 1.0))


def test_it_climbs_and_goes_round_again(
    spectral: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    start = replace(spectral, states=40)
    best, table = climb(start, lambda settings: alike(error_m(settings)))
    assert best == replace(start, bandwidth_factor=2.0, states=60)
    order = [(each.bandwidth_factor, each.states) for each in table]
    assert order == [
        (1.0, 40), (0.7, 40), (1.4, 40), (2.0, 40), (2.8, 40),  # along the bandwidth
        (2.0, 20), (2.0, 60), (2.0, 80),
        (1.4, 60), (2.8, 60),  # the second round
    ]  # fmt: skip
    rivals = [each.rival and each.rival.bandwidth_factor for each in table.values()]
    assert rivals == [None, 1.0, 1.0, 1.4, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]


def test_the_budget_holds_and_what_was_tried_counts(
    spectral: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    start = replace(spectral, states=40)
    for trials, bandwidth in ((1, 1.0), (2, 1.0), (3, 1.4), (4, 2.0)):
        best, table = climb(start, lambda settings: alike(error_m(settings)), trials)
        assert len(table) == trials
        assert best.bandwidth_factor == bandwidth


def test_a_failure_is_passed_over(
    spectral: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    def attempt(settings: TrainingSettings) -> Outcome:
        if settings.bandwidth_factor == 1.4:
            return Failure('too wide')
        return alike(1.0 - 0.1 * (settings.states == 10))

    best, table = climb(spectral, attempt)
    assert best == replace(spectral, states=10)
    assert table[replace(spectral, bandwidth_factor=1.4)].outcome == Failure('too wide')
    with pytest.raises(InputError, match='too short'):
        climb(spectral, lambda _: Failure('too short'))


SETTINGS = TrainingSettings(window=20, horizons=(0, 6))
SPECTRAL = replace(SETTINGS, method='spectral')
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
    assert isinstance(held_time, HeldTime)
    return TrialBench(laps, dataset, held_time)


@pytest.fixture(scope='module')
def settled(laps: list[Recording]) -> TrainingSettings:
    """Return the usual settings, nothing left open."""
    dataset = build_dataset(laps, SETTINGS)
    return settle(SETTINGS, dataset, usual_tuning(SETTINGS))


def test_a_trial_is_the_score_of_a_validation(
    bench: TrialBench, settled: TrainingSettings, laps: list[Recording]
) -> None:
    """On all of the blocks, where the window and the rate are the usual ones."""
    dataset = build_dataset(laps, SETTINGS)
    fit, held = hold_out(dataset.segments, dataset.window)
    trial = bench(settled)
    assert isinstance(trial, Trial)
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


def test_what_cannot_be_tried_says_why(bench: TrialBench, settled: TrainingSettings) -> None:
    def reason(**change: Any) -> str:  # noqa: ANN401 - of settings
        outcome = bench(replace(settled, **change))
        assert isinstance(outcome, Failure)
        return outcome.reason

    assert 'slower than the 50 Hz asked for' in reason(rate_hz=50.0)
    assert 'at least 50 are needed' in reason(window=200, method='spectral')
    assert 'windows of 400 ticks at 10 Hz leave too little' in reason(window=400)
    assert isinstance(bench(settled), Trial)


def test_the_same_twice_and_resumed(
    laps: list[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tune(laps, SETTINGS, GIVEN, trials=6)
    json.dumps(whole.summary, allow_nan=False)
    assert len(whole.summary['trials']) == 6

    class Stopping(TrialBench):
        def __call__(self, settings: TrainingSettings) -> Outcome:
            left.pop()
            return super().__call__(settings)

    left = [1, 2, 3]
    monkeypatch.setattr(tune_module, 'TrialBench', Stopping)
    path = tmp_path / 'journal'
    with pytest.raises(IndexError):
        tune(laps, SETTINGS, GIVEN, 6, Journal(path, 'key'))
    assert len(Journal(path, 'key')) == 3
    left = [1, 2, 3]
    resumed = tune(laps, SETTINGS, GIVEN, 6, Journal(path, 'key'))
    assert not left
    assert resumed == whole
    model = train_model(laps, whole.settings)
    for name, tuning in (('a', whole), ('b', resumed)):
        save_model(tuning.noted_in(model), tmp_path / name)
    assert (tmp_path / 'a').read_bytes() == (tmp_path / 'b').read_bytes()


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch, alike: Callable[[float], Trial]) -> None:
    """Let a made-up error decide: lower with less persistence, and no sharpness of 0.4."""

    def attempt(settings: TrainingSettings) -> Outcome:
        if settings.sharpness == 0.4:
            return Failure('too sharp')
        return alike(10.0 * (settings.persistence or 0.0))

    monkeypatch.setattr(tune_module, 'TrialBench', lambda *_: attempt)


@pytest.mark.usefixtures('invented')
def test_the_summary_lists_the_changes(laps: list[Recording]) -> None:
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
    assert [share for _, share in reported] == pytest.approx([index / 7 for index in range(7)])


def test_it_starts_from_what_is_trained_without_it(
    slot_car_laps: tuple[Recording, Recording],
    spectral_model: Model,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And where nothing is better, that is what is trained."""
    settings = replace(SPECTRAL, horizons=spectral_model.horizons)
    starts: list[TrainingSettings] = []

    def attempt(tried: TrainingSettings) -> Outcome:
        starts.append(tried)
        return Trial(1.0, ((1.0, 1.0), (1.0, 1.0)))

    monkeypatch.setattr(tune_module, 'TrialBench', lambda *_: attempt)
    tuning = tune(slot_car_laps[:1], settings, GIVEN, 3)
    assert asdict(usual_candidate(starts[0])) == spectral_model.summary['chosen']
    assert starts[0].rate_hz == spectral_model.rate_hz
    assert starts[0].window == spectral_model.window
    assert len(starts) == 3
    assert tuning.settings == settings
    assert tuning.summary['changed'] == {}


def test_too_short_a_recording_is_not_tuned(drive: Callable[..., Recording]) -> None:
    settings = TrainingSettings(window=60)
    tuning = tune([drive()], settings, given_names(settings))
    assert tuning.settings == settings
    assert tuning.summary['trials'] == []
    assert 'too short to choose settings' in tuning.summary['note']


@pytest.mark.parametrize('settings', [SETTINGS, SPECTRAL])
def test_what_is_left_may_be_too_short(
    settings: TrainingSettings, laps: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        msg = 'only 3 ticks'
        raise InputError(msg)

    for name in ('validate', 'RouteFold'):
        monkeypatch.setattr(tune_module, name, refuse)
    tuning = tune(laps, settings, GIVEN)
    assert tuning.settings == settings
    assert 'only 3 ticks' in tuning.summary['note']


def test_without_a_clear_gain_nothing_changes(
    spectral: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    best, table = climb(spectral, lambda each: alike(1.0 - 0.01 * (each != spectral)))
    assert best == spectral
    assert len(table) == 5
