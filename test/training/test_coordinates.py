# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""No answer depends on where the origin is, which way the axes point, or how large a metre is."""

from dataclasses import astuple, dataclass
from functools import cache
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


@dataclass(frozen=True)
class Move:
    """Other coordinates of the same places: scaled, mirrored, turned, then shifted."""

    scale: float = 1.0
    mirrored: bool = False
    angle: float = 0.0
    shift: tuple[float, float] = (0.0, 0.0)

    @property
    def matrix(self) -> np.ndarray:
        cosine, sine = math.cos(self.angle), math.sin(self.angle)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        return self.scale * turn @ np.diag([1.0, -1.0 if self.mirrored else 1.0])

    def of(self, recording: Recording) -> Recording:
        moved = recording.positions.positions @ self.matrix.T + self.shift
        return with_positions(recording, positions=moved)


@cache
def drives() -> tuple[Recording, Recording]:
    """Return laps to train on and laps to filter, with the noise of a camera."""
    run = simulate(SlotCarSettings(seed=3, rate_hz=10.0), laps=11)
    recording = run_to_recording(run)
    noise = np.random.default_rng(0).normal(scale=0.01, size=recording.positions.positions.shape)
    noisy = with_positions(recording, positions=recording.positions.positions + noise)
    seconds = 0.8 * float(np.ptp(run.stamps_ns)) / 1e9
    return noisy.between(None, seconds), noisy.between(seconds, None)


@dataclass(frozen=True)
class Answers:
    """Estimates of a model along a drive, in the coordinates of the drive as simulated."""

    words: list[tuple[object, ...]]
    positions: np.ndarray
    covariances: np.ndarray
    lengths: np.ndarray


@cache
def answers(method: str, move: Move) -> Answers:
    train, test = (move.of(each) for each in drives())
    model = train_model([train], SETTINGS[method])
    live = Filter(model)
    stream = zip(test.imu.stamps.tolist(), test.imu.samples, strict=True)
    found = [each for stamp, sample in stream for each in live.push(stamp, sample)]
    back = np.linalg.inv(move.matrix)
    scores = [each.model.all.rmse_m for each in evaluate(model, [test]).scores]
    lengths = [*astuple(limits_of(model)), *(each.ellipse_m for each in found), *scores]
    return Answers(
        [(each.stamp_ns, each.status, each.cause, each.valid) for each in found],
        (np.array([each.positions for each in found]) - move.shift) @ back.T,
        back @ np.array([each.covariances for each in found]) @ back.T,
        np.array(lengths, dtype=float) / move.scale,
    )


@pytest.mark.parametrize('method', SETTINGS)
def test_the_same_answers_in_other_coordinates(method):
    move = Move(3.7, mirrored=True, angle=2.0, shift=(-3e7, 3e7))
    found, wanted = answers(method, move), answers(method, Move())
    assert sum(bool(valid) for *_, valid in wanted.words) > 0.5 * len(wanted.words)
    assert found.words == wanted.words
    # Digits that positions of this size do not have, and what grows of them.
    rounding = np.spacing(max(map(abs, move.shift)) + 10.0) / move.scale
    atol = 1e-9 + 1e3 * rounding
    np.testing.assert_allclose(found.positions, wanted.positions, rtol=0.0, atol=atol)
    np.testing.assert_allclose(found.covariances, wanted.covariances, rtol=1e-3, atol=atol)
    np.testing.assert_allclose(found.lengths, wanted.lengths, rtol=1e-4, atol=atol)
