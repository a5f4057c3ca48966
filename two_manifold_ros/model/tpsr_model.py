# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR that has stopped learning: what an adapting filter hands over to be run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.model.head import ModelHead

if TYPE_CHECKING:
    from two_manifold_ros.features.feature_map import FeatureMap
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True, kw_only=True)
class TpsrModel(ModelHead):
    """
    A frozen TPSR with its read-out.

    Parameters
    ----------
    tpsr
        What is filtered with.
    observation_features
        Of one standardised observation (d,).
    window_features
        Of a window (w d,): the oldest observation first, its channels together.
    directions : (r, D)
        Orthonormal span of the window features that were learned from, see ``span_familiarity``.
    usual_share
        Share of the window features that usually lies in that span.
    most_still
        Most ticks in a row in which no channel changed while learning.
    coefficients : (H + 1, 2, k + 1)
        Of position at each horizon (metres), and of velocity (m/s) as the last one: their product
        with the state and a constant 1.
    covariances : (H + 1, 2, 2)
        Of the errors of these.

    """

    tpsr: Tpsr
    observation_features: FeatureMap
    window_features: FeatureMap
    directions: Floats
    usual_share: float
    most_still: int
    coefficients: Floats
    covariances: Floats

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return self.tpsr.states
