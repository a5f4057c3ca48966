# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a read-out fits its model, and gives covariances that are some."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.array_checks import are_covariances
from two_manifold_ros.model.refusing import refuse
from two_manifold_ros.readout.ridge import RidgeReadout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.readout.reading import Readout


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
