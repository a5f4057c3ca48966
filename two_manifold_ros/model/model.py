# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trained model: everything the filter needs, and nothing of the bags it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.model.head import ModelHead

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.kernels.extension import Extension
    from two_manifold_ros.localisation.route import Route
    from two_manifold_ros.readout.reading import Readout
    from two_manifold_ros.typing import Floats, Ints
    from two_manifold_ros.windows.familiarity import FamiliarAnchors


@dataclass(frozen=True, kw_only=True)
class Model(ModelHead):
    """
    A trained model.

    Parameters
    ----------
    kernel
        Name of the manifold learner.
    tables, operator, readout
        The HMM, see ``hse_hmm`` and ``readout``.
    series : (d, N), starts : (n,)
        Standardised training series and first tick of each past window, for familiarity.
    familiarity
        What is typical for unseen windows of the route.
    warm_start
        From a past window to the state without its constant.
    state_bound
        Largest believable norm of the state without its constant.
    route
        Map of the route belief; without one the spectral filter runs.

    """

    kernel: str
    tables: Tables
    operator: ObservationOperator
    readout: Readout
    series: Floats
    starts: Ints
    familiarity: FamiliarAnchors
    warm_start: Extension
    state_bound: float
    route: Route | None = None

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return int(self.tables.weights.shape[1])
