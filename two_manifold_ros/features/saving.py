# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The form of feature maps in files: numbers for a JSON header, and arrays by name."""

from __future__ import annotations

from typing import Any, cast, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.features.action_observation import ActionObservationFeatures
from two_manifold_ros.features.checking import check_count
from two_manifold_ros.features.eigenmap_features import EigenmapFeatures
from two_manifold_ros.features.fourier import FourierFeatures
from two_manifold_ros.features.indicator import IndicatorFeatures
from two_manifold_ros.features.structured_fourier import StructuredFourierFeatures
from two_manifold_ros.features.with_constant import WithConstant
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.extension_form import extension_from, extension_to
from two_manifold_ros.windows.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.features.feature_map import FeatureMap

_MAPS: dict[str, type[Any]] = {
    'action-observation': ActionObservationFeatures,
    'eigenmap': EigenmapFeatures,
    'fourier': FourierFeatures,
    'indicator': IndicatorFeatures,
    'structured-fourier': StructuredFourierFeatures,
    'with-constant': WithConstant,
}
_OTHERS: dict[str, type[Any]] = {'windows': WindowSet}
"""Parts of maps that are no maps themselves, by the field's name; extensions are made apart."""


def features_to(features: FeatureMap) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """
    Return a feature map as JSON values and arrays, from which ``features_from`` makes it again.

    The arrays of a map inside the map have its field's name and a dot before their own.

    Raises
    ------
    TypeError
        If a map is of a kind that has no form.

    """
    return _taken_apart('', features)


def features_from(numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FeatureMap:
    """
    Return the feature map of what ``features_to`` gave; its features are the same to the bit.

    Raises
    ------
    InputError
        If anything is missing, too much, or does not fit.

    """
    try:
        features = cast('FeatureMap', _put_together('', numbers, arrays))
        # What stands for a map inside another may be anything up to here.
        check_count('inputs', features.inputs)
        check_count('size', features.size)
    except InputError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        msg = (
            f'the feature map is refused: its numbers and arrays do not fit together ({error}); '
            'make it anew'
        )
        raise InputError(msg) from error
    return features


def _taken_apart(field: str, part: object) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if isinstance(part, Extension):
        return extension_to(part)
    numbers: dict[str, Any] = {}
    if field not in _OTHERS:
        kinds = [kind for kind, made in _MAPS.items() if made is type(part)]
        if not kinds:
            msg = f'{type(part).__name__} has no form in files'
            raise TypeError(msg)
        numbers['kind'] = kinds[0]
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in vars(part).items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif isinstance(value, (int, float)):
            numbers[name] = value
        else:
            numbers[name], own = _taken_apart(name, value)
            arrays |= {f'{name}.{inner}': array for inner, array in own.items()}
    return numbers, arrays


def _put_together(
    field: str, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> object:
    if field == 'extension':
        return extension_from(numbers, arrays)
    plain = dict(numbers)
    made = _OTHERS[field] if field in _OTHERS else _MAPS[plain.pop('kind')]
    own: dict[str, Any] = {}
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        group, dot, inner = name.partition('.')
        if dot:
            groups.setdefault(group, {})[inner] = array
        else:
            own[name] = array
    for name, value in plain.items():
        if isinstance(value, dict):
            plain[name] = _put_together(name, value, groups.pop(name, {}))
    # Whatever is left over or there twice is an argument that the class does not take.
    return made(**plain, **own, **groups)
