# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""No answer depends on where the origin is, which way the axes point, or how large a metre is."""

from dataclasses import astuple
import math

import numpy as np
from other_recordings import with_positions
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

ROUTE = TrainingSettings(window=20, horizons=(0, 10))
SPECTRAL = ROUTE.with_method('spectral', rate_hz=10.0, states=20, bandwidth_factor=1.4)
SETTINGS = {
    'route': ROUTE,
    'spectral': SPECTRAL,
    'tpsr': SPECTRAL.with_method('tpsr', features=200),
}


@pytest.fixture(autouse=True, scope='module')
def in_any_unit():
    """Leave out the check of the unit, which an IMU in m/s^2 shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('two_manifold_ros.training.summary.check_units', lambda _: None)
        yield


@pytest.fixture(scope='module')
def drives() -> list[Recording]:
    """Return laps to train on and laps to filter, with the noise of a camera."""
    run = simulate(SlotCarSettings(seed=3, rate_hz=10.0), laps=11)
    recording = run_to_recording(run)
    noise = np.random.default_rng(0).normal(scale=0.01, size=recording.positions.positions.shape)
    noisy = with_positions(recording, positions=recording.positions.positions + noise)
    seconds = 0.8 * float(np.ptp(run.stamps_ns)) / 1e9
    return [noisy.between(None, seconds), noisy.between(seconds, None)]


def answers(
    settings: TrainingSettings, drives: list[Recording], matrix: np.ndarray, shift: np.ndarray
) -> tuple[list[tuple[object, ...]], np.ndarray, np.ndarray, np.ndarray]:
    """
    Learn and filter in other coordinates, and return the estimates in those of the simulation.

    These are stamps and words, positions, covariances, and lengths (not scaled back).
    """
    train, test = (
        with_positions(each, positions=each.positions.positions @ matrix.T + shift)
        for each in drives
    )
    model = train_model([train], settings)
    live = Filter(model)
    stream = zip(test.imu.stamps.tolist(), test.imu.samples, strict=True)
    found = [each for stamp, sample in stream for each in live.push(stamp, sample)]
    back = np.linalg.inv(matrix)
    scores = [each.model.all.rmse_m for each in evaluate(model, [test]).scores]
    return (
        [(each.stamp_ns, each.status, each.cause, each.valid) for each in found],
        (np.array([each.positions for each in found]) - shift) @ back.T,
        back @ np.array([each.covariances for each in found]) @ back.T,
        np.array(
            [*astuple(limits_of(model)), *(each.ellipse_m for each in found), *scores], float
        ),
    )


@pytest.mark.parametrize('settings', SETTINGS.values(), ids=SETTINGS)
def test_the_same_answers_in_other_coordinates(settings, drives):
    """Scaled, mirrored, turned, then shifted."""
    scale, shift, cosine, sine = 3.7, np.array([-3e7, 3e7]), math.cos(2.0), math.sin(2.0)
    matrix = scale * np.array([[cosine, sine], [sine, -cosine]])
    found = answers(settings, drives, matrix, shift)
    wanted = answers(settings, drives, np.eye(2), np.zeros(2))
    assert sum(bool(valid) for *_, valid in wanted[0]) > 0.5 * len(wanted[0])
    assert found[0] == wanted[0]
    # Digits that positions of this size do not have, and what grows of them.
    atol = 1e-9 + 1e3 * np.spacing(3e7 + 10.0) / scale
    np.testing.assert_allclose(found[1], wanted[1], rtol=0.0, atol=atol)
    np.testing.assert_allclose(found[2], wanted[2], rtol=1e-3, atol=atol)
    np.testing.assert_allclose(found[3] / scale, wanted[3], rtol=1e-4, atol=atol)
