# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A spectral model: everything its filter needs, and nothing of the bags it came from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import RidgeReadout
from two_manifold_ros.hse_hmm.sharpened import SharpenedReadout
from two_manifold_ros.hse_hmm.tables import (
    RawKernel,
    RidgeKernel,
    spectral_radius,
    Tables,
    transition,
)
from two_manifold_ros.manifold.selection import check_extension, extension_from, extension_to
from two_manifold_ros.model.head import (
    are_covariances,
    check_count,
    check_finite,
    check_head,
    check_positive,
    check_shapes,
    check_size,
    check_widths,
    check_windows,
    group,
    head_from,
    MOST_HORIZONS,
    MOST_STATES,
    refuse,
    TrainedModel,
)
from two_manifold_ros.ticks.novelty import FamiliarAnchors
from two_manifold_ros.ticks.rest import RestRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.hse_hmm.readout import Readout
    from two_manifold_ros.hse_hmm.tables import ObservationOperator
    from two_manifold_ros.manifold.learner import Extension


@dataclass(frozen=True, kw_only=True)
class Model(TrainedModel):
    """
    A model of the spectral filter.

    Parameters
    ----------
    tables, operator, readout
        The HMM, see ``hse_hmm`` and ``readout``.
    familiarity
        What is typical for unseen windows of the route.
    warm_start
        From a past window to the state without its constant.
    state_bound
        Largest believable norm of the state without its constant.
    rest
        When the clock of the filter stands, because the vehicle does; ``None`` for never.

    """

    tables: Tables
    operator: ObservationOperator
    readout: Readout
    familiarity: FamiliarAnchors
    warm_start: Extension
    state_bound: float
    rest: RestRule | None = None

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return int(self.tables.weights.shape[1])


def readout_shapes(model: Model) -> dict[str, tuple[NDArray[Any], tuple[int, ...]]]:
    """Return each array of the read-out by name with the shape it has to have."""
    columns = len(model.horizons) + 1
    count, states = model.tables.weights.shape
    readout: Any = model.readout
    if isinstance(readout, RidgeReadout):
        return {
            'readout.coefficients': (readout.coefficients, (columns, 2, states)),
            'readout.covariances': (readout.covariances, (columns, 2, 2)),
        }
    return {
        'readout.targets': (readout.targets, (count, columns, 2)),
        'readout.factors': (readout.factors, (columns,)),
    }


def check_readout(readout: Readout) -> None:
    """
    Check that there is something to read, and what the covariances are made of.

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    parts = vars(readout)
    positions = parts['targets'][:, :-1] if 'targets' in parts else np.zeros((1, 1, 2))
    if not np.isfinite(positions).all(axis=2).any(axis=0).all():
        refuse('readout.targets are nowhere known at one of its horizons')
    if not (parts.get('factors', np.ones(1)) > 0.0).all():
        refuse('readout.factors are not positive')
    if 'covariances' in parts and not are_covariances(parts['covariances']):
        refuse('readout.covariances are no covariances')


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


RESTS_SINCE = 8
"""Version of the form that says what rest looks like."""


def trained_numbers(model: Model) -> dict[str, Any]:
    """Return what belongs into the header."""
    return {
        'kernel': model.kernel,
        'state_bound': model.state_bound,
        'observation_bandwidth': model.operator.bandwidth,
        'familiarity': asdict(model.familiarity),
        'warm_start': extension_to(model.warm_start)[0],
        'rest': None if model.rest is None else asdict(model.rest),
    }


def trained_arrays(model: Model) -> dict[str, NDArray[Any]]:
    """Return the arrays by name."""
    arrays: dict[str, NDArray[Any]] = {'series': model.series, 'starts': model.starts}
    arrays |= {f'tables.{name}': value for name, value in vars(model.tables).items()}
    warm_start = extension_to(model.warm_start)[1]
    arrays |= {f'warm_start.{name}': value for name, value in warm_start.items()}
    arrays |= {
        f'operator.{name}': value
        for name, value in vars(model.operator).items()
        if name != 'bandwidth'
    }
    return arrays | _readout_arrays(model.readout)


def trained_from(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    """
    Return the model of a whole header and of all arrays.

    Raises
    ------
    InputError, KeyError, TypeError, ValueError
        If anything is missing or too much.

    """
    if header.get('route') is not None:
        refuse('it is of version 6 with a map of single ticks, which no filter runs any more')
    # Before version 8 the clock never stood.
    rest = header['rest'] if header['version'] >= RESTS_SINCE else None
    return Model(
        **head_from(header, arrays),
        kernel=header['kernel'],
        state_bound=float(header['state_bound']),
        series=arrays['series'],
        starts=arrays['starts'],
        familiarity=FamiliarAnchors(**header['familiarity']),
        tables=Tables(**group(arrays, 'tables')),
        operator=_operator(group(arrays, 'operator'), float(header['observation_bandwidth'])),
        readout=_readout(arrays),
        warm_start=extension_from(header['warm_start'], group(arrays, 'warm_start')),
        rest=None if rest is None else RestRule(**rest),
    )


def _operator(arrays: dict[str, NDArray[Any]], bandwidth: float) -> ObservationOperator:
    if 'observations' in arrays:
        return RawKernel(bandwidth=bandwidth, **arrays)
    return RidgeKernel(bandwidth=bandwidth, **arrays)


def _readout_arrays(readout: Readout) -> dict[str, NDArray[Any]]:
    if isinstance(readout, SharpenedReadout):
        return {'readout.targets': readout.targets, 'readout.factors': readout.factors}
    if isinstance(readout, RidgeReadout):
        return {
            'readout.coefficients': readout.coefficients,
            'readout.covariances': readout.covariances,
        }
    msg = f'{type(readout).__name__} has no form in the model file'
    raise TypeError(msg)


def _readout(arrays: dict[str, NDArray[Any]]) -> Readout:
    if 'readout.targets' in arrays:
        # Before moments are taken of each column; `check_model` says how many there have to be.
        shape = arrays['readout.targets'].shape
        if not shape[1] <= MOST_HORIZONS + 1:
            refuse(f'readout.targets has the shape {shape}')
        return SharpenedReadout(**group(arrays, 'readout'))
    return RidgeReadout(**group(arrays, 'readout'))
