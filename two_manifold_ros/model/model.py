# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A spectral model: everything its filter needs, and nothing of the bags it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.model.head import TrainedModel

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.kernels.extension import Extension
    from two_manifold_ros.readout.reading import Readout
    from two_manifold_ros.ticks.rest import RestRule
    from two_manifold_ros.windows.familiarity import FamiliarAnchors


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
