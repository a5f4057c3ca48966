# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the model on recordings of real cars."""

from collections.abc import Callable

import numpy as np
from scipy.stats import mannwhitneyu

from two_manifold_ros.evaluation.evaluate import estimates_along, evaluate, Evaluation
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import StateMachine
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

Read = Callable[[str], Recording]


def first_and_rest(recording: Recording, share: float) -> tuple[Recording, Recording]:
    seconds = share * float(np.ptp(recording.imu.stamps)) / 1e9
    return recording.between(None, seconds), recording.between(seconds, None)


def check(evaluation: Evaluation, most: dict[int, float], fewest: int) -> None:
    """
    Each horizon is within its bound over all ticks, published or not, and far below the mean.

    The default before this one withheld the end of f1tenth_ipz10, where it erred by .25 m in all.
    Far ahead it erred less on these two (.22 m 100 ticks ahead, .52 m 50 ticks ahead): it kept
    every pass apart, where a place is the mean of all passes.
    """
    assert [each.horizon for each in evaluation.scores] == list(most)
    for each in evaluation.scores:
        assert each.model.n >= fewest
        assert each.model.all.rmse_m <= most[each.horizon]
        assert each.model.all.rmse_m < 0.3 * each.mean.rmse_m
        assert each.model.published_share >= 0.95


def test_the_rest_of_a_drive(read_real: Read) -> None:
    training, test = first_and_rest(read_real('f1tenth_ipz10'), 0.7)
    model = train_model([training], TrainingSettings())
    assert model.rate_hz == 20.0
    check(evaluate(model, [test]), {0: 0.20, 10: 0.21, 50: 0.25, 100: 0.33}, 200)


def off_route_along(model: RouteModel, recording: Recording) -> np.ndarray:
    """Return the probability of being off the route at every tick with a full window."""
    estimates = estimates_along(Filter(model), recording, lambda *_: None)
    return np.array([each.off_route for each, _ in estimates if np.isfinite(each.novelty)])


def test_another_run_of_the_same_track(six_runs: RouteModel, read_real: Read) -> None:
    assert six_runs.rate_hz == 25.0
    evaluation = evaluate(six_runs, [read_real('f1tenth_ipz20/run_7')])
    check(evaluation, {0: 0.31, 25: 0.44, 50: 0.62}, 700)
    for each in evaluation.scores:
        # Too wide far ahead: some of the six drives end in a crash.
        assert each.model.coverage68 >= 0.55
        assert each.model.coverage95 >= 0.88


def test_another_track_is_off_the_route(six_runs: RouteModel, read_real: Read) -> None:
    """The area under the ROC curve of single ticks; on the own track it is never off."""
    own = off_route_along(six_runs, read_real('f1tenth_ipz20/run_7'))
    assert (own < StateMachine.likely).all()
    for run in ('run_2', 'run_4'):
        other = off_route_along(six_runs, read_real(f'f1tenth_ipz8/{run}'))
        wins = mannwhitneyu(other, own).statistic
        assert wins >= 0.95 * len(own) * len(other)


def test_dead_channels_of_a_real_car_are_named(six_runs: RouteModel) -> None:
    assert six_runs.live_channels == (
        'linear_acceleration.x', 'linear_acceleration.y', 'angular_velocity.z'
    )  # fmt: skip
    assert any('linear_acceleration.z' in note for note in six_runs.summary['notes'])


def test_g_and_degrees_uneven_stamps_and_a_hole(read_real: Read) -> None:
    """It is warned of before training; training gets by with what is there."""
    recording = read_real('f1tenth_frictionmaps_ds2')
    warnings = [
        finding.sentence
        for finding in inspect_recording(recording).findings
        if finding.severity == 'warning'
    ]
    assert any('m/s' in sentence for sentence in warnings)
    assert any('rad/s' in sentence for sentence in warnings)
    model = train_model([recording], TrainingSettings(states=40, neighbours=30, method='spectral'))
    samples = model.summary['samples']
    assert samples['gaps'] == 5
    assert samples['received'] == samples['used'] == len(recording.imu.stamps)
    assert model.summary['segments'] == 2
    assert model.rate_hz == 20.0
