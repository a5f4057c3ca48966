# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Streams of features that the tests of the TPSR learn from."""

from collections.abc import Iterator

import numpy as np

from two_manifold_ros.tpsr.learner import Triples
from two_manifold_ros.tpsr.parameters import Tpsr, TpsrBelief


def wandering(samples: int, size: int = 8, observations: int = 5, seed: int = 0) -> Triples:
    """Smooth features of a wandering point; the last history feature is the constant."""
    rng = np.random.default_rng(seed)
    steps = 0.3 * rng.normal(size=(samples + 3, 3))
    points = np.zeros_like(steps)
    for tick in range(1, len(points)):
        points[tick] = 0.9 * points[tick - 1] + steps[tick]
    features = np.random.default_rng(99)
    windows = np.cos(points @ features.normal(size=(3, size)) + features.uniform(0, 6, size))
    present = np.cos(
        points @ features.normal(size=(3, observations)) + features.uniform(0, 6, observations)
    )
    windows[:, -1] = present[:, -1] = 1.0
    return Triples(
        tests=windows[1 : samples + 1],
        next_tests=windows[2 : samples + 2],
        histories=windows[:samples],
        observations=present[1 : samples + 1],
        importance=rng.uniform(0.5, 2.0, samples),
    )


def unit(size: int) -> np.ndarray:
    """Return the constant as written in the histories of these streams."""
    return np.eye(size)[-1]


def part(triples: Triples, begin: int, end: int) -> Triples:
    return Triples(*(array[begin:end] for array in vars(triples).values()))


def rows_of(triples: Triples) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield test, next test, history, observation and importance of each sample."""
    return zip(*vars(triples).values(), strict=True)


def evidences(tpsr: Tpsr, observations: np.ndarray) -> list[float]:
    """Return how well each observation was predicted."""
    belief = TpsrBelief(tpsr)
    return [belief.update(row) for row in observations]
