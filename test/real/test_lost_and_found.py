# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A real car that is moved, on another track, or driven the wrong way round."""

from collections.abc import Callable

import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, squared_mahalanobis
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.segments import positions_at

AWAY = {Status.LOST, Status.UNSURE, Status.REFUSED}
LEAD_S, TAIL_S = 9.0, 7.5
MOVES = [(9.5, 3.0), (13.0, 8.0), (17.0, 26.0), (25.0, 13.0)]
"""Seconds at which the car is taken, and at which the recording goes on."""


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


def test_put_down_elsewhere(six_runs: RouteModel, read_real: Callable[[str], Recording]) -> None:
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
    # Of a hundred moves (bench_lost_and_found.py) it is 91 % of whole drives; places that look
    # alike to three channels take half a second to distinguish.
    assert (right >= [0.88, 0.8] * sure).all()


def away(model: RouteModel, stamps: np.ndarray, samples: np.ndarray) -> float:
    """Return the share of ticks with a full window that say that something is wrong."""
    found = followed(model, stamps, samples)[model.window - 1 :]
    return float(np.mean([each.status in AWAY for each in found]))


@pytest.mark.parametrize('run', [4, 6])
def test_another_track(
    run: int, six_runs: RouteModel, read_real: Callable[[str], Recording]
) -> None:
    """Of its runs these two are the most alike."""
    imu = read_real(f'f1tenth_ipz8/run_{run}').imu
    assert away(six_runs, imu.stamps, imu.samples) >= 0.95


def test_the_wrong_way_round(six_runs: RouteModel, read_real: Callable[[str], Recording]) -> None:
    """Played backwards, with the nose to the other side: forward, left and yaw change signs."""
    imu = read_real('f1tenth_ipz20/run_7').imu
    turned = imu.samples[::-1] * [-1.0, -1.0, 1.0, 1.0, 1.0, -1.0]
    stamps = imu.stamps[0] + (imu.stamps[-1] - imu.stamps[::-1])
    assert away(six_runs, stamps, turned) >= 0.95
