# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the parts of a model fit together, checked before the filter ever runs on it."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.observation import RawKernel
from two_manifold_ros.hse_hmm.transition import spectral_radius, transition
from two_manifold_ros.model.readout_checks import check_readout, readout_shapes
from two_manifold_ros.model.refusing import refuse
from two_manifold_ros.model.route_checks import check_route, route_shapes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.model.model import Model

LARGEST_RADIUS = 1.0 + 1e-6

_REALS = np.dtype(np.float64)
_KINDS = {
    'starts': np.dtype(np.int64),
    'members': np.dtype(np.int64),
    'since_begin': np.dtype(np.int64),
    'passes': np.dtype(np.int64),
    'shifts': np.dtype(np.int64),
    'live': np.dtype(np.bool_),
}


def check_model(model: Model) -> None:
    """
    Check shapes, finiteness, positivity and the stability of the transition (section 12.7).

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    _check_words(model)
    _check_numbers(model)
    _check_shapes(model)
    _check_finite(model)
    matrix = transition(model.tables.weights, model.tables.states)
    first = np.eye(len(matrix))[0]
    if not np.allclose(matrix[0], first, atol=1e-9):
        refuse('its tables do not keep the sum of the weights')
    if not spectral_radius(matrix) <= LARGEST_RADIUS:
        refuse('its transition grows without bound')
    check_readout(model.readout)
    if model.route is not None:
        check_route(model.route)


def _check_words(model: Model) -> None:
    for name in ('kernel', 'imu_topic', 'imu_frame_id', 'position_topic', 'frame_id'):
        if not isinstance(getattr(model, name), str):
            refuse(f'{name} is no text')
    if not isinstance(model.summary, dict):
        refuse('its summary is no table')


def _check_numbers(model: Model) -> None:
    positive = {
        'rate_hz': model.rate_hz,
        'period_ns': model.period_ns,
        'max_gap_ns': model.max_gap_ns,
        'window': model.window,
        'familiarity.squared': model.familiarity.squared,
        'state_bound': model.state_bound,
        'observation bandwidth': model.operator.bandwidth,
        'warm start bandwidth': model.warm_start.bandwidth,
    }
    for name, value in positive.items():
        if not (np.isfinite(value) and value > 0):
            refuse(f'{name} is {value}, not a positive number')
    for name in ('period_ns', 'max_gap_ns', 'window'):
        if not isinstance(getattr(model, name), int):
            refuse(f'{name} is no whole number')
    if model.period_ns != round(1e9 / model.rate_hz):
        refuse('its rate and the length of its tick disagree')
    if model.warm_start.neighbours < 0:
        refuse('its warm start has a negative number of neighbours')
    _check_familiarity(model)
    _check_horizons(model.horizons)


def _check_familiarity(model: Model) -> None:
    still = model.familiarity.still
    if not isinstance(still, int) or still < 0:
        refuse(f'familiarity.still is {still}, not a number of ticks')
    for name in ('own', 'other'):
        value = getattr(model.familiarity, name)
        if not (np.isfinite(value) and value <= 0.0):
            refuse(f'familiarity.{name} is {value}, not the contrast of a window')


def _check_horizons(ahead: tuple[int, ...]) -> None:
    if not all(isinstance(horizon, int) for horizon in ahead):
        refuse('its horizons are no whole numbers')
    if not ahead or ahead[0] != 0 or list(ahead) != sorted(set(ahead)):
        refuse('its horizons do not begin with 0 and increase')


def _check_shapes(model: Model) -> None:
    count, states = model.tables.weights.shape
    live = int(np.count_nonzero(model.channels.live))
    wanted: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
        'tables.states': (model.tables.states, (count, states)),
        'starts': (model.starts, (count,)),
        'mean_position': (model.mean_position, (2,)),
        'warm_start.offset': (model.warm_start.offset, (states - 1,)),
        'warm_start.table': (
            model.warm_start.table,
            (len(model.warm_start.members), states - 1),
        ),
        'kernel points': (
            model.operator.kernel_points,
            (len(model.operator.kernel_points), live),
        ),
        'series': (model.series, (live, model.series.shape[1])),
        'track': (model.track, (len(model.track), 2)),
    }
    wanted |= {f'channels.{name}': (value, (6,)) for name, value in vars(model.channels).items()}
    wanted |= readout_shapes(model)
    if isinstance(model.operator, RawKernel):
        wanted['observations'] = (model.operator.observations, (count, live))
    else:
        features = model.operator.features.shape[1]
        wanted['features'] = (model.operator.features, (count, features))
        landmarks = len(model.operator.landmarks)
        wanted['responses'] = (model.operator.responses, (landmarks, features))
    if model.route is not None:
        wanted |= route_shapes(model.route, live, states)
    for name, (array, shape) in wanted.items():
        if array.shape != shape:
            refuse(f'{name} has the shape {array.shape} instead of {shape}')
    last = model.series.shape[1] - model.window
    if model.starts.min() < 0 or model.starts.max() > last:
        refuse('its windows lie outside its series')
    if model.warm_start.members.min() < 0 or model.warm_start.members.max() >= count:
        refuse('its warm start names windows that are not there')


def _check_finite(model: Model) -> None:
    groups: list[object] = [model, model.channels, model.tables, model.operator]
    groups += [model.warm_start, model.readout]
    if model.route is not None:
        groups += [model.route, model.route.paces]
        groups += [model.route.signs] if model.route.signs is not None else []
    for group in groups:
        for name, value in vars(group).items():
            if not isinstance(value, np.ndarray) or name.startswith('_'):
                continue
            kind = _KINDS.get(name, _REALS)
            if value.dtype != kind:
                refuse(f'{name} holds {value.dtype} instead of {kind}')
            # Unknown targets and the seams of the track are NaN by design.
            bad = np.isinf(value) if name in {'targets', 'track'} else ~np.isfinite(value)
            if bad.any():
                refuse(f'{name} holds numbers that are not finite')
    if not (model.channels.scale[model.channels.live] > 0).all():
        refuse('the scale of a live channel is not positive')
