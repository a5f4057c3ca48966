# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""No answer depends on the origin, the axes or the unit of positions, or on the clock."""

from dataclasses import astuple
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from other_models import small_tpsr
from other_recordings import with_imu, with_positions
import pytest

from two_manifold_ros.evaluation.evaluate import estimates_along, evaluate
from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import TrainedModel
from two_manifold_ros.model.model_file import model_parts
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import cut_segments
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

ROUTE = TrainingSettings(window=20, horizons=(0, 10))
SPECTRAL = ROUTE.with_method('spectral', rate_hz=10.0, states=20, bandwidth_factor=1.4)


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
) -> tuple[list[list[Any]], np.ndarray, np.ndarray, np.ndarray]:
    """
    Learn and filter in other coordinates, and return the estimates in those of the simulation.

    These are stamps and words, positions, covariances, and lengths (not scaled back).
    """
    train, test = (
        with_positions(each, positions=each.positions.positions @ matrix.T + shift)
        for each in drives
    )
    model, back = train_model([train], settings), np.linalg.inv(matrix)
    found = evaluate(model, [test])
    (run,) = found.runs
    lengths = [*astuple(limits_of(model)), *(each.model.all.rmse_m for each in found.scores)]
    return (
        [list(each) for each in (run.published, run.causes, run.statuses, run.stamps)],
        (run.positions - shift) @ back.T,
        back @ run.covariances @ back.T,
        np.array(lengths, float),
    )


@pytest.mark.parametrize('settings', [ROUTE, SPECTRAL, SPECTRAL.with_method('tpsr', features=200)])
def test_the_same_answers_in_other_coordinates(settings, drives, monkeypatch):
    """Scaled, mirrored, turned, then shifted."""
    # An IMU in m/s^2 shows the unit.
    monkeypatch.setattr('two_manifold_ros.training.summary.check_units', lambda _: None)
    scale, shift, cosine, sine = 3.7, np.array([-3e7, 3e7]), math.cos(2.0), math.sin(2.0)
    matrix = scale * np.array([[cosine, sine], [sine, -cosine]])
    found = answers(settings, drives, matrix, shift)
    wanted = answers(settings, drives, np.eye(2), np.zeros(2))
    assert np.mean(wanted[0][0]) > 0.5
    assert found[0] == wanted[0]
    # Digits that positions of this size do not have, and what grows of them.
    atol = 1e-9 + 1e3 * np.spacing(3e7 + 10.0) / scale
    np.testing.assert_allclose(found[1], wanted[1], rtol=0.0, atol=atol)
    np.testing.assert_allclose(found[2], wanted[2], rtol=1e-3, atol=atol)
    np.testing.assert_allclose(found[3] / scale, wanted[3], rtol=1e-4, atol=atol)


BEGIN_NS, END_NS = 1_767_225_600 * 10**9, 1_767_226_600 * 10**9
"""The simulated laps are in between."""
SHIFTS_NS = {
    'by 1 ns': 1,
    'to 1970': 1 - BEGIN_NS,
    'to 2100': 4_102_444_800 * 10**9 + 123_456_789 - BEGIN_NS,
}


def shifted(recording: Recording, shift_ns: int) -> Recording:
    imu, positions = recording.imu, recording.positions
    assert BEGIN_NS <= imu.stamps[0] < imu.stamps[-1] < END_NS
    stamps = {name: getattr(imu, name) + shift_ns for name in ('stamps', 'receive_stamps')}
    return with_positions(with_imu(recording, **stamps), stamps=positions.stamps + shift_ns)


def bits_of(value: Any) -> Any:  # noqa: ANN401 - any value
    """Return what is equal where values are the same to the bit, times apart."""
    if isinstance(value, dict):
        kept = {key for key in value if not str(key).startswith('seconds_per_tick')}
        return {key: bits_of(value[key]) for key in kept}
    if isinstance(value, list | tuple):
        return [bits_of(each) for each in value]
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


@pytest.fixture
def model(method: str, request: pytest.FixtureRequest) -> TrainedModel:
    name = 'slot_car_model' if method == 'route' else f'{method}_model'
    return request.getfixturevalue(name)


@pytest.mark.parametrize(
    ('method', 'shift'),
    [('route', 'by 1 ns'), ('route', 'to 2100'), ('spectral', 'to 1970'), ('tpsr', 'to 2100')],
)
def test_models_estimates_and_scores(slot_car_laps, model, method, shift):
    shift_ns = SHIFTS_NS[shift]
    learned = shifted(slot_car_laps[0], shift_ns)
    if method == 'tpsr':
        again = small_tpsr(learned, (0, 5, 20))
    else:
        choices = TrainingSettings(window=20, horizons=(0, 5, 20), method=method)
        again = train_model([learned], choices)
    assert bits_of(model_parts(model)) == bits_of(model_parts(again))
    assert limits_of(model) == limits_of(again)
    # A hole, a wild stamp and a clock that is set ahead: resets and their causes are the same.
    recording = slot_car_laps[1].between(None, 30.0)
    stamps = recording.imu.stamps.copy()
    stamps[100] += 86_400 * 10**9
    stamps[200:] += 3 * 10**9
    recording = with_imu(recording, stamps=stamps)
    found, published = [], []
    for each, by in ((recording, 0), (shifted(recording, shift_ns), shift_ns)):
        score = evaluate(model, [each])
        found.append(bits_of([score.to_json(), score.truths]))
        estimates = estimates_along(Filter(model), each, lambda *_: None)
        published.append([vars(said) | {'stamp_ns': said.stamp_ns - by} for said, _ in estimates])
    assert len({each['cause'] for each in published[0]}) > 1
    assert found[0] == found[1]
    assert bits_of(published[0]) == bits_of(published[1])


@given(st.integers(1 - BEGIN_NS, 2**63 - 1 - END_NS), st.integers(0, 100), st.integers(0, 100))
def test_parts_and_ticks(slot_car_laps, shift_ns, start_s, end_s):
    found = []
    for by in (0, shift_ns):
        part = shifted(slot_car_laps[0], by).between(start_s, end_s)
        segments, counts = cut_segments(part, 100_000_000, 250_000_000)
        ticks = [(each.stamps - by, each.values, each.positions) for each in segments]
        found.append((counts, bits_of(ticks)))
    assert found[0] == found[1]
