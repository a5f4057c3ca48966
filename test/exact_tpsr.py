# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR from all third moments of few features: what ours must equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.parameters import make_parameters, Tpsr

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.learner import Triples
    from two_manifold_ros.typing import Floats


def learn_by_tensor(triples: Triples, constant: Floats, states: int, ridge: float) -> Tpsr:
    """
    Learn with the third moments of all features, Boots & Gordon 2011, eq. 5: for few features.

    Parameters and result are those of `learn`, and so are the numbers, to rounding.
    """
    weighted = triples.tests * triples.importance[:, None]
    covariance = weighted.T @ triples.histories
    left = np.linalg.svd(covariance)[0][:, :states].T
    slices = np.hstack([triples.observations, np.ones((len(triples), 1))])
    moments = np.einsum(
        'n,nt,no,nh->oth',
        triples.importance,
        triples.next_tests,
        slices,
        triples.histories,
        optimize=True,
    )
    pseudo_inverse = np.linalg.pinv(left @ covariance)
    operators = left @ moments @ pseudo_inverse
    start = left @ covariance @ constant
    normaliser = triples.importance @ triples.histories @ pseudo_inverse
    weight = triples.importance.sum()
    present = triples.observations.T @ np.diag(triples.importance) @ triples.observations
    inverse = np.linalg.inv(present + ridge * weight * np.eye(len(present)))
    squares = triples.importance @ np.square(triples.tests).sum(axis=1)
    return make_parameters(start, normaliser, operators, inverse, weight, squares)
