# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The form of a `TpsrModel` in the model file, without its head."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from two_manifold_ros.features.saving import features_from, features_to
from two_manifold_ros.model.head_form import group, head_from
from two_manifold_ros.model.tpsr_model import TpsrModel
from two_manifold_ros.tpsr.parameters import Tpsr

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLAIN = ('usual_share', 'most_still')
_ARRAYS = ('directions', 'coefficients', 'covariances')
_FEATURES = ('observation_features', 'window_features')


def tpsr_numbers(model: TpsrModel) -> dict[str, Any]:
    """Return what belongs into the header."""
    numbers: dict[str, Any] = {name: getattr(model, name) for name in _PLAIN}
    numbers['bound'] = model.tpsr.bound
    return numbers | {name: features_to(getattr(model, name))[0] for name in _FEATURES}


def tpsr_arrays(model: TpsrModel) -> dict[str, NDArray[Any]]:
    """Return the arrays by name."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(model, name) for name in _ARRAYS}
    arrays |= {
        f'tpsr.{name}': value for name, value in vars(model.tpsr).items() if name != 'bound'
    }
    for name in _FEATURES:
        own = features_to(getattr(model, name))[1]
        arrays |= {f'{name}.{inner}': array for inner, array in own.items()}
    return arrays


def tpsr_from(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TpsrModel:
    """
    Return the model of a whole header and of all arrays.

    Raises
    ------
    InputError, KeyError, TypeError, ValueError
        If anything is missing or too much.

    """
    fields = head_from(header, arrays)
    fields |= {name: header[name] for name in _PLAIN}
    fields |= {name: arrays[name] for name in _ARRAYS}
    fields |= {name: features_from(header[name], group(arrays, name)) for name in _FEATURES}
    return TpsrModel(**fields, tpsr=Tpsr(**group(arrays, 'tpsr'), bound=header['bound']))
