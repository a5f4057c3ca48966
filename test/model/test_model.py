# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Spectral models that would lead a filter astray are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.readout import RidgeReadout
from two_manifold_ros.hse_hmm.tables import make_ridge_kernel
from two_manifold_ros.model.container import UnfitError

if TYPE_CHECKING:
    from conftest import Refusal

    from two_manifold_ros.model.model import Model

NAN = float('nan')


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('familiarity.squared', 0.0, 'familiarity.squared holds 0'),
        ('familiarity.squared', 1e-200, 'familiarity.squared holds 1e-200'),
        ('familiarity.own', 1.0, 'familiarity.own holds 1'),
        ('familiarity.own', -1e9, 'familiarity.own holds -1e+09'),
        ('familiarity.other', 0.1, 'familiarity.other holds 0.1'),
        ('familiarity.still', -1, 'familiarity.still holds -1'),
        ('familiarity.still', 2**31, 'familiarity.still holds'),
        ('state_bound', -2.0, 'state_bound holds -2'),
        ('state_bound', 1e150, 'state_bound holds 1e+150'),
        ('operator.bandwidth', 0.0, 'operator.bandwidth holds 0'),
        ('rest', {'ticks': 1, 'limit': 0.1}, 'rest.ticks holds 1'),
        ('rest', {'ticks': 10**8, 'limit': 0.1}, 'rest.ticks would take'),
        ('rest', {'ticks': 3, 'limit': 0.0}, 'rest.limit holds 0'),
        ('rest', {'ticks': 3, 'limit': 1e4}, 'rest.limit holds 10000'),
        ('warm_start.response.neighbours', 0, 'its warm start does not fit: neighbours is 0'),
        ('warm_start.response.bandwidth', -1.0, 'its warm start does not fit: bandwidth is -1'),
        ('warm_start.offset', lambda array: array[1:], 'warm_start.offset has the shape'),
        ('tables.weights', lambda array: array[:3], 'states of 3 windows: more than those'),
        ('tables.states', lambda array: array[1:], 'tables.states has the shape'),
        ('tables.states', lambda array: array + 1.0, 'do not keep the sum of the weights'),
        ('tables.states', lambda array: array * [1.0, *[3.0] * 39], 'grows without bound'),
        ('tables.weights', lambda array: array * [0.9, *[1.0] * 39], 'do not keep the sum'),
        ('operator.observations', lambda array: array[1:], 'operator.observations has the shape'),
        ('readout.targets', lambda array: array[:, 1:], 'readout.targets has the shape'),
        ('readout.targets', lambda array: array * [[[1.0]], [[NAN]]][1], 'are nowhere known'),
        ('readout.factors', lambda array: 0.0 * array, 'readout.factors holds 0'),
    ],
)
def test_what_would_lead_a_filter_astray(
    name: str,
    value: Any,  # noqa: ANN401 - of any kind
    words: str,
    refusal: Refusal,
) -> None:
    assert words in refusal('spectral', name, value)


@pytest.mark.parametrize('column', [0, 2])
def test_targets_that_are_unknown_at_one_horizon(column: int, refusal: Refusal) -> None:
    assert 'are nowhere known' in refusal(
        'spectral', 'readout.targets', NAN, (slice(None), column)
    )


@pytest.mark.parametrize('wrong', [[[0.1, 0.2], [0.0, 0.1]], [[0.1, 0.2], [0.2, 0.1]]])
def test_a_linear_readout_with_covariances_that_are_none(
    wrong: list[list[float]], spectral_model: Model
) -> None:
    covariances = np.tile(np.eye(2), (4, 1, 1))
    readout = RidgeReadout(np.ones((4, 2, spectral_model.states)), covariances)
    model = replace(spectral_model, readout=readout)
    model.validate()
    covariances[2] = wrong
    with pytest.raises(UnfitError, match='covariances are no covariances'):
        model.validate()


def test_a_ridge_kernel_of_other_windows(spectral_model: Model) -> None:
    observations = spectral_model.series.T[: len(spectral_model.starts)]
    operator = make_ridge_kernel(observations, 1.0, 1e-3)
    replace(spectral_model, operator=operator).validate()
    shorter = replace(operator, features=operator.features[1:])
    with pytest.raises(UnfitError, match='features has the shape'):
        replace(spectral_model, operator=shorter).validate()
