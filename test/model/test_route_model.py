# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Maps of a route that cannot be run are refused."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from conftest import Content, Refusal


@pytest.mark.parametrize(
    ('name', 'index', 'value', 'words'),
    [
        ('gains', 0, 0.0, 'gains holds 0'),
        ('gains', 0, 1.5, 'gains holds 1.5'),
        ('noise', 3, 0.0, 'noise holds 0'),
        ('noise', 3, -1.0, 'noise holds -1'),
        ('factors', 1, 0.0, 'factors holds 0'),
        ('states', (2, 0), 0.5, 'the states of its route do not begin with the constant'),
        ('targets', (2, 0, 1), float('nan'), 'targets holds numbers that are not finite'),
        ('covariances', (2, 1), -np.eye(2), 'covariances are no covariances'),
        ('covariances', (2, 1, 0, 1), 9.0, 'covariances are no covariances'),
        ('begins', 1, 0, 'begins does not count the ways of each place'),
        ('begins', -1, 7, 'begins does not count the ways of each place'),
        ('begins', 0, 1, 'begins does not count the ways of each place'),
        ('targets_of', 3, 10**6, 'targets_of holds'),
        ('targets_of', 3, -1, 'targets_of holds -1'),
        ('steps_of', 3, 10**6, 'steps_of holds'),
        ('steps_of', 3, -(2**63), 'steps_of holds'),
        ('steps_of', slice(4), 0, 'shares_of lead more than everything on'),
        ('shares_of', 3, -0.1, 'shares_of holds -0.1'),
        ('shares_of', 3, 1.1, 'shares_of holds 1.1'),
        ('rates', 0, 0.0, 'rates holds 0'),
        ('tick_lengths', 0, 1e4, 'tick_lengths holds 10000'),
        ('fastest', 0, 0.5, 'fastest holds 0.5'),
        ('forward', 0, -1e4, 'forward holds -10000'),
        ('shifts', 1, -0.1, 'shifts holds -0.1'),
        ('moves', (0, 0), 0.9, 'moves are no chances that sum to one'),
        ('beginnings', (0, 0), 0.9, 'beginnings are no chances that sum to one'),
        ('stops', (0, 3), -0.1, 'stops holds -0.1'),
        ('stops', (1, 3), 0.8, 'stops holds 0.8'),
        ('exchanges', (0, 1), -0.1, 'exchanges and route.jumps are no chances'),
        ('exchanges', (6, 1), 0.1, 'lead from elsewhere to the same place'),
        ('channels', ..., 5, 'channels is 5, where'),
        ('sharpness', ..., 1e-300, 'sharpness holds 1e-300'),
        ('persistence', ..., -1.0, 'persistence holds -1'),
        ('pace_spread', ..., 0.0, 'pace_spread holds 0'),
        ('new_level', ..., 1e9, 'new_level holds 1e+09'),
        ('rest.level', ..., -1e9, 'rest.level holds -1e+09'),
        ('slow.tail', ..., 0.0, 'slow.tail holds 0'),
        ('trust', ..., 1.5, 'trust holds 1.5'),
        ('usual_change', ..., -1.0, 'usual_change holds -1'),
        ('mistakable', ..., -1.0, 'mistakable holds -1'),
    ],
)
def test_a_map_that_cannot_be_run(
    name: str,
    index: Any,  # noqa: ANN401 - of an array
    value: object,
    words: str,
    refusal: Refusal,
) -> None:
    assert words in refusal('route', f'route.{name}', value, index)


@pytest.mark.parametrize(
    ('name', 'index', 'value', 'words'),
    [
        ('most_still', ..., -1, 'most_still holds -1'),
        ('still', 2, -1, 'still holds -1'),
        ('still', 2, 2**40, 'still holds'),
        ('lowest', 0, 1e6, 'means whose least is above the largest'),
    ],
)
def test_a_range_of_the_input_that_cannot_be(
    name: str,
    index: Any,  # noqa: ANN401 - of an array
    value: object,
    words: str,
    refusal: Refusal,
) -> None:
    assert words in refusal('route', name, value, index)


def test_no_array_of_a_map_may_have_another_shape(
    contents: dict[str, Content], refusal: Refusal
) -> None:
    arrays = contents['route'][1]
    names = [name for name in arrays if name.startswith('route.')]
    assert len(names) > 40
    for name in names:
        assert 'the model is refused' in refusal(
            'route', name, lambda array: np.stack([array] * 2)
        )
        if arrays[name].shape[-1]:
            assert 'the model is refused' in refusal('route', name, lambda array: array[..., :0])
