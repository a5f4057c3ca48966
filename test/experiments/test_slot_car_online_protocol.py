# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores of forecasts against a loop over every start, length and horizon."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.experiments.slot_car_online import choose, Forecaster, Protocol


def _last(observations: np.ndarray) -> np.ndarray:
    return observations


PERSISTENCE = Forecaster(_last, np.broadcast_to(np.eye(2), (5, 2, 2)))


def test_errors_are_means_over_starts_and_lengths() -> None:
    observations = np.random.default_rng(0).normal(size=(40, 2))
    protocol = Protocol(shortest=4, longest=9, horizons=3)
    starts = protocol.starts(40).tolist()
    assert starts[0] == 0
    assert starts[-1] == 28
    naive = np.zeros(3)
    for start in starts:
        for length in range(4, 10):
            newest = start + length - 1
            for ahead in (1, 2, 3):
                difference = observations[newest + ahead] - observations[newest]
                naive[ahead - 1] += (difference**2).sum() / (6 * len(starts))
    np.testing.assert_allclose(protocol.errors(PERSISTENCE, observations), naive)


def test_each_filter_starts_anew_and_sees_nothing_of_what_it_foretells() -> None:
    seen = []

    def spy(observations: np.ndarray) -> np.ndarray:
        seen.append(observations.copy())
        return observations

    observations = np.arange(80.0).reshape(40, 2)
    protocol = Protocol(4, 9, 3)
    protocol.errors(Forecaster(spy, PERSISTENCE.table), observations)
    starts = protocol.starts(40)
    assert len(seen) == len(starts)
    for start, given in zip(starts, seen, strict=True):
        np.testing.assert_array_equal(given, observations[start : start + 9])


def test_the_protocol_is_the_papers_where_it_fits_and_shorter_elsewhere() -> None:
    assert Protocol.fitting(1_000, 150) == Protocol(100, 250, 100)
    assert Protocol.fitting(1_000, 60).horizons == 60
    for ticks in (60, 200, 399):
        short = Protocol.fitting(ticks, 30)
        assert 0 < short.shortest <= short.longest
        assert short.longest + short.horizons < ticks


def test_the_best_on_held_out_observations_is_chosen() -> None:
    observations = np.cumsum(np.random.default_rng(1).normal(size=(60, 2)), axis=0)
    table = np.broadcast_to(np.eye(2), (3, 2, 2))
    candidates = {size: Forecaster(_last, size * table) for size in (0.0, 0.5, 1.0, 2.0)}
    assert choose(candidates, observations, Protocol(5, 20, 3)) == 1.0
