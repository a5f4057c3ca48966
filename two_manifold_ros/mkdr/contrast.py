# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What manifold kernel dimension reduction makes small, with its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

ROUNDING = 1e-12
"""What varies by less than this, relative to its size, does not vary."""


class Contrast:
    r"""
    Eq. (11.2) of the note, eq. (9) of Nilsson, Sha & Jordan 2007, times :math:`\epsilon`.

    .. math:: V(\Theta) = \epsilon \operatorname{tr}[Y Y^\top (M \Theta M^\top + \epsilon I)^{-1}]

    for centred eigenvectors whose columns have unit norm on average and centred responses with
    :math:`\operatorname{tr} Y Y^\top = 1`, so that the units of neither matter. It is the share
    of the responses that is left unexplained, penalty included: between 0 and 1. The columns of M
    span all that the matrix in brackets does not just scale, so that it is inverted in an
    orthonormal basis of them, which is the Woodbury identity: no system is larger than m x m.
    V is convex, other than the paper says: the trace of an inverse is, and what is inverted is
    linear in Theta.

    Parameters
    ----------
    eigenvectors : (n, m)
        M; need be neither centred nor orthogonal.
    responses : (n, q)
        Y; need not be centred.
    penalty
        :math:`\epsilon`, positive, which is :math:`n \epsilon` in both; beside the eigenvalues of
        Theta, which sum to one.

    Raises
    ------
    InputError
        If these do not fit together, are not finite or do not vary.

    """

    def __init__(self, eigenvectors: Floats, responses: Floats, penalty: float) -> None:
        if not penalty > 0.0:
            msg = f'the penalty is {penalty} but has to be positive, for example 0.001'
            raise InputError(msg)
        _check(eigenvectors, responses)
        vectors = _centred(eigenvectors, 'eigenvectors')
        centred = _centred(responses, 'responses')
        basis, spread = np.linalg.qr(vectors * np.sqrt(vectors.shape[1]))
        self._eigenvectors = spread
        self._responses = basis.T @ centred
        self._unseen = max(0.0, 1.0 - float(np.sum(self._responses**2)))
        self._penalty = penalty

    def look(self, theta: Floats) -> tuple[float, Floats]:
        """Return the value at an (m, m) Theta and the gradient, shape (m, m)."""
        vectors = self._eigenvectors
        inner = vectors @ theta @ vectors.T + self._penalty * np.eye(len(vectors))
        weights = np.linalg.solve(inner, self._responses)
        value = self._penalty * float(np.sum(self._responses * weights)) + self._unseen
        pull = vectors.T @ weights
        return value, -self._penalty * (pull @ pull.T)


def _centred(columns: Floats, which: str) -> Floats:
    """Return them with mean zero and Frobenius norm one."""
    centred = columns - columns.mean(axis=0)
    size = np.linalg.norm(centred)
    if not size > ROUNDING * np.linalg.norm(columns):
        msg = f'the {which} are the same at all {len(columns)} points; give ones that vary'
        raise InputError(msg)
    scaled: Floats = centred / size
    return scaled


def _check(eigenvectors: Floats, responses: Floats) -> None:
    if eigenvectors.ndim != 2 or responses.ndim != 2 or len(eigenvectors) != len(responses):
        msg = (
            f'eigenvectors {eigenvectors.shape} and responses {responses.shape} do not belong '
            'together; give matrices with a row for every point'
        )
        raise InputError(msg)
    if not (np.isfinite(eigenvectors).all() and np.isfinite(responses).all()):
        msg = 'eigenvectors or responses are not finite; leave out the points without a response'
        raise InputError(msg)
