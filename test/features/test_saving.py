# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feature maps taken apart for a file and put together again."""

from __future__ import annotations

import json
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.features.action_observation import ActionObservationFeatures
from two_manifold_ros.features.eigenmap_features import EigenmapFeatures
from two_manifold_ros.features.fourier import fourier_features
from two_manifold_ros.features.indicator import IndicatorFeatures
from two_manifold_ros.features.saving import features_from, features_to
from two_manifold_ros.features.structured_fourier import structured_fourier_features
from two_manifold_ros.features.with_constant import WithConstant
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.windows.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.features.feature_map import FeatureMap

    Change = Callable[[dict[str, Any], dict[str, Any]], object]


def eigenmap() -> EigenmapFeatures:
    windows = WindowSet(np.random.default_rng(0).normal(size=(2, 40)), np.arange(37), 3)
    return EigenmapFeatures(windows, LaplacianEigenmap(3, 6).fit(windows).extension)


MAPS = {
    'double': fourier_features(6, 9, 0.7, seed=0),
    'single': fourier_features(6, 9, 0.7, seed=0, precision='single'),
    'laplacian': fourier_features(6, 9, 0.7, seed=0, kernel='laplacian'),
    'structured': structured_fourier_features(6, 20, 0.1 + 0.2, seed=0),
    'eigenmap': eigenmap(),
    'nested': WithConstant(
        ActionObservationFeatures(
            WithConstant(fourier_features(2, 3, 1.0, seed=1)),
            structured_fourier_features(4, 5, 1.0, seed=2),
        )
    ),
}


def assert_same(features: FeatureMap, again: FeatureMap, points: np.ndarray) -> None:
    assert type(again) is type(features)
    assert (again.inputs, again.size) == (features.inputs, features.size)
    np.testing.assert_array_equal(again.transform(points), features.transform(points))


@pytest.mark.parametrize('name', MAPS)
def test_there_and_back_through_a_file(name: str, tmp_path: Path) -> None:
    numbers, arrays = features_to(MAPS[name])
    write_container(tmp_path / 'features.npz', numbers, arrays)
    again = features_from(*read_container(tmp_path / 'features.npz'))
    assert_same(MAPS[name], again, np.random.default_rng(3).normal(size=(5, 6)))


def test_words_there_and_back() -> None:
    made = ActionObservationFeatures(IndicatorFeatures(2, 1), IndicatorFeatures(3, 2))
    numbers, arrays = features_to(made)
    assert arrays == {}
    again = features_from(json.loads(json.dumps(numbers)), arrays)
    assert_same(made, again, np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0]]))


def test_no_form() -> None:
    class Foreign:
        inputs = size = 1

    for features in (Foreign(), WithConstant(Foreign())):
        with pytest.raises(TypeError, match='Foreign has no form'):
            features_to(features)


def of_inner(key: str, value: object) -> Change:
    return lambda numbers, _: numbers['map']['actions'].update({key: value})


def deepen(numbers: dict[str, Any], _: object) -> None:
    inner = numbers['map']
    for _ in range(2_000):
        inner = {'kind': 'with-constant', 'map': inner}
    numbers['map'] = inner


CHANGES: dict[str, Change] = {
    'no kind': lambda numbers, _: numbers.pop('kind'),
    'unknown kind': lambda numbers, _: numbers.update(kind='eval'),
    'kind of no name': lambda numbers, _: numbers.update(kind=['fourier']),
    'no map but a number': lambda numbers, _: numbers.update(map=5),
    'no map but nothing': lambda numbers, _: numbers.update(map=None),
    'no map inside': lambda numbers, _: numbers['map'].pop('actions'),
    'number inside for a map': lambda numbers, _: numbers['map'].update(actions=1.0),
    'number too much': lambda numbers, _: numbers.update(seed=1),
    'map too much': lambda numbers, _: numbers.update(windows={'width': 3}),
    'number twice': of_inner('map', {'kind': 'fourier', 'phases': 1.0}),
    'maps without end': deepen,
    'array missing': lambda _, arrays: arrays.pop('map.actions.map.phases'),
    'array too much': lambda _, arrays: arrays.update({'map.observations.more': np.ones(3)}),
    'array of no map': lambda _, arrays: arrays.update({'other.phases': np.ones(3)}),
    'array for a map': lambda _, arrays: arrays.update(map=np.ones(3)),
    'array of another shape': lambda _, arrays: arrays.update(
        {'map.observations.phases': np.ones(99)}
    ),
    'array not finite': lambda _, arrays: arrays['map.actions.map.phases'].fill(np.nan),
    'array of objects': lambda _, arrays: arrays.update(
        {'map.actions.map.phases': np.array([None] * 3)}
    ),
    'array of words': lambda _, arrays: arrays.update(
        {'map.actions.map.phases': np.array(['a'] * 3)}
    ),
}


@pytest.mark.parametrize('name', CHANGES)
def test_hostile_content_is_refused(name: str) -> None:
    numbers, arrays = features_to(MAPS['nested'])
    numbers = json.loads(json.dumps(numbers))
    arrays = {key: array.copy() for key, array in arrays.items()}
    features_from(numbers, arrays)
    CHANGES[name](numbers, arrays)
    with pytest.raises(InputError, match='the feature map is refused'):
        features_from(numbers, arrays)


@pytest.mark.parametrize('numbers', [[], None, 'fourier', 3])
def test_numbers_of_another_form(numbers: object) -> None:
    with pytest.raises(InputError, match='the feature map is refused'):
        features_from(numbers, {})


def test_an_array_in_place_of_a_map() -> None:
    with pytest.raises(InputError, match='the feature map is refused'):
        features_from({'kind': 'with-constant'}, {'map': np.ones(3)})
