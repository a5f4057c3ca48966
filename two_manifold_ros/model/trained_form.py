# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The form of a spectral `Model` in the model file, without its head."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TYPE_CHECKING

from two_manifold_ros.hse_hmm.observation import RawKernel, RidgeKernel
from two_manifold_ros.hse_hmm.tables import Tables
from two_manifold_ros.kernels.extension_form import extension_from, extension_to
from two_manifold_ros.model.bounds import MOST_HORIZONS
from two_manifold_ros.model.head_form import group, head_from
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.refusing import refuse
from two_manifold_ros.readout.ridge import RidgeReadout
from two_manifold_ros.readout.sharpened import SharpenedReadout
from two_manifold_ros.ticks.rest import RestRule
from two_manifold_ros.windows.familiarity import FamiliarAnchors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.readout.reading import Readout

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
