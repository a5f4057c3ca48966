# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An evaluation compares each prediction with the position at exactly its own stamp."""

from __future__ import annotations

from dataclasses import replace
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate, Evaluation
from two_manifold_ros.evaluation.filter_run import estimates_along, run_filter
from two_manifold_ros.filtering import filter as filter_module
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.limits import EllipseLimits
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.windows.familiarity import UNFAMILIAR

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

SPEED = 3.0
SCORE_KEYS = {'rmse_m', 'median_m', 'coverage68', 'coverage95', 'n'}


@pytest.fixture(scope='session')
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[1]


@pytest.fixture(scope='session')
def evaluation(slot_car_model: Model, laps: Recording) -> Evaluation:
    return evaluate(slot_car_model, [laps])


def on_a_line(recording: Recording, shift_s: float = 0.0) -> Recording:
    """Replace the positions by ones that move at constant speed along x."""
    assert recording.positions is not None
    elapsed = (recording.positions.stamps - recording.imu.stamps[0]) * 1e-9 + shift_s
    line = np.stack([SPEED * elapsed, np.zeros(len(elapsed))], axis=1)
    return replace(recording, positions=replace(recording.positions, positions=line))


def test_the_truth_of_a_horizon_is_where_it_is_that_many_ticks_later(
    slot_car_model: Model, laps: Recording
) -> None:
    """On a line at constant speed, a tick too many or too few is 0.3 m."""
    found = evaluate(slot_car_model, [on_a_line(laps)])
    stamps, truth = found.runs[0].stamps, found.truths[0]
    for index, horizon in enumerate(slot_car_model.horizons):
        elapsed = (stamps - laps.imu.stamps[0]) * 1e-9 + 0.1 * horizon
        known = np.isfinite(truth[:, index, 0])
        assert np.count_nonzero(~known) == horizon
        np.testing.assert_allclose(truth[known, index, 0], SPEED * elapsed[known], atol=1e-6)


def test_the_previous_baseline_is_behind_by_the_horizon(
    slot_car_model: Model, laps: Recording
) -> None:
    for each in evaluate(slot_car_model, [on_a_line(laps)]).scores:
        assert each.previous.rmse_m == pytest.approx(SPEED * 0.1 * each.horizon, abs=1e-6)
        assert each.previous.median_m == pytest.approx(SPEED * 0.1 * each.horizon, abs=1e-6)


def test_predictions_are_for_their_own_tick(
    slot_car_model: Model, laps: Recording, evaluation: Evaluation
) -> None:
    """At every horizon, the truth a tick before or after fits worse."""
    run = evaluation.runs[0]

    def error(index: int, ticks: int) -> float:
        moved = run.stamps + ticks * slot_car_model.period_ns
        distances = np.linalg.norm(
            run.positions[:, index] - positions_at(laps.positions, moved), axis=1
        )
        return float(np.sqrt(np.nanmean(np.square(distances))))

    for index, horizon in enumerate(slot_car_model.horizons):
        right = error(index, horizon)
        assert evaluation.scores[index].model.rmse_m == pytest.approx(right, rel=1e-12)
        assert right < 0.95 * min(error(index, horizon - 1), error(index, horizon + 1))


def test_scores_are_over_all_recordings(slot_car_model: Model, laps: Recording) -> None:
    """Two recordings together: the mean of the squares, each counted by its length."""
    parts = [laps.between(0, 20), laps.between(20, 36)]
    alone = [evaluate(slot_car_model, [part]).scores for part in parts]
    both = evaluate(slot_car_model, parts).scores
    for index, each in enumerate(both):
        counts = [scores[index].model.n for scores in alone]
        squares = [np.square(scores[index].model.rmse_m) for scores in alone]
        assert each.model.n == sum(counts)
        assert each.model.rmse_m == pytest.approx(np.sqrt(np.average(squares, weights=counts)))


def test_the_mean_baseline_is_the_mean_of_training(
    slot_car_model: Model, evaluation: Evaluation
) -> None:
    truth = evaluation.truths[0][:, 0]
    distances = np.linalg.norm(truth - slot_car_model.mean_position, axis=1)
    rmse = np.sqrt(np.nanmean(np.square(distances)))
    assert evaluation.scores[0].mean.rmse_m == pytest.approx(rmse)


def test_the_model_is_far_ahead_and_its_ellipses_honest(evaluation: Evaluation) -> None:
    for each in evaluation.scores:
        assert each.model.rmse_m is not None
        assert each.mean.rmse_m is not None
        assert each.model.rmse_m < 0.2 * each.mean.rmse_m
        assert each.model.coverage68 is not None
        assert each.model.coverage95 is not None
        assert 0.5 < each.model.coverage68 < 0.97
        assert each.model.coverage95 > 0.85


def test_a_cold_start_for_every_recording(slot_car_model: Model, laps: Recording) -> None:
    parts = [laps.between(0, 10), laps.between(10, 20)]
    both = evaluate(slot_car_model, parts).runs
    for part, run in zip(parts, both, strict=True):
        alone = evaluate(slot_car_model, [part]).runs[0]
        assert run.positions.tobytes() == alone.positions.tobytes()
        warm = slot_car_model.window * slot_car_model.period_ns
        assert run.stamps[0] == part.imu.stamps[0] + warm


def test_the_keys_of_the_json(evaluation: Evaluation, laps: Recording) -> None:
    content = evaluation.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert set(content) == {
        'horizons', 'ticks', 'valid_ticks', 'seconds_per_tick_p50', 'seconds_per_tick_p99',
        'samples', 'familiarity_median',
    }  # fmt: skip
    assert list(content['horizons']) == ['0', '5', '20']
    for each in content['horizons'].values():
        assert set(each) == SCORE_KEYS | {'mean', 'previous'}
        assert set(each['mean']) == set(each['previous']) == SCORE_KEYS
    assert content['ticks'] == len(laps.imu.stamps) - 1
    assert content['valid_ticks'] == content['ticks'] - 19
    assert 0.0 < content['seconds_per_tick_p50'] <= content['seconds_per_tick_p99']
    assert content['samples']['received'] == len(laps.imu.stamps)


def test_a_horizon_without_truth_has_no_numbers(slot_car_model: Model, laps: Recording) -> None:
    content = evaluate(slot_car_model, [laps.between(0, 3)]).to_json()['horizons']
    assert content['0']['n'] > 0
    assert content['20'] == dict.fromkeys(SCORE_KEYS - {'n'}) | {
        'n': 0,
        'mean': dict.fromkeys(SCORE_KEYS - {'n'}) | {'n': 0},
        'previous': dict.fromkeys(SCORE_KEYS - {'n'}) | {'n': 0},
    }


def refusal(model: Model, recording: Recording) -> str:
    with pytest.raises(InputError) as caught:
        evaluate(model, [recording])
    assert str(caught.value).startswith(recording.name)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_too_short_to_compare_is_refused(slot_car_model: Model, laps: Recording) -> None:
    message = refusal(slot_car_model, laps.between(0, 1.5))
    assert (
        'no estimate has a true position to compare with; give more than one window of 2.0 s'
        in (message)
    )


def test_a_single_sample_is_refused(slot_car_model: Model, laps: Recording) -> None:
    message = refusal(slot_car_model, laps.between(0, 0.05))
    assert 'there are no two IMU samples to filter; give a longer part' in message


def test_positions_of_another_time_are_refused(slot_car_model: Model, laps: Recording) -> None:
    assert laps.positions is not None
    later = replace(laps.positions, stamps=laps.positions.stamps + 10**12)
    message = refusal(slot_car_model, replace(laps, positions=later))
    assert 'no estimate has a true position' in message


def strange(recording: Recording) -> Recording:
    """Turn the IMU over and give its accelerations in g."""
    samples = recording.imu.samples * [-0.1, 0.1, -0.1, 1.0, -1.0, -1.0]
    return replace(recording, imu=replace(recording.imu, samples=samples))


def test_a_drive_that_is_refused_throughout_is_told_from_one_without_positions(
    slot_car_model: Model, laps: Recording
) -> None:
    other = strange(laps)
    message = refusal(slot_car_model, other)
    found = [each for each, _ in estimates_along(Filter(slot_car_model), other, lambda *_: None)]
    refused = [each.familiarity for each in found if each.familiarity > UNFAMILIAR]
    assert len(refused) == len(found) - slot_car_model.window + 1
    assert f'no estimate was valid: {len(refused)} of {len(found)} ticks' in message
    assert f'a median familiarity of {np.median(refused):.1f} (' in message
    assert 'above 1.7); the filter ended in the state "lost: the input is unlike' in message


def test_a_drive_on_which_it_never_knew_where_it_was_is_told_as_that(
    slot_car_model: Model, laps: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_module, 'limits_of', lambda _: EllipseLimits(1e-6, 1e-6))
    message = refusal(slot_car_model, laps)
    assert 'no estimate was valid; the filter ended in the state "localising: the 95 %' in message


def test_a_familiar_recording_beside_a_strange_one_is_scored(
    slot_car_model: Model, laps: Recording
) -> None:
    found = evaluate(slot_car_model, [strange(laps), laps])
    assert [len(run.stamps) > 0 for run in found.runs] == [False, True]
    assert [len(run.unfamiliar) > 0 for run in found.runs] == [True, False]


def test_progress_is_told(slot_car_model: Model, laps: Recording) -> None:
    told: list[tuple[str, float]] = []
    run_filter(slot_car_model, laps, lambda *each: told.append(each))
    assert told == [(f'filtering {laps.name}', 0.0)]


def test_a_run_without_valid_ticks_keeps_its_shapes(
    slot_car_model: Model, laps: Recording
) -> None:
    def quiet(what: str, share: float) -> None:
        assert what
        assert share == 0.0

    run = run_filter(slot_car_model, laps.between(0, 1), quiet)
    shapes: list[Floats] = [run.positions, run.covariances, run.familiarity]
    assert [each.shape for each in shapes] == [(0, 3, 2), (0, 3, 2, 2), (0,)]
    assert len(run.seconds_per_tick) == 9
