# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Accuracy on recordings of real cars, also of one that is moved, elsewhere, or turned round."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate, Evaluation
from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, squared_mahalanobis
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.inspection.shared_places import sort_by_route
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

pytest.importorskip('rosbags')

Read = Callable[[str], Recording]

AWAY = {Status.LOST, Status.UNSURE, Status.REFUSED}
LEAD_S, TAIL_S = 9.0, 7.5
MOVES = [(9.5, 3.0), (13.0, 8.0), (17.0, 26.0), (25.0, 13.0)]
"""Seconds at which the car is taken, and at which the recording goes on."""


@pytest.fixture(scope='module')
def read_real(recordings_folder: Path) -> Read:
    """Return a function that reads a recording by its folder, or skips the test."""

    def read(name: str) -> Recording:
        folder = recordings_folder / name
        if not folder.is_dir():
            pytest.skip(f'the real recording {name} is not beside the checkout')
        return read_recording(str(folder))

    return read


@pytest.fixture(scope='module')
def six_runs(read_real: Read) -> RouteModel:
    """Return a model of six runs of a car, of whose six channels three are dead."""
    runs = [read_real(f'f1tenth_ipz20/run_{i}') for i in range(1, 7)]
    return train_model(runs, TrainingSettings(horizons=(0, 25, 50)))


def check(evaluation: Evaluation, most: dict[int, float], fewest: int) -> None:
    """Each horizon is within its bound over all ticks, and far below the mean."""
    assert [each.horizon for each in evaluation.scores] == list(most)
    for each in evaluation.scores:
        assert each.model.n >= fewest
        assert each.model.all.rmse_m <= most[each.horizon]
        assert each.model.all.rmse_m < 0.3 * each.mean.rmse_m
        assert each.model.published_share >= 0.95


def test_the_rest_of_a_drive(read_real):
    drive = read_real('f1tenth_ipz10')
    seconds = 0.7 * float(np.ptp(drive.imu.stamps)) / 1e9
    model = train_model([drive.between(None, seconds)], TrainingSettings())
    assert model.rate_hz == 80.0
    check(
        evaluate(model, [drive.between(seconds, None)]),
        {0: 0.12, 40: 0.15, 200: 0.25, 400: 0.33},
        800,
    )


def test_one_road_at_different_speeds_is_of_use(read_real):
    """Each run has a speed of its own, and parts of another speed alone are withheld."""
    runs = [read_real(f'f1tenth_nikira/run_{i}') for i in range(1, 6)]
    model = train_model(runs[:4], TrainingSettings(horizons=(0,)))
    assert model.summary['refusal'] is None
    score = evaluate(model, runs[4:]).scores[0].model
    assert score.published_share >= 0.8
    assert score.rmse_m <= 0.5


@pytest.mark.parametrize('turned', [1, -1])
@pytest.mark.parametrize(
    'others', [[], ['ipz17'], ['ipz19'], [f'nikira/run_{i}' for i in range(1, 6)]]
)
def test_tracks_that_cross_in_one_room_are_routes_of_their_own(read_real, others, turned):
    # A track, another one, circles that widen about one place, and two more circles.
    runs = {'ipz20': [[1, 2, 3, 4, 5, 6, 7]], 'ipz8': [[1], [2, 3, 4], [5], [6]]}
    routes = [[f'{room}/run_{i}' for i in one] for room, those in runs.items() for one in those]
    expected = [*routes, others] if others else routes
    bags = [name for route in expected for name in route][::turned]
    found = sort_by_route([replace(read_real(f'f1tenth_{each}'), name=each) for each in bags])
    assert sorted([each.name for each in group] for group in found.values()) == sorted(expected)


def test_another_run_of_the_same_track(six_runs, read_real):
    assert six_runs.rate_hz == 25.0
    evaluation = evaluate(six_runs, [read_real('f1tenth_ipz20/run_7')])
    check(evaluation, {0: 0.31, 25: 0.44, 50: 0.62}, 700)
    for each in evaluation.scores:
        # Too wide far ahead: some of the six drives end in a crash.
        assert each.model.coverage68 >= 0.55
        assert each.model.coverage95 >= 0.88


def test_g_and_degrees_uneven_stamps_and_a_hole(read_real):
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


def followed(model: RouteModel, stamps: np.ndarray, samples: np.ndarray) -> list[Estimate]:
    live = Filter(model)
    pairs = zip(stamps.tolist(), samples, strict=True)
    return [estimate for stamp, sample in pairs for estimate in live.push(stamp, sample)]


def moved(
    model: RouteModel, recording: Recording, taken_s: float, put_s: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return of each tick what is right, tracking and from another moment of a recording."""
    imu = recording.imu
    elapsed = (imu.stamps - imu.stamps[0]) * 1e-9
    before = (elapsed >= taken_s - LEAD_S) & (elapsed < taken_s)
    after = (elapsed >= put_s) & (elapsed < put_s + TAIL_S)
    shift = imu.stamps[before][-1] + model.period_ns - imu.stamps[after][0]
    stamps = np.concatenate([imu.stamps[before], imu.stamps[after] + shift])
    samples = np.concatenate([imu.samples[before], imu.samples[after]])
    found = followed(model, stamps, samples)
    ends = np.array([each.stamp_ns for each in found])
    # A tick that ends with the first sample from elsewhere is of the place before.
    later = ends > stamps[sum(before)]
    truths = positions_at(recording.positions, ends - later * shift)
    errors = np.array([each.positions[0] for each in found]) - truths
    covariances = np.array([each.covariances[0] for each in found])
    inside = squared_mahalanobis(errors, covariances) <= CHI_SQUARE[1]
    tracking = np.array([each.status is Status.TRACKING for each in found])
    return inside, tracking, np.linalg.norm(errors, axis=1), later


def test_put_down_elsewhere(six_runs, read_real):
    """It is never sure of a wrong place for long, and found within 1.5 windows."""
    seventh = read_real('f1tenth_ipz20/run_7')
    soon = round(1.5 * six_runs.window)
    sure, right = np.zeros(2), np.zeros(2)
    for taken_s, put_s in MOVES:
        inside, tracking, errors, later = moved(six_runs, seventh, taken_s, put_s)
        assert (tracking & inside)[later][:soon].any()
        assert not (tracking & (errors > 2.0))[later][six_runs.window :].any()
        sure += [tracking.sum(), tracking[later].sum()]
        right += [(tracking & inside).sum(), (tracking & inside)[later].sum()]
    # Places that look alike to three channels take half a second to distinguish.
    assert (right >= [0.88, 0.8] * sure).all()


def test_another_track_and_the_wrong_way_round(six_runs, read_real):
    """Nearly every tick with a full window says that something is wrong."""
    imu = read_real('f1tenth_ipz20/run_7').imu
    # Played backwards, with the nose to the other side: forward, left and yaw change signs.
    turned = imu.samples[::-1] * [-1.0, -1.0, 1.0, 1.0, 1.0, -1.0]
    drives = [(imu.stamps[0] + (imu.stamps[-1] - imu.stamps[::-1]), turned)]
    # Of the runs on the other track these two are the most alike.
    others = [read_real(f'f1tenth_ipz8/run_{run}').imu for run in (4, 6)]
    for drive in (*drives, *((each.stamps, each.samples) for each in others)):
        found = followed(six_runs, *drive)[six_runs.window - 1 :]
        assert np.mean([each.status in AWAY for each in found]) >= 0.95
