# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One-hot features of words."""

import itertools

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.features import IndicatorFeatures


@pytest.mark.parametrize(('symbols', 'length'), [(2, 3), (3, 2), (5, 1), (1, 4)])
def test_every_word_has_its_own_feature_in_order(symbols: int, length: int) -> None:
    words = np.array(list(itertools.product(range(symbols), repeat=length)), dtype=float)
    made = IndicatorFeatures(symbols, length)
    np.testing.assert_array_equal(made.transform(words), np.eye(len(words)))
    assert (made.inputs, made.size) == (length, len(words))


def test_words_as_they_come() -> None:
    features = IndicatorFeatures(2, 2).transform(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(features, [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0]])


@pytest.mark.parametrize('code', [-1.0, 2.0, 0.5, 1e300])
def test_no_code_of_a_symbol(code: float) -> None:
    with pytest.raises(InputError, match='codes 0 to 1'):
        IndicatorFeatures(2, 2).transform(np.array([[0.0, 1.0], [code, 0.0]]))


def test_points_of_another_shape_or_not_finite() -> None:
    with pytest.raises(InputError, match='do not fit'):
        IndicatorFeatures(2, 2).transform(np.zeros((3, 1)))
    with pytest.raises(InputError, match='not finite'):
        IndicatorFeatures(2, 2).transform(np.full((1, 2), np.nan))


@pytest.mark.parametrize(
    ('symbols', 'length'),
    [(2, 20), (1_000_001, 1), (10**400, 2), (2, 10**400), (1, 10**7)],
)
def test_too_many_words(symbols: int, length: int) -> None:
    with pytest.raises(InputError, match='more than 1000000'):
        IndicatorFeatures(symbols, length)


@pytest.mark.parametrize(('symbols', 'length'), [(0, 1), (2, 0), (2.0, 1), (2, '3')])
def test_bad_numbers(symbols: object, length: object) -> None:
    with pytest.raises(InputError, match='not a whole number'):
        IndicatorFeatures(symbols, length)
