# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate and window of the spectral filter follow the vehicle, where neither is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.training import time_scales as module
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.time_scales import (
    at_usual_rate,
    LEAST_SPECTRAL_RATE_HZ,
    with_spectral_scales,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START_NS = 1_700_000_000_000_000_000
RATE_HZ = 5.0
SPECTRAL = TrainingSettings(method='spectral')


def rounds(lap_s: float, laps: int, noise: float) -> Recording:
    """Drive rounds, each a little longer or shorter than the one before; the IMU is noisy."""
    rng = np.random.default_rng(0)
    paces = np.repeat(1.0 + 0.05 * rng.normal(size=laps), round(lap_s * RATE_HZ))
    angle = 2.0 * np.pi * np.cumsum(paces) / (lap_s * RATE_HZ)
    felt = [np.cos(angle), np.sin(2.0 * angle), np.cos(3.0 * angle + 1.0)]
    samples = np.zeros((len(angle), 6))
    samples[:, [0, 1, 5]] = np.stack(felt, axis=1)
    samples += noise * rng.normal(size=samples.shape)
    stamps = START_NS + np.round(np.arange(len(angle)) * 1e9 / RATE_HZ).astype(np.int64)
    positions = 20.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Recording(
        'rounds',
        ImuStream('/imu', 'imu', stamps, samples, stamps),
        PositionStream('/pose', 'map', '', stamps, positions),
    )


@pytest.fixture(scope='module')
def slow() -> Recording:
    """Return laps of a minute that a window of four seconds cannot tell apart for the noise."""
    return rounds(60.0, 12, 1.5)


@pytest.fixture(scope='module')
def compared() -> dict[tuple[float | None, int | None], list[float]]:
    """Return what was found at each rate and window that `slow` was searched with."""
    return {}


@pytest.fixture
def search(
    compared: dict[tuple[float | None, int | None], list[float]],
    slow: Recording,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[TrainingSettings], TrainingSettings]:
    """Return a function that chooses for `slow`, and compares no rate and window twice."""
    compare = module._followed

    def followed(recordings: Sequence[Recording], settings: TrainingSettings) -> list[float]:
        scales = settings.rate_hz, settings.window
        if scales not in compared:
            compared[scales] = compare(recordings, settings)
        return compared[scales]

    monkeypatch.setattr(module, '_followed', followed)
    return lambda settings: with_spectral_scales([slow], settings)


@pytest.mark.parametrize(
    'settings',
    [
        replace(SPECTRAL, rate_hz=2.0),
        replace(SPECTRAL, window=25),
        TrainingSettings(),
    ],
)
def test_what_is_given_stays_and_so_does_another_method(
    settings: TrainingSettings, slow: Recording
) -> None:
    assert with_spectral_scales([slow], settings) == settings


@pytest.mark.long
def test_a_slow_vehicle_gets_a_long_window_of_few_ticks(
    search: Callable[[TrainingSettings], TrainingSettings],
) -> None:
    chosen = search(SPECTRAL)
    assert chosen.rate_hz is not None
    assert chosen.window is not None
    assert 12.0 <= chosen.window / chosen.rate_hz <= 60.0
    assert LEAST_SPECTRAL_RATE_HZ <= chosen.rate_hz <= RATE_HZ


FOLLOWED_AT: dict[tuple[float, float], list[float]] = {
    (48.0, 2.5): [0.4, 0.4],
    (24.0, 5.0): [0.25, 0.25],
    (12.0, 10.0): [0.1, 0.29],
    (24.0, 2.5): [0.35, 0.16],
}
"""Of each quarter, by window in seconds and rate: all others cannot be held out."""


@pytest.mark.parametrize(
    ('changes', 'wanted'),
    [
        # Much better at 24 s, hardly at 12 s, and with few ticks alike.
        ({}, (24.0, 2.5)),
        ({(12.0, 10.0): [0.1, 0.27]}, (12.0, 10.0)),
        ({(24.0, 2.5): [0.35, 0.19]}, (24.0, 5.0)),
        ({(24.0, 5.0): [0.32, 0.29], (12.0, 10.0): [0.31, 0.31]}, (48.0, 2.5)),
        ({(48.0, 2.5): []}, (24.0, 2.5)),
        # Neither half as long is much better than the one before, but both together are.
        ({(24.0, 5.0): [0.32, 0.32], (12.0, 10.0): [0.25, 0.25]}, (12.0, 10.0)),
        ({(24.0, 5.0): []}, (48.0, 2.5)),
    ],
    ids=['few', 'short', 'many', 'long', 'first', 'together', 'lone'],
)
def test_what_is_chosen_of_what_was_compared(
    changes: dict[tuple[float, float], list[float]],
    wanted: tuple[float, float],
    drive: Callable[..., Recording],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = FOLLOWED_AT | changes

    def followed(_: Sequence[Recording], settings: TrainingSettings) -> list[float]:
        assert settings.window is not None
        assert settings.rate_hz is not None
        return known.get((settings.window / settings.rate_hz, settings.rate_hz), [])

    monkeypatch.setattr(module, '_followed', followed)
    chosen = with_spectral_scales([drive(30.0)], SPECTRAL)
    assert chosen.window is not None
    assert chosen.rate_hz is not None
    assert (chosen.window / chosen.rate_hz, chosen.rate_hz) == wanted
    assert replace(chosen, window=None, rate_hz=None) == SPECTRAL


def test_a_quick_vehicle_keeps_a_short_window() -> None:
    chosen = with_spectral_scales([rounds(12.0, 40, 0.2)], SPECTRAL)
    assert chosen.rate_hz is not None
    assert chosen.window is not None
    assert chosen.window / chosen.rate_hz <= 12.0


@pytest.mark.long
def test_where_nothing_can_be_followed_the_usual_ones_stay(slow: Recording) -> None:
    noise = np.random.default_rng(1).normal(size=slow.imu.samples.shape)
    deaf = replace(slow, imu=replace(slow.imu, samples=noise))
    assert with_spectral_scales([deaf], SPECTRAL) == SPECTRAL


def test_too_short_for_leaving_a_part_out() -> None:
    assert with_spectral_scales([rounds(12.0, 2, 0.2)], SPECTRAL) == SPECTRAL


def test_too_short_for_a_training_is_refused_as_ever() -> None:
    short = [rounds(3.0, 2, 0.2)]
    with pytest.raises(InputError, match='longest stretch'):
        with_spectral_scales(short, SPECTRAL)
    assert at_usual_rate(short, SPECTRAL) == SPECTRAL


def test_at_the_usual_rate_nothing_is_chosen(slow: Recording) -> None:
    usual = at_usual_rate([slow], SPECTRAL)
    assert usual.rate_hz == build_dataset([slow], SPECTRAL).rate_hz
    assert with_spectral_scales([slow], usual) == usual
