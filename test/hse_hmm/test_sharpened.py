# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sharpened weights: always finite, always inside the hull, and equal to the formula."""

from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.hse_hmm import sharpened as module
from two_manifold_ros.hse_hmm.readout import FLOOR
from two_manifold_ros.hse_hmm.sharpened import FAINTEST, SharpenedReadout

RNG = np.random.default_rng(0)
N = 60
TARGETS = RNG.normal(size=(N, 3, 2)) * [4.0, 1.0] + [300.0, -20.0]
TARGETS[50:, 1] = np.nan
TARGETS[:, 2, 0] = 7.0
STATE = np.empty(0)


def make_readout(targets: np.ndarray = TARGETS) -> SharpenedReadout:
    return SharpenedReadout(targets, np.ones(targets.shape[1]))


def test_moments() -> None:
    readout = make_readout()
    for _ in range(20):
        weights = RNG.normal(size=N) * 0.1
        heard = np.where(weights > FAINTEST * weights.max(), weights, 0.0)
        means, covariances = readout.read(weights, STATE)
        for column, known in ((0, N), (1, 50), (2, N)):
            mean, spread = naive.sharpened(heard[:known], TARGETS[:known, column])
            np.testing.assert_allclose(means[column], mean, rtol=1e-12)
            np.testing.assert_allclose(covariances[column], spread + FLOOR * np.eye(2), atol=1e-10)


def test_weights_too_faint_to_count_are_not_missed() -> None:
    readout = make_readout()
    for _ in range(20):
        weights = RNG.uniform(size=N)
        mean, spread = naive.sharpened(weights, TARGETS[:, 0])
        means, covariances = readout.read(weights, STATE)
        np.testing.assert_allclose(means[0], mean, atol=1e-4)
        np.testing.assert_allclose(covariances[0], spread + FLOOR * np.eye(2), atol=1e-3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=N, max_size=N), st.floats(1e-12, 1e3))
@example([0.0] * N, 1.0)
@example([-1.0] * N, 1.0)
@example([1e6] + [-1e6] * (N - 1), 1e3)
@settings(derandomize=True, deadline=None)
def test_inside_the_hull_and_finite(values: list[float], scale: float) -> None:
    means, covariances = make_readout().read(scale * np.array(values), STATE)
    assert np.isfinite(means).all()
    assert np.isfinite(covariances).all()
    assert np.linalg.eigvalsh(covariances).min() > 0.5 * FLOOR
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    for direction in np.stack([np.cos(angles), np.sin(angles)], axis=1):
        reach = np.nanmax(TARGETS @ direction, axis=0)
        assert (means @ direction <= reach + 1e-9).all()


def test_no_weighted_tick_knows_the_target() -> None:
    weights = np.where(np.arange(N) >= 50, 1.0, 0.0)
    means, covariances = make_readout().read(weights, STATE)
    known = TARGETS[:50, 1]
    np.testing.assert_allclose(means[1], known.mean(axis=0))
    np.testing.assert_allclose(covariances[1], np.cov(known.T, bias=True), atol=2e-4)
    np.testing.assert_allclose(means[0], TARGETS[50:, 0].mean(axis=0))


def test_prior_of_a_straight_track_has_an_inverse() -> None:
    straight = np.outer(np.arange(N), [3.0, 4.0])[:, None]
    _, covariances = make_readout(straight).read(np.full(N, -1.0), STATE)
    assert np.linalg.eigvalsh(covariances).min() > 0.5 * FLOOR


def test_scaled_covariances() -> None:
    readout, weights = make_readout(), RNG.normal(size=N)
    means, covariances = readout.read(weights, STATE)
    twice = readout.scaled(np.array([0.5, 1.0, 4.0])).scaled(np.full(3, 2.0))
    scaled_means, scaled_covariances = twice.read(weights, STATE)
    np.testing.assert_array_equal(scaled_means, means)
    expected = covariances * np.array([1.0, 2.0, 8.0])[:, None, None]
    np.testing.assert_allclose(scaled_covariances, expected, rtol=1e-14)


def test_far_from_the_origin_no_digits_are_lost() -> None:
    near, far = TARGETS[:, :1] - [300.0, -20.0], TARGETS[:, :1] + [4e5, 5e6]
    weights = RNG.normal(size=N)
    expected = make_readout(near).read(weights, STATE)[1]
    np.testing.assert_allclose(make_readout(far).read(weights, STATE)[1], expected, atol=1e-7)


def test_answers_are_the_callers() -> None:
    readout, weights = make_readout(), np.full(N, -1.0)
    means, covariances = readout.read(weights, STATE)
    expected = means.copy(), covariances.copy()
    means += 1.0
    covariances *= 9.0
    again = readout.read(weights, STATE)
    np.testing.assert_array_equal(again[0], expected[0])
    np.testing.assert_array_equal(again[1], expected[1])


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_compiled_and_numpy_forms_of_sharpen_agree(sign: float) -> None:
    weights = sign * np.abs(RNG.normal(size=N))
    counts, chosen, shares = [], np.zeros((2, N), dtype=np.int64), np.zeros((2, N))
    for i, sharpen in enumerate((module._sharpen_loops, module._sharpen_arrays)):
        counts.append(sharpen(weights, chosen[i], shares[i]))
    count = np.count_nonzero(weights > FAINTEST * weights.max()) if sign > 0.0 else 0
    assert counts == [count, count]
    np.testing.assert_array_equal(chosen[0, :count], chosen[1, :count])
    np.testing.assert_allclose(shares[0, :count], shares[1, :count], rtol=1e-10)


@pytest.mark.parametrize('sum_rows', [module._sum_rows_loops, module._sum_rows_arrays])
def test_sums_of_rows(sum_rows: Callable[..., None]) -> None:
    rows, shares, sums = RNG.normal(size=(N, 7)), RNG.uniform(size=4), np.full(7, 9.0)
    chosen = np.array([3, 0, 59, 20])
    sum_rows(chosen, shares, rows, sums)
    np.testing.assert_allclose(sums, shares @ rows[chosen], rtol=1e-10)
    sum_rows(chosen[:0], shares[:0], rows, sums)
    np.testing.assert_array_equal(sums, 0.0)


def test_filled_moments_are_the_same_uncompiled() -> None:
    sums = np.abs(RNG.normal(size=18))
    sums[1] = 0.0
    answers = []
    for fill in (module.fill_moments, getattr(module.fill_moments, 'py_func', None)):
        means, covariances = np.ones((3, 2)), np.tile(np.eye(2), (3, 1, 1))
        (fill or module.fill_moments)(sums, np.array([1.0, 2.0, 3.0]), means, covariances)
        answers.append((means, covariances))
    np.testing.assert_allclose(answers[0][0], answers[1][0], rtol=1e-10)
    np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=1e-10)
    np.testing.assert_array_equal(answers[0][0][1], 1.0)
    np.testing.assert_array_equal(answers[0][1][1], 2.0 * np.eye(2))
