# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tuning the slot car: real trials, the same twice, resumed, and never more than is there."""

from __future__ import annotations

from dataclasses import replace
import json
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.route.learning import Tuning
from two_manifold_ros.training import tuning as tune_module
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.holdout import capped_mean, HeldOutBench, hold_out
from two_manifold_ros.training.route_training import RouteBench, usual_tuning
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.training.tuning import given_names, settle, tune
from two_manifold_ros.training.tuning_trials import (
    Failure,
    HeldTime,
    hold_time,
    Journal,
    Outcome,
    Trial,
    TrialBench,
)
from two_manifold_ros.training.validation import usual_candidate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording

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
def usual(laps: list[Recording]) -> TrainingSettings:
    """Return the usual settings, nothing left open."""
    dataset = build_dataset(laps, SETTINGS)
    return settle(SETTINGS, dataset, usual_tuning(SETTINGS))


def test_a_trial_is_the_score_of_a_validation(
    bench: TrialBench, usual: TrainingSettings, laps: list[Recording]
) -> None:
    """On all of the blocks, where the window and the rate are the usual ones."""
    dataset = build_dataset(laps, SETTINGS)
    fit, held = hold_out(dataset.segments, dataset.window)
    trial = bench(usual)
    assert isinstance(trial, Trial)
    squares = RouteBench(fit, held, dataset, SETTINGS).squared_errors(Tuning())
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


def test_a_spectral_trial_is_the_score_of_a_validation(
    bench: TrialBench, laps: list[Recording]
) -> None:
    dataset = build_dataset(laps, SPECTRAL)
    oracle = HeldOutBench(*hold_out(dataset.segments, dataset.window), dataset, SPECTRAL)
    usual = usual_candidate(SPECTRAL)
    trial = bench(settle(SPECTRAL, dataset, usual))
    assert isinstance(trial, Trial)
    assert trial.score_m == pytest.approx(oracle.score(usual), rel=1e-9)


def test_trials_differ_where_settings_do(bench: TrialBench, usual: TrainingSettings) -> None:
    """And not by what was tried before."""
    first = bench(usual)
    changes: list[dict[str, Any]] = [
        {'sharpness': 0.8}, {'persistence': 0.05},
        {'rate_hz': 5.0, 'window': 10, 'horizons': (0, 3)},
    ]  # fmt: skip
    scores = [bench(replace(usual, **change)) for change in changes]
    assert len({each.score_m for each in (first, *scores) if isinstance(each, Trial)}) == 4
    assert bench(usual) == first
    assert {len(each.blocks) for each in scores if isinstance(each, Trial)} == {2}


@pytest.mark.long
def test_spectral_trials_differ_where_settings_do(
    bench: TrialBench, laps: list[Recording]
) -> None:
    usual = settle(SPECTRAL, build_dataset(laps, SPECTRAL), usual_candidate(SPECTRAL))
    changes: list[dict[str, Any]] = [
        {}, {'bandwidth_factor': 2.8}, {'states': 6}, {'neighbours': 12}, {'window': 30},
        {'kernel': 'gaussian'}, {'coupling': 'canonical'}, {'dimension': 10},
    ]  # fmt: skip
    scores = [bench(replace(usual, **change)) for change in changes]
    assert len({each.score_m for each in scores if isinstance(each, Trial)}) == 8


def test_what_cannot_be_tried_says_why(bench: TrialBench, usual: TrainingSettings) -> None:
    def reason(**change: Any) -> str:  # noqa: ANN401 - of settings
        outcome = bench(replace(usual, **change))
        assert isinstance(outcome, Failure)
        return outcome.reason

    assert 'slower than the 50 Hz asked for' in reason(rate_hz=50.0)
    assert 'at least 50 are needed' in reason(window=200, method='spectral')
    assert 'windows of 400 ticks at 10 Hz leave too little' in reason(window=400)
    assert isinstance(bench(usual), Trial)


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
        save_model(tuning.told_by(model), tmp_path / name)
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
def test_the_summary_tells_what_changed(laps: list[Recording]) -> None:
    told: list[tuple[str, float]] = []
    settings = replace(SETTINGS, sharpness=0.2, persistence=0.5)
    tuning = tune(laps, settings, GIVEN, 7, progress=lambda *what: told.append(what))
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
    assert [share for _, share in told] == pytest.approx([index / 7 for index in range(7)])


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
    assert usual_candidate(starts[0]).as_json() == spectral_model.summary['chosen']
    assert starts[0].rate_hz == spectral_model.rate_hz
    assert starts[0].window == spectral_model.window
    assert len(starts) == 3
    assert tuning.settings == settings
    assert tuning.summary['changed'] == {}


def test_what_is_left_may_be_too_short(
    laps: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        msg = 'only 3 ticks'
        raise InputError(msg)

    monkeypatch.setattr(tune_module, 'validate', refuse)
    monkeypatch.setattr(tune_module, 'RouteBench', refuse)
    for settings in (SETTINGS, SPECTRAL):
        tuning = tune(laps, settings, GIVEN)
        assert tuning.settings == settings
        assert tuning.summary['note'] == 'without the held-out part only 3 ticks'


def test_too_short_a_recording_is_not_tuned(drive: Callable[..., Recording]) -> None:
    settings = TrainingSettings(window=60)
    tuning = tune([drive()], settings, given_names(settings))
    assert tuning.settings == settings
    assert tuning.summary['trials'] == []
    assert 'too short to choose settings' in tuning.summary['note']
