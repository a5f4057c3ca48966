# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the parts of a frozen TPSR fit together, checked before the filter runs on it."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.array_checks import (
    are_covariances,
    check_finite,
    check_positive,
    check_shapes,
)
from two_manifold_ros.model.bounds import (
    check_count,
    check_size,
    check_widths,
    LARGEST_WORK,
    MOST_FEATURES,
    MOST_STATES,
)
from two_manifold_ros.model.checks import LARGEST_RADIUS
from two_manifold_ros.model.head_checks import check_head
from two_manifold_ros.model.refusing import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.model.tpsr_model import TpsrModel
    from two_manifold_ros.tpsr.parameters import Tpsr

ROUNDING = 1e-6
"""By which directions may fail to be orthonormal, and the start to be normal."""


def check_tpsr_model(model: TpsrModel) -> None:
    """
    Check shapes, finiteness, positivity and the stability of the transition.

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    check_head(model)
    _check_features(model)
    check_shapes(_shapes(model))
    check_finite([model, model.tpsr])
    _check_tpsr(model.tpsr)
    _check_familiarity(model)
    if not np.isfinite(model.track).all(axis=1).any():
        refuse('its track is nowhere known')
    smallest = np.linalg.eigvalsh(model.covariances).min()
    if not (are_covariances(model.covariances) and smallest > 0.0):
        refuse('covariances are not positive definite')


def _check_features(model: TpsrModel) -> None:
    live = int(np.count_nonzero(model.channels.live))
    for name, inputs in (('observation', live), ('window', live * model.window)):
        features = getattr(model, f'{name}_features')
        if features.inputs != inputs:
            refuse(f'its {name} features are of {features.inputs} numbers instead of {inputs}')
    check_size('observation features', model.observation_features.size, most=MOST_FEATURES)
    check_size('states', len(model.tpsr.start), most=MOST_STATES)
    spanned = len(model.directions)
    if spanned > model.window_features.size:
        refuse('directions are more than the window features')
    check_size('directions', spanned, spanned, model.window_features.size, most=LARGEST_WORK)


def _shapes(model: TpsrModel) -> dict[str, tuple[NDArray[Any], tuple[int, ...]]]:
    columns, states = len(model.horizons) + 1, len(model.tpsr.start)
    size = model.observation_features.size
    return {
        'tpsr.start': (model.tpsr.start, (states,)),
        'tpsr.normaliser': (model.tpsr.normaliser, (states,)),
        'tpsr.operators': (model.tpsr.operators, (size, states, states)),
        'tpsr.inverse': (model.tpsr.inverse, (size, size)),
        'tpsr.transition': (model.tpsr.transition, (states, states)),
        'directions': (model.directions, (len(model.directions), model.window_features.size)),
        'coefficients': (model.coefficients, (columns, 2, states + 1)),
        'covariances': (model.covariances, (columns, 2, 2)),
    }


def _check_tpsr(tpsr: Tpsr) -> None:
    check_positive({'tpsr.bound': tpsr.bound})
    check_widths({'tpsr.bound': tpsr.bound})
    if not np.abs(np.linalg.eigvals(tpsr.transition)).max() <= LARGEST_RADIUS:
        refuse('its transition grows without bound')
    if not abs(float(tpsr.normaliser @ tpsr.start) - 1.0) <= ROUNDING:
        refuse('its start is not normal')
    if not float(np.linalg.norm(tpsr.start)) <= tpsr.bound:
        refuse('its start is beyond its bound')
    inverse = tpsr.inverse
    symmetric = np.allclose(inverse, inverse.T, rtol=0.0, atol=ROUNDING * np.abs(inverse).max())
    if not (symmetric and np.linalg.eigvalsh(inverse).min() > 0.0):
        refuse('tpsr.inverse is not the inverse of a covariance')


def _check_familiarity(model: TpsrModel) -> None:
    products = model.directions @ model.directions.T
    if not np.allclose(products, np.eye(len(products)), rtol=0.0, atol=ROUNDING):
        refuse('directions are not orthonormal')
    if not 0.0 < model.usual_share <= 1.0:
        refuse(f'usual_share is {model.usual_share}, not a share')
    check_count('most_still', model.most_still)
