# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""By how much one signal comes later than another, and how sure that is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from two_manifold_ros.inspection.lag import find_lag, FURTHEST_S, SensorLag

STEP_S = 0.05
WINDOW = 12


def signals(late_s: float, noise: float = 0.02, seconds: float = 60.0) -> tuple[np.ndarray, ...]:
    """Return two early signals (G, 2), and (G,) a mixture of them that comes later."""
    random = np.random.default_rng(1)
    fine = gaussian_filter1d(random.normal(size=(round((seconds + 10) * 1000), 2)), 300, axis=0)
    fine /= fine.std(axis=0)
    begin, every = 5_000, round(STEP_S * 1000)
    rows = begin + every * np.arange(round(seconds / STEP_S))
    late = fine[rows - round(late_s * 1000)] @ [2.0, -1.0]
    return fine[rows], late + noise * random.normal(size=len(late))


@pytest.mark.parametrize('late_s', [0.0, 0.013, -0.4, 1.237, -1.9])
def test_the_lag_is_found_between_the_points_of_the_grid(late_s: float) -> None:
    witness = find_lag('both', *signals(late_s), STEP_S, WINDOW)
    assert witness.lag_s == pytest.approx(late_s, abs=0.003)
    assert witness.error_s < 0.003
    assert witness.explained > 0.98
    assert witness.usable


def test_the_share_is_that_of_a_regression() -> None:
    early, late = signals(0.0, noise=1.0)
    design = np.column_stack([np.ones(len(late)), early])
    rest = late - design @ np.linalg.lstsq(design, late, rcond=None)[0]
    found = find_lag('both', early, late, STEP_S, WINDOW)
    assert found.explained == pytest.approx(1 - rest.var() / late.var(), abs=0.01)


def test_the_error_is_that_of_many_repetitions() -> None:
    early, late = signals(0.2, noise=0.0)
    random = np.random.default_rng(5)
    found = [
        find_lag('a', early, late + 1.5 * random.normal(size=len(late)), STEP_S, WINDOW)
        for _ in range(40)
    ]
    spread = np.std([witness.lag_s for witness in found])
    assert np.median([witness.error_s for witness in found]) == pytest.approx(spread, rel=0.4)


def test_only_pairs_of_known_values_count() -> None:
    early, late = signals(0.2)
    early[300:400] = np.nan
    late[700:800] = np.nan
    early[600:620], late[500:520] = np.nan, np.nan
    assert find_lag('a', early, late, STEP_S, WINDOW).lag_s == pytest.approx(0.2, abs=0.003)


def test_more_points_than_the_smoothing_leaves_say_nothing_new() -> None:
    early, late = signals(0.2)
    dense = find_lag('a', early, late, STEP_S, 3 * WINDOW)
    thinned = find_lag('a', early[::3], late[::3], 3 * STEP_S, WINDOW)
    assert dense == thinned


def test_a_lag_beyond_the_search_is_not_told() -> None:
    assert not find_lag('a', *signals(FURTHEST_S + 0.04), STEP_S, WINDOW).usable
    assert not find_lag('a', *signals(FURTHEST_S + 2.0), STEP_S, WINDOW).usable


def test_a_signal_that_repeats_soon_tells_nothing() -> None:
    seconds = np.arange(0, 60, STEP_S)
    wave = np.sin(2 * np.pi * seconds / 1.5)
    assert not find_lag('a', wave[:, None], wave, STEP_S, WINDOW).usable


@pytest.mark.parametrize('seconds', [0.5, 9.0])
def test_too_little_tells_nothing(seconds: float) -> None:
    assert not find_lag('a', *signals(0.0, seconds=seconds), STEP_S, WINDOW).usable


def test_noise_a_constant_and_nothing_tell_nothing() -> None:
    early, late = signals(0.0)
    noise = np.random.default_rng(9).normal(size=len(late))
    for given, wanted in (
        (early, noise),
        (early, np.ones_like(late)),
        (np.ones_like(early), late),
        (np.full_like(early, np.nan), late),
    ):
        assert not find_lag('a', given, wanted, STEP_S, WINDOW).usable


def test_who_explains_little_or_errs_much_tells_nothing() -> None:
    assert SensorLag('a', 0.1, 0.09, 0.4).usable
    assert not SensorLag('a', 0.1, 0.09, 0.3).usable
    assert not SensorLag('a', 0.1, 0.11, 0.4).usable
