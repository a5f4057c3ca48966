# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The equations of the method as slow, plain functions that share nothing with the package."""

from collections.abc import Iterator, Sequence
import itertools

import numpy as np

Array = np.ndarray


def squared_distances(left: Array, right: Array) -> Array:
    return np.array([[np.sum((a - b) ** 2) for b in right] for a in left])


def gaussian(left: Array, right: Array, bandwidth: float) -> Array:
    """Gaussian kernel between the rows of two arrays (mathematics, section 2.1)."""
    return np.exp(-squared_distances(left, right) / (2 * bandwidth**2))


def cosine_transform(count: int) -> Array:
    """Matrix of the orthonormal cosine transform of the second kind."""
    rows = [
        [np.cos(np.pi * (2 * j + 1) * i / (2 * count)) for j in range(count)] for i in range(count)
    ]
    return np.array([np.array(row) / np.linalg.norm(row) for row in rows])


def training_rows(segments: Sequence[Array], width: int) -> Iterator[tuple[Array, ...]]:
    """Past, observation, own and shifted future of each training tick (mathematics, section 1)."""
    for segment in segments:
        for t in range(width, len(segment) - width):
            yield (
                segment[t - width : t],
                segment[t],
                segment[t : t + width],
                segment[t + 1 : t + 1 + width],
            )


def window_distances(series: Array, window: Array) -> Array:
    """Squared distance of one (d, w) window to each window of a (d, N) series."""
    width = window.shape[1]
    places = range(series.shape[1] - width + 1)
    return np.array([np.sum((series[:, j : j + width] - window) ** 2) for j in places])


def affinities(squared: Array, neighbours: int, bandwidth: float) -> Array:
    """W of mathematics, section 2.3 from all squared distances."""
    count = len(squared)
    near = np.zeros((count, count), dtype=bool)
    for i in range(count):
        others = [j for j in range(count) if j != i]
        near[i, sorted(others, key=lambda j: squared[i, j])[:neighbours]] = True
    return np.where(near | near.T, np.exp(-squared / (2 * bandwidth**2)), 0.0)


def with_constant(weights: Array, states: Array) -> tuple[Array, Array]:
    """Put the constant coordinate before Q and X, mathematics (3.4)."""
    ones = np.ones((len(weights), 1))
    return np.hstack([ones / len(ones), weights]), np.hstack([ones, states])


def gram_ridge(observations: Array, bandwidth: float, ridge: float, observation: Array) -> Array:
    """Ridge factors gamma of every training tick, mathematics (4.3)."""
    gram = gaussian(observations, observations, bandwidth)
    new = gaussian(observations, observation[None], bandwidth)[:, 0]
    return np.linalg.solve(gram + ridge * len(gram) * np.eye(len(gram)), new)


def operator(weights: Array, states: Array, factors: Array) -> Array:
    """B(o) from factors n gamma, mathematics (4.3)."""
    return states.T @ np.diag(factors) @ weights


def update(state: Array, matrix: Array, normaliser: Array) -> Array:
    """Belief after an observation with operator B(o), mathematics (6.1)."""
    moved = matrix @ state
    return moved / (normaliser @ moved)


def sharpened(weights: Array, points: Array) -> tuple[Array, Array]:
    """Mean and covariance under the sixth power of the positive weights, mathematics (7.2)."""
    shares = np.maximum(weights, 0.0) ** 6
    shares = shares / shares.sum()
    mean = sum(s * p for s, p in zip(shares, points, strict=True))
    spread = sum(s * np.outer(p - mean, p - mean) for s, p in zip(shares, points, strict=True))
    return mean, spread


def align(reference: Array, columns: Array) -> Array:
    """Signs that turn columns into those of the reference."""
    return np.sign((reference * columns).sum(axis=0))


def assert_same_to_signs(found: Array, expected: Array, **tolerances: float) -> None:
    """Each column is the expected one or its negative."""
    np.testing.assert_allclose(found, expected * align(found, expected), **tolerances)


def diffusion_map(weights: Array, density: float, dimension: int) -> tuple[Array, Array]:
    """Eigenvalues of a walk over weights, and its functions after a step, centred."""
    sums = weights.sum(axis=1)
    weights = weights / np.outer(sums, sums) ** density
    degrees = weights.sum(axis=1)
    values, functions = np.linalg.eig(weights / degrees[:, None])
    order = np.argsort(-values.real)[1 : dimension + 1]
    values, functions = values.real[order], functions.real[:, order]
    functions *= values / np.sqrt(degrees @ np.square(functions) / degrees.sum())
    return values, functions - functions.mean(axis=0)


def words_of_chain(transition: Array, emission: Array) -> tuple[Array, Array]:
    """Every word (w, 3) of symbols of a hidden Markov chain, and how likely it is on average."""
    words = np.array(list(itertools.product(range(emission.shape[1]), repeat=3)))
    chances = []
    for word in words:
        forward = np.linalg.matrix_power(transition, 500)[0]
        for symbol in word:
            forward = (forward * emission[:, symbol]) @ transition
        chances.append(forward.sum())
    return words, np.array(chances)


def follow_chain(transition: Array, emission: Array, gaps: Sequence[int]) -> Iterator[tuple]:
    """Symbols of a chain, a gap after each, and the chances of the next one by Bayes' rule."""
    rng, state = np.random.default_rng(0), 0
    believed = np.linalg.matrix_power(transition, 500)[0]
    for gap in gaps:
        symbol = rng.choice(emission.shape[1], p=emission[state])
        state = rng.choice(len(transition), p=transition[state])
        believed = believed * emission[:, symbol]
        believed = believed / believed.sum() @ np.linalg.matrix_power(transition, 1 + gap)
        yield np.eye(emission.shape[1])[symbol], gap, believed @ emission
