# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ticks at rest are left out of the training of the spectral filter, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.training import driving_clock as module
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.driving_clock import BELOW_DRIVING, driving_dataset, learn_rest
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable

START_NS = 1_700_000_000_000_000_000
RATE_HZ = 10.0
LAP_TICKS = 80
RUN_IN = 10
"""Ticks of a stop until a second of them was seen."""

SETTINGS = TrainingSettings(method='spectral', rate_hz=RATE_HZ, window=20, horizons=(0, 5))


def rounds(laps: int, stops: Callable[[int], int]) -> tuple[Recording, np.ndarray]:
    """Drive rounds, and stop once in each for some ticks; return also which ticks are at rest."""
    rng = np.random.default_rng(0)
    angle = np.arange(laps * LAP_TICKS) * 2.0 * np.pi / LAP_TICKS
    lasting = np.ones(len(angle), dtype=np.int64)
    for lap in range(laps):
        lasting[lap * LAP_TICKS + 30] += stops(lap)
    rest = np.zeros(lasting.sum(), dtype=np.bool_)
    ends = np.cumsum(lasting)
    for tick in np.flatnonzero(lasting > 1):
        rest[ends[tick] - lasting[tick] + 1 : ends[tick]] = True
    angle = np.repeat(angle, lasting)
    samples = np.zeros((len(angle), 6))
    samples[:, 0] = np.cos(angle)
    samples[:, 1] = np.sin(2.0 * angle)
    samples[:, 5] = np.cos(3.0 * angle + 1.0)
    samples[rest] = 0.0
    samples += np.where(rest, 1e-3, 0.2)[:, None] * rng.normal(size=samples.shape)
    stamps = START_NS + np.round(np.arange(len(angle)) * 1e9 / RATE_HZ).astype(np.int64)
    positions = 20.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    recording = Recording(
        'rounds',
        ImuStream('/imu', 'imu', stamps, samples, stamps),
        PositionStream('/pose', 'map', '', stamps, positions),
    )
    # A tick is what was held since the sample before it, so the first sample ends none.
    return recording, rest[:-1]


@pytest.fixture(scope='module')
def stopping() -> tuple[Recording, np.ndarray]:
    return rounds(12, lambda lap: 40 + 7 * (lap % 5))


@pytest.fixture(scope='module')
def steady() -> Recording:
    return rounds(12, lambda _: 0)[0]


def test_stops_are_left_out_but_for_their_first_second(
    stopping: tuple[Recording, np.ndarray],
) -> None:
    recording, rest = stopping
    whole = build_dataset([recording], SETTINGS).segments[0]
    dataset, rule, _ = driving_dataset([recording], SETTINGS)
    assert rule is not None
    assert rule.ticks == RUN_IN
    (driven,) = dataset.segments
    kept = np.isin(whole.stamps, driven.stamps)
    assert kept[~rest].all()
    begins = np.flatnonzero(np.diff(rest.astype(int)) == 1) + 1
    assert len(begins) == 12
    for begin in begins:
        end = begin + int(np.argmin(rest[begin:]))
        assert kept[begin : begin + RUN_IN - 1].all()
        assert not kept[begin + RUN_IN - 1 : end].any()
    for name in ('values', 'positions'):
        np.testing.assert_array_equal(getattr(driven, name), getattr(whole, name)[kept])


@pytest.mark.parametrize('changed', [{'clock': 'time'}, {'method': 'route'}])
def test_with_the_clock_of_the_papers_and_by_default_nothing_is_left_out(
    stopping: tuple[Recording, np.ndarray], changed: dict[str, str]
) -> None:
    settings = replace(SETTINGS, **changed)
    dataset, rule, _ = driving_dataset([stopping[0]], settings)
    assert rule is None
    assert len(dataset.segments[0]) == len(build_dataset([stopping[0]], settings).segments[0])


def test_a_model_of_who_never_stands_is_the_same_with_either_clock(steady: Recording) -> None:
    driving = train_model([steady], SETTINGS)
    time = train_model([steady], replace(SETTINGS, clock='time'))
    assert driving.rest is not None
    assert time.rest is None
    np.testing.assert_array_equal(driving.series, time.series)
    np.testing.assert_array_equal(driving.tables.weights, time.tables.weights)
    np.testing.assert_array_equal(driving.readout.factors, time.readout.factors)


def test_who_hardly_drives_between_stops_keeps_them() -> None:
    recording, _ = rounds(3, lambda _: 400)
    settings = replace(SETTINGS, window=150)
    dataset, rule, _ = driving_dataset([recording], settings)
    assert rule is None
    assert len(dataset.segments[0]) == len(build_dataset([recording], settings).segments[0])


def test_nothing_is_learned_where_no_position_is_known(steady: Recording) -> None:
    observations = [steady.imu.samples]
    tracks = [np.full((len(observations[0]), 2), np.nan)]
    tracks[0][:3] = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    assert learn_rest(observations, tracks, 1.0 / RATE_HZ) is None


SPREADS = st.lists(st.floats(1e-3, 1e3), max_size=12).map(np.array)


@given(SPREADS, SPREADS)
def test_no_other_limit_takes_fewer_ticks_for_what_they_are_not(
    rest: np.ndarray, driving: np.ndarray
) -> None:
    limit = module._limit(np.sort(rest), np.sort(driving))
    if not len(driving):
        assert limit == 0.0
        return
    if not len(rest):
        assert limit == BELOW_DRIVING * driving.min()
        return

    def wrong(level: float) -> int:
        return int((rest >= level).sum() + (driving < level).sum())

    every = np.concatenate([[0.0], rest, driving, [np.inf]])
    least = min(wrong(np.nextafter(level, np.inf)) for level in every[:-1])
    least = min(least, wrong(0.0))
    # Where spreads of both are the same number, or next to it, a ratio half way may be either.
    if len(np.unique(np.concatenate([rest, driving]))) == len(rest) + len(driving):
        assert wrong(limit) <= least + (limit == rest.max())
