# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets, read-outs and the calibration of their covariances."""

from hypothesis import example, given
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.hse_hmm import readout as readouts


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=5),
    st.lists(st.integers(0, 20), min_size=1, max_size=4),
)
def test_every_target(lengths, horizons):
    # Of segment s at tick t the position is (s, t^2).
    places = [(s, t) for s, length in enumerate(lengths) for t in range(length)]
    whole = np.array([(s, t**2.0) for s, t in places]).reshape(-1, 2)
    tracks = np.split(whole, np.cumsum(lengths)[:-1])
    found = readouts.training_targets(tracks, np.arange(sum(lengths)), horizons, 0.5)
    assert found.shape == (sum(lengths), len(horizons) + 1, 2)
    for (s, t), targets in zip(places, found, strict=True):
        for horizon, target in zip(horizons, targets[:-1], strict=True):
            known = t + horizon < lengths[s]
            expected = [s, (t + horizon) ** 2] if known else [np.nan, np.nan]
            np.testing.assert_array_equal(target, expected)
        inside = 0 < t < lengths[s] - 1
        # The central difference of t^2 is 2 t a tick, and a tick lasts half a second.
        np.testing.assert_array_equal(targets[-1], [0.0, 4.0 * t] if inside else [np.nan] * 2)


def test_unknown_targets_are_passed_over():
    values = np.random.default_rng(0).normal(size=(40, 3, 2)) * [5.0, 2.0] + [100.0, -3.0]
    values[::3, 0, 1] = np.nan
    values[:, 2] = np.nan
    means, covariances = readouts.second_moments(values)
    for column, known in ((0, values[np.arange(40) % 3 > 0, 0]), (1, values[:, 1])):
        off = known - known.mean(axis=0)
        np.testing.assert_allclose(means[column], known.mean(axis=0))
        np.testing.assert_allclose(covariances[column], off.T @ off / len(known), atol=2e-4)
    np.testing.assert_array_equal(means[2], 0.0)
    np.testing.assert_array_equal(covariances[2], np.eye(2))


RNG = np.random.default_rng(0)
STATES = np.hstack([np.ones((80, 1)), RNG.normal(size=(80, 4)) * [3.0, 1.0, 0.2, 0.1]])
TRUTH = RNG.normal(size=(5, 3, 2))
TARGETS = np.einsum('nk,kcx->ncx', STATES, TRUTH) + 0.3 * RNG.normal(size=(80, 3, 2)) + 50.0


def penalised_least_squares(states: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Penalise all coefficients but the constant's by extra rows that should give zero."""
    extra = np.sqrt(1e-3 * len(states) * np.mean(STATES[:, 1:] ** 2)) * np.eye(5)[1:]
    targets = np.vstack([wanted, np.zeros((4, 2))])
    return np.linalg.lstsq(np.vstack([states, extra]), targets, rcond=None)[0]


def test_coefficients_and_covariances():
    readout = readouts.fit_ridge(STATES, TARGETS)
    means, covariances = readout.read(np.empty(0), STATES[7])
    for column in range(3):
        expected = penalised_least_squares(STATES, TARGETS[:, column])
        np.testing.assert_allclose(readout.coefficients[column].T, expected, atol=1e-9)
        np.testing.assert_allclose(means[column], STATES[7] @ expected, atol=1e-9)
        residuals = TARGETS[:, column] - STATES @ expected
        spread = residuals.T @ residuals / 80 + readouts.floors(TARGETS)[column] * np.eye(2)
        np.testing.assert_allclose(covariances[column], spread, atol=1e-9)
    # Unknown targets are passed over.
    targets, known = TARGETS.copy(), np.r_[0:10, 40:80]
    targets[10:40, 1, 0] = np.nan
    expected = penalised_least_squares(STATES[known], TARGETS[known, 1])
    found = readouts.fit_ridge(STATES, targets).coefficients[1].T
    np.testing.assert_allclose(found, expected, atol=1e-9)


RNG_SHARP = np.random.default_rng(0)
N = 60
TARGETS_SHARP = RNG_SHARP.normal(size=(N, 3, 2)) * [4.0, 1.0] + [300.0, -20.0]
TARGETS_SHARP[50:, 1] = np.nan
TARGETS_SHARP[:, 2, 0] = 7.0
STATE = np.empty(0)


def test_moments():
    readout, least = readouts.SharpenedReadout(TARGETS_SHARP), readouts.floors(TARGETS_SHARP)
    for _ in range(20):
        weights = RNG_SHARP.normal(size=N) * 0.1
        heard = np.where(weights > 0.1 * weights.max(), weights, 0.0)
        means, covariances = readout.read(weights, STATE)
        for column, known in ((0, N), (1, 50), (2, N)):
            mean, spread = naive.sharpened(heard[:known], TARGETS_SHARP[:known, column])
            np.testing.assert_allclose(means[column], mean, rtol=1e-12)
            wanted = spread + least[column] * np.eye(2)
            np.testing.assert_allclose(covariances[column], wanted, atol=1e-10)


@given(st.lists(st.floats(-1e6, 1e6), min_size=N, max_size=N), st.floats(1e-12, 1e3))
@example([0.0] * N, 1.0)
@example([-1.0] * N, 1.0)
@example([1e6] + [-1e6] * (N - 1), 1e3)
def test_inside_the_hull_and_finite(values, scale):
    readout = readouts.SharpenedReadout(TARGETS_SHARP)
    means, covariances = readout.read(scale * np.array(values), STATE)
    assert np.isfinite(means).all()
    assert np.isfinite(covariances).all()
    least = np.linalg.eigvalsh(covariances).min(axis=1)
    assert (least > 0.5 * readouts.floors(TARGETS_SHARP)).all()
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    for direction in np.stack([np.cos(angles), np.sin(angles)], axis=1):
        reach = np.nanmax(TARGETS_SHARP @ direction, axis=0)
        assert (means @ direction <= reach + 1e-9).all()


def test_calibrated_covariances():
    readout, weights = readouts.SharpenedReadout(TARGETS_SHARP), RNG_SHARP.normal(size=N)
    means, covariances = readout.read(weights, STATE)
    calibration = readouts.Calibration(np.array([0.0, 0.3, 7.0]), np.array([0.5, 1.0, 4.0]))
    found_means, found = readout.calibrated(calibration).read(weights, STATE)
    np.testing.assert_array_equal(found_means, means)
    for column, (added, factor) in enumerate([(0.0, 0.5), (0.3, 1.0), (7.0, 4.0)]):
        wanted = factor * (covariances[column] + added * np.eye(2))
        np.testing.assert_allclose(found[column], wanted, rtol=1e-12)
    # Far from the origin no digits are lost.
    one, other = (
        readouts.SharpenedReadout(TARGETS_SHARP[:, :1] + away).read(weights, STATE)[1]
        for away in ([-300.0, 20.0], [4e5, 5e6])
    )
    np.testing.assert_allclose(other, one, atol=1e-7)
    # One calibration takes the place of another.
    again = readout.calibrated(calibration).calibrated(readouts.Calibration.none(3))
    np.testing.assert_array_equal(again.read(weights, STATE)[1], covariances)
    # Answers are the caller's.
    means += 1.0
    np.testing.assert_array_equal(readout.read(weights, STATE)[0], found_means)


N_CAL = 4000
RNG_CAL = np.random.default_rng(0)
ROOTS = RNG_CAL.normal(size=(N_CAL, 2, 2)) + 2.0 * np.eye(2)
COVARIANCES = ROOTS @ ROOTS.transpose(0, 2, 1)


def whiten_back(white: np.ndarray) -> np.ndarray:
    return (ROOTS @ white[..., None])[..., 0]


def test_each_target_by_its_known_errors():
    np.testing.assert_allclose(readouts.CHI_SQUARE, [2.278869, 5.991465], atol=1e-6)
    errors = np.stack(
        [whiten_back(scale * RNG_CAL.normal(size=(N_CAL, 2))) for scale in (1, 2, 3)], 1
    )
    errors[19:, 0] = np.nan
    errors[::2, 1, 0] = np.nan
    covariances = np.repeat(COVARIANCES[:, None], 3, axis=1)
    factors = readouts.calibration_factors(errors, covariances, np.zeros(3))
    assert factors[0] == 1.0
    np.testing.assert_allclose(factors[1:], [4.0, 9.0], rtol=0.1)
    # Of one error less nothing is learned, nor is anything added.
    found = readouts.calibrate(errors[:, :1], covariances[:, :1], 1.0)
    assert (found.added.tolist(), found.factors.tolist()) == ([0.0], [1.0])
    errors[19, 0] = 0.0
    assert readouts.calibration_factors(errors, covariances, np.zeros(3))[0] != 1.0


@pytest.mark.parametrize('scale', [0.7, 1.0, 3.0])
def test_noise_of_the_references_is_no_error_of_the_filter(scale):
    generator = np.random.default_rng(8)
    noise = 0.5 * np.median(COVARIANCES[:, 0, 0])
    wide = np.linalg.eigvalsh(COVARIANCES)[:, 0] > noise
    true = whiten_back(scale * generator.normal(size=(N_CAL, 2)))[wide]
    errors = true + np.sqrt(noise) * generator.normal(size=true.shape)
    covariances = COVARIANCES[wide]
    (factor,) = readouts.calibration_factors(
        errors[:, None], covariances[:, None], np.array([noise])
    )
    assert factor == pytest.approx(scale**2, rel=0.1)
    # One by one, for factors beside each other: on the geometric mean the shares are held.
    tried = np.geomspace(0.5 * factor, 2.0 * factor, 60)
    inside = [np.linalg.inv(one * covariances + noise * np.eye(2)) for one in tried]
    squares = [np.einsum('ni,nij,nj->n', errors, each, errors) for each in inside]
    held = np.less_equal.outer(squares, readouts.CHI_SQUARE).mean(axis=1)
    found = [np.interp(level, held[:, k], tried) for k, level in enumerate((0.68, 0.95))]
    assert factor == pytest.approx(np.sqrt(np.prod(found)), rel=0.02)


def test_noise_takes_half_of_an_axis_at_most_and_none_that_errors_contradict():
    errors = whiten_back(np.random.default_rng(9).normal(size=(N_CAL, 2)))[:, None]
    covariances = COVARIANCES[:, None]
    usual = readouts.calibration_factors(errors, covariances, np.zeros(1))
    middle = np.median(np.square(errors).sum(axis=2)) / (2.0 * np.log(2.0))
    shares = [
        readouts.calibration_factors(errors, covariances, np.array([share * middle]))[0] / usual[0]
        for share in (0.89, 1.0, 1.11)
    ]
    # No step: both are estimates.
    np.testing.assert_allclose(shares, [0.25, 0.625, 1.0], rtol=1e-6)
    # A shrinking is believed as far as the errors are independent.
    factors = np.array([0.25, 1.0, 4.0])
    np.testing.assert_allclose(readouts.tempered(factors, 0.0), [1.0, 1.0, 4.0])
    np.testing.assert_allclose(readouts.tempered(factors, 20.0), [0.5, 1.0, 4.0])
    np.testing.assert_allclose(readouts.tempered(factors, 1e9), factors, rtol=1e-6)


def test_the_smallest_ellipses_that_hold_their_share_are_chosen():
    """Against a search in Cartesian coordinates, with determinants."""
    errors = whiten_back(RNG_CAL.standard_t(3.0, size=(N_CAL, 2)))[:200] + 0.3
    covariances = COVARIANCES[:200]
    tried = [0.0, *np.quantile(0.5 * np.square(errors).sum(axis=1), readouts.ADDED)]
    sizes, factors = [], []
    for added in tried:
        whole = covariances + added * np.eye(2)
        one = readouts.calibration_factors(errors[:, None], whole[:, None], np.zeros(1))[0]
        factors.append(one)
        sizes.append(np.mean([np.log(np.linalg.det(one * each)) for each in whole]))
    best = int(np.argmin(sizes))
    found = readouts.calibrate(errors[:, None], covariances[:, None], 1e12)
    np.testing.assert_allclose(found.added, [tried[best]], rtol=1e-9)
    np.testing.assert_allclose(found.factors, [factors[best]], rtol=1e-6)
