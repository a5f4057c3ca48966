# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment with the reduced-rank HMM."""

import numpy as np
import pytest

from two_manifold_ros.typing import Floats

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.rr_hmm import (
    codes_of,
    eigenvalues_of,
    errors_of,
    learn_in_batch,
    learn_online,
    sample_symbols,
    SYMBOLS,
    TRANSITION,
    true_eigenvalues,
    WordFeatures,
)


def chances_of_codes() -> Floats:
    """Return the probability of every code, by the forward algorithm."""
    chances = np.empty(WordFeatures.codes)
    for code in range(WordFeatures.codes):
        state = np.full(4, 0.25)
        for symbol in f'{code:011b}':
            state = TRANSITION.T @ (state * (int(symbol) == SYMBOLS))
        chances[code] = state.sum()
    return chances


def test_the_chain_is_the_one_of_the_paper():
    np.testing.assert_allclose(TRANSITION.sum(axis=1), 1.0, atol=1e-12)
    assert np.linalg.matrix_rank(TRANSITION, tol=1e-6) == 3
    np.testing.assert_allclose(true_eigenvalues(), [1.0, 0.7144, 0.7142], atol=1e-4)
    # Exact frequencies give them.
    assert errors_of(eigenvalues_of(chances_of_codes())) < 1e-6


def test_symbols_come_as_often_as_they_should():
    counts = np.bincount(codes_of(sample_symbols(200_000, seed=3)), minlength=WordFeatures.codes)
    expected = chances_of_codes()
    assert expected.sum() == pytest.approx(1.0)
    for span in (1, 2, 3):
        seen = counts.reshape(2**span, -1).sum(axis=1) / counts.sum()
        np.testing.assert_allclose(
            seen, expected.reshape(2**span, -1).sum(axis=1), atol=0.01, err_msg=f'{span}'
        )
    assert np.array_equal(sample_symbols(50, seed=3), sample_symbols(50, seed=3))
    assert not np.array_equal(sample_symbols(50, seed=3), sample_symbols(50, seed=4))


def test_online_is_batch_where_nothing_is_cut_off():
    symbols = sample_symbols(4_000, seed=11)
    batch = errors_of(learn_in_batch(symbols, (4_000,)))
    online = learn_online(symbols, (2_000, 4_000))
    assert errors_of(online)[1] == pytest.approx(batch[0], rel=0.05)
    assert np.array_equal(learn_online(symbols, (2_000, 4_000)), online)
    single = learn_online(symbols[:1_000], (1_000,), one_by_one=True)
    early = errors_of(learn_in_batch(symbols, (1_000,)))
    assert errors_of(single)[0] == pytest.approx(early[0], rel=0.25)
