# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Couplings, tables, operators and the belief of the HMM against equations and Bayes."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm import hmm
from two_manifold_ros.manifold.learner import Extension
from two_manifold_ros.names import COUPLINGS
from two_manifold_ros.ticks.sliding import SlidingWindow


def coupled_features(n: int = 60, future: int = 7, past: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Make centred features of two noisy views of one hidden signal."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 5)) * [1.5, 1.3, 1.0, 0.8, 0.6]
    views = [
        hidden @ np.linalg.qr(rng.normal(size=(size, 5)))[0].T + 0.2 * rng.normal(size=(n, size))
        for size in (future, past)
    ]
    return tuple(view - view.mean(axis=0) for view in views)


def ridged_covariance(features: np.ndarray) -> np.ndarray:
    """Return the covariance with the ridge of the couplings that whiten."""
    covariance = features.T @ features / len(features)
    size = len(covariance)
    return covariance + hmm.RIDGE * np.trace(covariance) / size * np.eye(size)


FUTURE, PAST = coupled_features()


def test_cross_covariance_is_the_kernel_svd():
    found = hmm.couple(FUTURE, PAST, 'cross-covariance')
    left, values, right = np.linalg.svd(FUTURE.T @ PAST / len(FUTURE), full_matrices=False)
    np.testing.assert_allclose(found.singular_values, values, rtol=1e-12)
    signs = naive.align(left, found.first_map)
    np.testing.assert_allclose(found.first_map * signs, left, atol=1e-12)
    np.testing.assert_allclose(found.second_map * signs, right.T, atol=1e-12)
    # As in mathematics (4.4).
    products = np.linalg.eigvals(PAST @ PAST.T @ FUTURE @ FUTURE.T)
    squares = np.sort(np.real(products))[::-1][:5] / len(PAST) ** 2
    np.testing.assert_allclose(found.singular_values**2, squares, rtol=1e-11)


def test_gram_product_is_the_dense_svd():
    """Also of repeated and constant columns, as in mathematics (4.5)."""
    for wider in (FUTURE, np.hstack([FUTURE, FUTURE[:, :2], np.zeros((len(FUTURE), 1))])):
        found = hmm.couple(wider, PAST, 'gram-product')
        left, values, right = np.linalg.svd(wider @ wider.T @ PAST @ PAST.T)  # C_X C_Y
        np.testing.assert_allclose(found.singular_values, values[:5], rtol=1e-10)
        directions = wider @ found.first_map / np.sqrt(len(wider))
        signs = naive.align(left[:, :5], directions)
        np.testing.assert_allclose(directions * signs, left[:, :5], atol=1e-10)
        directions = PAST @ found.second_map / np.sqrt(len(PAST))
        np.testing.assert_allclose(directions * signs, right[:5].T, atol=1e-10)


def test_canonical_is_the_dense_canonical_correlation():
    """Against the eigenvalue problem C_XX^-1 C_XY C_YY^-1 C_YX a = rho^2 a."""
    found = hmm.couple(FUTURE, PAST, 'canonical')
    own, other = ridged_covariance(FUTURE), ridged_covariance(PAST)
    cross = FUTURE.T @ PAST / len(FUTURE)
    squares, maps = np.linalg.eig(np.linalg.inv(own) @ cross @ np.linalg.inv(other) @ cross.T)
    order = np.argsort(-np.real(squares))[:5]
    correlations = np.sqrt(np.real(squares)[order])
    np.testing.assert_allclose(found.singular_values, correlations, rtol=1e-9)
    wanted = np.real(maps[:, order])
    wanted /= np.sqrt((wanted * (own @ wanted)).sum(axis=0))  # of variance one, ridge included
    signs = naive.align(wanted, found.first_map)
    np.testing.assert_allclose(found.first_map * signs, wanted, atol=1e-9)
    variates = np.linalg.solve(other, cross.T @ wanted) / correlations
    np.testing.assert_allclose(found.second_map * signs, variates, rtol=1e-8, atol=1e-9)


def test_reduced_rank_is_the_best_regression_of_its_rank():
    """It is the leading part of the prediction of ordinary (here ridge) regression."""
    found = hmm.couple(FUTURE, PAST, 'reduced-rank')
    rows = len(FUTURE)
    # A ridge regression is an ordinary one on rows of the ridge below the data.
    ridge = rows * (ridged_covariance(PAST) - PAST.T @ PAST / rows)
    inputs = np.vstack([PAST, np.linalg.cholesky(ridge).T])
    outputs = np.vstack([FUTURE, np.zeros((5, 7))])
    predicted = inputs @ np.linalg.lstsq(inputs, outputs, rcond=None)[0]
    left, values, right = np.linalg.svd(predicted / np.sqrt(rows), full_matrices=False)
    np.testing.assert_allclose(found.singular_values, values[:5], rtol=1e-10)
    best = (left[:, :3] * values[:3]) @ right[:3] * np.sqrt(rows)
    first_map, second_map = found.first_map[:, :3], found.second_map[:, :3]
    ours = inputs @ (second_map * found.singular_values[:3]) @ first_map.T
    np.testing.assert_allclose(ours, best, atol=1e-9)


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_spectral_regression_is_the_smallest(coupling):
    """In the metric in which the coupling measures the past."""
    found = hmm.shared_directions(FUTURE, PAST, 4, coupling)
    whitens = coupling in {'canonical', 'reduced-rank'}
    metric = ridged_covariance(PAST) if whitens else np.eye(5)
    half = np.linalg.inv(metric) @ PAST.T @ FUTURE @ found.future_map / len(PAST)
    smallest = half @ np.linalg.inv(half.T @ metric @ half)
    np.testing.assert_allclose(found.past_map, smallest, rtol=1e-8, atol=1e-9)


def test_weak_directions_are_left_out_and_nothing_shared_or_an_unknown_coupling_is_refused():
    left, values, right = np.linalg.svd(FUTURE.T @ PAST, full_matrices=False)
    weakened = values * [1.0, 1.0, 1.0, 1.1 * hmm.SMALLEST_RATIO * values[0] / values[3], 0.0]
    weakened[4] = 0.9 * hmm.SMALLEST_RATIO * values[0]
    orthonormal = np.linalg.qr(np.random.default_rng(1).normal(size=(60, 5)))[0]
    found = hmm.shared_directions(orthonormal @ (left * weakened).T, orthonormal @ right, 5)
    assert found.future_map.shape[1] == found.past_map.shape[1] == 4
    for coupling in COUPLINGS:
        with pytest.raises(InputError, match='share nothing'):
            hmm.shared_directions(FUTURE, 0.0 * PAST, 3, coupling)
    with pytest.raises(InputError, match=r"'pca'.*cross-covariance, gram-product, canonical, red"):
        hmm.shared_directions(FUTURE, PAST, 3, 'pca')


@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize('growth', [0.6, 1.4])
def test_first_row_of_the_transition(growth, coupling):
    shifted = growth * FUTURE + 0.1 * np.random.default_rng(0).normal(size=FUTURE.shape)
    tables = hmm.build_tables(PAST, shifted, hmm.shared_directions(FUTURE, PAST, 3, coupling))
    matrix = hmm.transition(tables.weights, tables.states)
    np.testing.assert_allclose(matrix[0], np.eye(4)[0], atol=1e-12)
    np.testing.assert_allclose(tables.weights[:, 0], 1.0 / 60.0, rtol=1e-15)
    np.testing.assert_array_equal(tables.states[:, 0], 1.0)
    assert hmm.spectral_radius(matrix) <= 1.0 + 1e-12


TURN = np.exp(0.3j)
BASIS = np.random.default_rng(0).normal(size=(5, 5))
WEIGHTS = np.random.default_rng(1).normal(size=(30, 6))


def inner_matrix(pair: complex, *real: float) -> np.ndarray:
    """Return A with a pair of conjugate eigenvalues and three real ones, in a skew basis."""
    normal = np.diag([pair.real, pair.real, *real])
    normal[[0, 1], [1, 0]] = -pair.imag, pair.imag
    return BASIS @ normal @ np.linalg.inv(BASIS)


def states_with(inner: np.ndarray) -> np.ndarray:
    """Return a state table whose transition with ``WEIGHTS`` is [[1, 0], [c, A]]."""
    matrix = np.zeros((6, 6))
    matrix[0, 0] = 1.0
    matrix[1:, 0] = [0.1, 0.2, -0.3, 0.4, -0.5]
    matrix[1:, 1:] = inner
    return np.linalg.pinv(WEIGHTS).T @ matrix.T


def test_only_growing_modes_shrink():
    """And stable tables are left alone."""
    states = states_with(inner_matrix(1.05 * TURN, 0.5, -1.2, 0.9))
    assert hmm.spectral_radius(hmm.transition(WEIGHTS, states)) == pytest.approx(1.2, rel=1e-9)
    found = hmm.transition(WEIGHTS, hmm.stabilised(WEIGHTS, states))
    expected = inner_matrix(TURN, 0.5, -1.0, 0.9)
    np.testing.assert_allclose(found[0], np.eye(6)[0], atol=1e-12)
    np.testing.assert_allclose(found[1:, 1:], expected, atol=1e-9)
    # What the constant drives moves with its modes: c becomes S c.
    shrink = inner_matrix(1.0 / 1.05 + 0.0j, 1.0, 1.0 / 1.2, 1.0)
    np.testing.assert_allclose(found[1:, 0], shrink @ [0.1, 0.2, -0.3, 0.4, -0.5], atol=1e-9)
    states = states_with(inner_matrix(0.99 * TURN, 0.5, -0.8, 0.9))
    assert hmm.stabilised(WEIGHTS, states) is states
    # And those whose modes are nearly parallel do not grow.
    jordan = 1.1 * np.eye(5) + np.eye(5, k=1)
    states = hmm.stabilised(WEIGHTS, states_with(BASIS @ jordan @ np.linalg.inv(BASIS)))
    assert hmm.spectral_radius(hmm.transition(WEIGHTS, states)) <= 1.0 + 1e-9


def test_modes_that_cannot_be_separated_are_all_scaled():
    """Also the table of a state whose transition is such a one, so that it stays stable."""
    turn = np.array([[1.1, 0.6], [-0.6, 1.1]])
    twice = np.block([[turn, np.eye(2)], [np.zeros((2, 2)), turn]])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    matrix = rotation @ twice @ rotation.T
    found = hmm.shrink_growing_modes(matrix)
    np.testing.assert_allclose(found / found[0, 0], matrix / matrix[0, 0], rtol=1e-9)
    factor = hmm.shrink_growing_modes(matrix, as_factor=True)
    for shrunk in (found, factor @ matrix):
        assert np.abs(np.linalg.eigvals(shrunk)).max() <= 1.0 + 1e-7


@pytest.mark.parametrize('ridge', [1e-3, 0.1, 1.0])
def test_ridge_at_full_rank(ridge):
    seen = np.random.default_rng(0).normal(size=(70, 3))
    operator = hmm.make_ridge_kernel(seen, 1.0, ridge, features=70)
    for new in np.random.default_rng(1).normal(size=(10, 3)):
        # As in mathematics (4.3), (5.1).
        kernel = naive.gaussian(new[None], operator.kernel_points, operator.bandwidth)[0]
        found = operator.features @ (kernel @ operator.responses)
        np.testing.assert_allclose(found, 70 * naive.gram_ridge(seen, 1.0, ridge, new), atol=1e-8)


# Quarters, so that triples times 3 * 4^5 are whole numbers; both sides of the transition sum to
# one, so that states are equally likely.
TRANSITION = np.array([[2, 1, 1], [1, 1, 2], [1, 2, 1]]) / 4
EMISSION = np.array([[2, 1, 1, 0, 0], [0, 1, 0, 2, 1], [0, 0, 2, 1, 1]]) / 4


@pytest.mark.parametrize(
    ('ridge', 'gaps'), [(None, [0]), (1e-3, [0]), (10.0, [0]), (None, [0, 1, 3])]
)
def test_predicts_as_bayes_does(ridge, gaps):
    """Also through missing symbols; a skip of none makes the weights those of the state."""
    words, chances = naive.words_of_chain(TRANSITION, EMISSION)
    counts = np.rint(3072 * chances).astype(int)
    np.testing.assert_allclose(counts, 3072 * chances, atol=1e-9)
    past, observed, following = (np.eye(5)[each] for each in np.repeat(words, counts, axis=0).T)
    past, mean = past - past.mean(axis=0), observed.mean(axis=0)
    shared = hmm.shared_directions(observed - mean, past, rank=2)
    tables = hmm.build_tables(past, following - mean, shared)
    # A bandwidth far below the distance of two symbols makes the kernel one or nothing.
    belief = hmm.Belief(tables, kernel_of(observed, 0.01, ridge))
    np.testing.assert_allclose(belief.weights @ observed, np.full(3, 1 / 3) @ EMISSION, atol=1e-9)
    every = (gaps * 300)[:300]
    for seen, gap, expected in naive.follow_chain(TRANSITION, EMISSION, every):
        belief.update(seen)
        belief.skip(gap)
        np.testing.assert_allclose(belief.weights @ observed, expected, atol=1e-9)
        assert abs(belief.weights.sum() - 1.0) < 1e-12


N, K, D = 80, 4, 3


def make_tables(count: int = N) -> hmm.Tables:
    """Make tables of mathematics (3.4) with a transition well inside the unit circle."""
    past, noise = np.random.default_rng(0).normal(size=(2, count, K - 1))
    past -= past.mean(axis=0)
    weights, states = naive.with_constant(past / count, 0.5 * past + 0.1 * noise)
    return hmm.Tables(weights, states)


SEEN = np.random.default_rng(1).normal(size=(N, D))


def test_cancelling_evidence_is_passed_over():
    """Weights of 1.5 and -0.5 become 0.5 (1 + excess) and -0.5, of which excess / 2 is left."""
    tables = hmm.Tables(np.array([[0.5, 1.0], [0.5, -1.0]]), np.array([[1.0, 0.2], [1.0, -0.3]]))
    for excess, passed_over in ((-0.5, True), (0.0, True), (0.21, True), (0.23, False)):
        apart = np.sqrt(2.0 * np.log(3.0 / (1.0 + excess)))
        belief = hmm.Belief(tables, hmm.RawKernel(np.array([[0.0], [apart]]), 1.0))
        belief.start(np.array([1.0, 1.0]))
        evidence = belief.update(np.array([apart]))
        assert evidence == pytest.approx(excess / (2.0 + excess), abs=1e-12)
        assert (evidence <= hmm.SMALLEST_EVIDENCE) == passed_over
        moved = np.array([1.0, 0.2 * 1.5 + 0.3 * 0.5])
        assert np.allclose(belief.state, moved, atol=1e-12) == passed_over
        if passed_over:
            np.testing.assert_allclose(belief.weights, [1.5, -0.5], atol=1e-12)
        assert belief.weights.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.filterwarnings('ignore:overflow encountered')
@pytest.mark.parametrize('ridge', [None, 0.3])
@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e3, 1e9, 1e155, 1e300])
def test_no_observation_makes_the_belief_infinite(ridge, value):
    belief = hmm.Belief(make_tables(), kernel_of(SEEN, 1.5, ridge))
    belief.update(SEEN[0])
    for channels in ([0], [0, 1, 2]):
        observation = SEEN[1].copy()
        observation[channels] = value
        belief.update(observation)
        assert np.isfinite(belief.state).all()
        assert np.isfinite(belief.weights).all()
        assert abs(belief.weights.sum() - 1.0) < 1e-9
    for observation in SEEN[:30]:
        assert belief.update(observation) > hmm.SMALLEST_EVIDENCE


@pytest.mark.filterwarnings('ignore:overflow encountered')
def test_gaussian_factors():
    """They stay positive far away."""
    many, factors = 3.0 * np.random.default_rng(0).normal(size=(3, 300)), np.empty(300)
    far = [np.array([0.0, away, 0.0]) for away in (1e3, 1e100, 1e200, np.inf)]
    near = np.zeros(3), many[:, 4].copy(), np.array([4.0, -9.0, 30.0])
    for observation in (*near, *far):
        for bandwidth in (0.5, 2.0, 40.0):
            hmm.gaussian_factors(many, observation, bandwidth, factors)
            squared = np.sum((many - observation[:, None]) ** 2, axis=0)
            expected = np.exp(-np.minimum(squared / (2.0 * bandwidth**2), 700.0))
            np.testing.assert_allclose(factors, expected, rtol=1e-10)


N_WINDOW, WIDTH, FAR = 40, 5, 1e6
SERIES = np.random.default_rng(0).normal(size=(D, N_WINDOW + WIDTH - 1))
RECALLED = np.random.default_rng(1).normal(size=(N_WINDOW, K - 1))


class Nearest:
    """Weight 1 on the nearest training window, none where it is out of reach."""

    def weights(self, squared: np.ndarray) -> np.ndarray | None:
        return np.eye(len(squared))[squared.argmin()] if squared.min() < FAR else None


def test_the_next_observation_decides_between_what_is_recalled_and_believed():
    """As if both hypotheses were updated alone and weighed by how well they predicted it."""
    window = SlidingWindow(SERIES, np.arange(N_WINDOW), WIDTH)
    recollection = hmm.Recollection(window, Extension(Nearest(), RECALLED, np.zeros(K - 1)))
    belief = hmm.Belief(make_tables(N_WINDOW), hmm.RawKernel(SERIES.T[WIDTH - 1 :], 1.5))
    belief.start(np.array([1.0, 0.5, -0.2, 0.1]))
    believed, before = belief.weights.copy(), belief.state.copy()
    # A window unlike all of training says nothing.
    for _ in range(WIDTH):
        assert recollection.state() is None
        recollection.window.push(np.full(D, FAR))
    recollection.remind(belief)
    np.testing.assert_array_equal(belief.state, before)
    for observation in SERIES[:, 7 : 7 + WIDTH].T:
        assert recollection.state() is None
        recollection.window.push(observation)
    np.testing.assert_array_equal(recollection.state(), [1.0, *RECALLED[7]])
    recollection.remind(belief)
    mixed = belief.state.copy()
    belief.start(np.array([1.0, *RECALLED[7]]))
    recalled = belief.weights.copy()
    belief.start(mixed)
    observation = SERIES[:, 20]
    belief.update(observation)
    factors = np.exp(-np.square(SERIES.T[WIDTH - 1 :] - observation).sum(axis=1) / (2.0 * 1.5**2))
    joint = ((1.0 - hmm.SHARE) * believed + hmm.SHARE * recalled) * factors
    np.testing.assert_allclose(belief.weights, joint / joint.sum(), rtol=1e-9, atol=1e-12)


def kernel_of(
    observations: np.ndarray, bandwidth: float, ridge: float | None
) -> hmm.ObservationOperator:
    if ridge is None:
        return hmm.RawKernel(observations, bandwidth)
    return hmm.make_ridge_kernel(observations, bandwidth, ridge)
