# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A spectral model: everything its filter needs, and nothing of the bags it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import SharpenedReadout
from two_manifold_ros.hse_hmm.tables import RawKernel, spectral_radius, transition
from two_manifold_ros.manifold.selection import check_extension
from two_manifold_ros.model.container import refuse
from two_manifold_ros.model.head import (
    BOUNDS,
    check_covariances,
    check_range,
    check_shapes,
    check_size,
    TrainedModel,
)

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.readout import Readout
    from two_manifold_ros.hse_hmm.tables import ObservationOperator, Tables
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.ticks.novelty import FamiliarAnchors
    from two_manifold_ros.ticks.rest import RestRule


@dataclass(frozen=True, kw_only=True)
class Model(TrainedModel):
    """
    A model of the spectral filter.

    Parameters
    ----------
    tables, operator, readout
        The HMM, see ``hse_hmm``.
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

    def validate(self) -> None:
        """Check numbers, shapes and the transition's stability too (mathematics, section 12)."""
        super().validate()
        familiarity = self.familiarity
        check_range('familiarity.squared', familiarity.squared, BOUNDS.least)
        check_range('familiarity.still', familiarity.still, 0, BOUNDS.count)
        # The formula of a contrast gives none below -10.
        check_range('familiarity.own', familiarity.own, -100.0, 0.0)
        check_range('familiarity.other', familiarity.other, -100.0, 0.0)
        check_range('state_bound', self.state_bound, BOUNDS.least)
        self._validate_rest()
        self._validate_operator()
        self._validate_readout()
        check_shapes(self.warm_start, {'offset': (self.states - 1,)}, 'warm_start.')
        try:
            check_extension(self.warm_start, len(self.starts))
        except ValueError as error:
            refuse(f'its warm start does not fit: {error}')
        matrix = transition(self.tables.weights, self.tables.states)
        constant = np.allclose(self.tables.states[:, 0], 1.0, rtol=0.0, atol=1e-9)
        if not (constant and np.allclose(matrix[0], np.eye(len(matrix))[0], atol=1e-9)):
            refuse('its tables do not keep the sum of the weights')
        if not spectral_radius(matrix) <= 1.0 + 1e-6:
            refuse('its transition grows without bound')

    def _validate_rest(self) -> None:
        if self.rest is None:
            return
        check_range('rest.ticks', self.rest.ticks, 2, BOUNDS.count)
        check_size('rest.ticks', self.rest.ticks, self.live)
        # In standard deviations of the training: within more, anything is rest.
        check_range('rest.limit', self.rest.limit, BOUNDS.least, 1e3)

    def _validate_operator(self) -> None:
        operator, (count, states) = self.operator, self.tables.weights.shape
        if not states <= min(count, BOUNDS.states):
            refuse(f'it has {states} states of {count} windows: more than those, or too many')
        check_shapes(self.tables, {'states': (count, states)}, 'tables.')
        check_shapes(self, {'starts': (count,)})
        check_range('operator.bandwidth', operator.bandwidth, BOUNDS.least)
        if isinstance(operator, RawKernel):
            shapes: dict[str, tuple[int, ...]] = {'observations': (count, self.live)}
        else:
            landmarks, features = len(operator.landmarks), operator.features.shape[-1]
            shapes = {
                'landmarks': (landmarks, self.live),
                'features': (count, features),
                'responses': (landmarks, features),
            }
        check_shapes(operator, shapes, 'operator.')

    def _validate_readout(self) -> None:
        readout, columns = self.readout, len(self.horizons) + 1
        shapes: dict[str, tuple[int, ...]]
        if isinstance(readout, SharpenedReadout):
            shapes = {'targets': (len(self.starts), columns, 2), 'factors': (columns,)}
            check_shapes(readout, shapes, 'readout.')
            check_range('readout.factors', readout.factors, BOUNDS.least)
            if np.isnan(readout.targets[:, :-1]).any(axis=2).all(axis=0).any():
                refuse('readout.targets are nowhere known at one of its horizons')
        else:
            shapes = {'coefficients': (columns, 2, self.states), 'covariances': (columns, 2, 2)}
            check_shapes(readout, shapes, 'readout.')
            check_covariances('readout.covariances', vars(readout)['covariances'])
