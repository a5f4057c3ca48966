# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the parts of a model fit together, checked before the filter ever runs on it."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.observation import RawKernel
from two_manifold_ros.hse_hmm.transition import spectral_radius, transition
from two_manifold_ros.kernels.extension_form import check_extension
from two_manifold_ros.model.array_checks import check_finite, check_positive, check_shapes
from two_manifold_ros.model.bounds import (
    check_count,
    check_size,
    check_widths,
    MOST_STATES,
)
from two_manifold_ros.model.head_checks import check_head, check_windows
from two_manifold_ros.model.readout_checks import check_readout, readout_shapes
from two_manifold_ros.model.refusing import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.model.model import Model

LARGEST_RADIUS = 1.0 + 1e-6

MOST_SPREAD = 1e3
"""Of observations at rest, in standard deviations of the training."""

LEAST_CONTRAST = -100.0
"""Of a window; the formula itself gives none below -10."""


def check_model(model: Model) -> None:
    """
    Check shapes, finiteness, positivity and the stability of the transition (section 12.7).

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    check_head(model)
    _check_numbers(model)
    _check_familiarity(model)
    check_shapes(_shapes(model))
    check_windows(model)
    _check_warm_start(model)
    _check_rest(model)
    check_finite([model, model.tables, model.operator, model.readout])
    matrix = transition(model.tables.weights, model.tables.states)
    first = np.eye(len(matrix))[0]
    constant = np.allclose(model.tables.states[:, 0], 1.0, rtol=0.0, atol=1e-9)
    if not (constant and np.allclose(matrix[0], first, atol=1e-9)):
        refuse('its tables do not keep the sum of the weights')
    if not spectral_radius(matrix) <= LARGEST_RADIUS:
        refuse('its transition grows without bound')
    check_readout(model.readout)


def _check_numbers(model: Model) -> None:
    numbers = {
        'familiarity.squared': model.familiarity.squared,
        'state_bound': model.state_bound,
        'observation bandwidth': model.operator.bandwidth,
    }
    check_positive(numbers)
    check_widths(numbers)


def _check_rest(model: Model) -> None:
    rest = model.rest
    if rest is None:
        return
    check_count('rest.ticks', rest.ticks)
    if rest.ticks < 2:
        refuse(f'rest.ticks is {rest.ticks}, too few to be compared')
    check_size('rest.ticks', rest.ticks, int(np.count_nonzero(model.channels.live)))
    check_positive({'rest.limit': rest.limit})
    if rest.limit > MOST_SPREAD:
        refuse(f'rest.limit is {rest.limit}, within which anything is rest')


def _check_familiarity(model: Model) -> None:
    check_count('familiarity.still', model.familiarity.still)
    for name in ('own', 'other'):
        value = getattr(model.familiarity, name)
        if not LEAST_CONTRAST <= value <= 0.0:
            refuse(f'familiarity.{name} is {value}, not the contrast of a window')


def _shapes(model: Model) -> dict[str, tuple[NDArray[Any], tuple[int, ...]]]:
    count, states = model.tables.weights.shape
    if not states <= min(count, MOST_STATES):
        refuse(f'it has {states} states of {count} windows, more than {MOST_STATES} or than those')
    live = int(np.count_nonzero(model.channels.live))
    wanted: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
        'tables.states': (model.tables.states, (count, states)),
        'starts': (model.starts, (count,)),
        'warm_start.offset': (model.warm_start.offset, (states - 1,)),
        'kernel points': (
            model.operator.kernel_points,
            (len(model.operator.kernel_points), live),
        ),
    }
    wanted |= readout_shapes(model)
    if isinstance(model.operator, RawKernel):
        wanted['observations'] = (model.operator.observations, (count, live))
    else:
        features = model.operator.features.shape[1]
        wanted['features'] = (model.operator.features, (count, features))
        landmarks = len(model.operator.landmarks)
        wanted['responses'] = (model.operator.responses, (landmarks, features))
    return wanted


def _check_warm_start(model: Model) -> None:
    try:
        check_extension(model.warm_start, len(model.starts))
    except ValueError as error:
        refuse(f'its warm start does not fit: {error}')
