# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A codebook by k-means: each observation becomes the symbol of the nearest code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
import warnings

import numpy as np
from scipy.cluster.vq import kmeans2, vq
from scipy.spatial.distance import cdist

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

PASSES = 20
"""Of k-means; later ones were measured to change nothing that matters."""


@dataclass(frozen=True)
class Codebook:
    """
    Codes to which observations are rounded.

    Parameters
    ----------
    codes : (K, d)
        All different, each the nearest of at least one row that it was learned from.

    """

    codes: Floats

    def __len__(self) -> int:
        """Return the number of symbols."""
        return len(self.codes)

    def symbols(self, rows: Floats) -> Ints:
        """Return the index of the code nearest to each of (T, d) rows."""
        return _nearest(rows, self.codes)

    def nearness(self, width: float) -> Floats:
        """
        Return how much of each symbol is to be shared with each other one.

        Parameters
        ----------
        width
            Variance of a Gaussian, in units of the median squared distance from a code to the
            nearest other one; 0 keeps every symbol to itself.

        Returns
        -------
        (K, K)
            Rows sum to one.

        """
        if width == 0.0 or len(self) == 1:
            return np.eye(len(self))
        squared = cdist(self.codes, self.codes, 'sqeuclidean')
        unit = float(np.median(np.partition(squared, 1, axis=1)[:, 1]))
        shared = np.exp(-squared / (2.0 * width * unit))
        rows: Floats = shared / shared.sum(axis=1, keepdims=True)
        return rows


def learn_codebook(rows: Floats, most: int, seed: int) -> Codebook:
    """
    Cluster (T, d) rows by k-means.

    Parameters
    ----------
    rows
        Finite.
    most
        How many codes; fewer where rows repeat or a cluster loses all its rows.
    seed
        Of the rows to begin from.

    Raises
    ------
    InputError
        If there is no row.

    """
    distinct = np.unique(rows, axis=0)
    if not len(distinct):
        msg = 'there is nothing to cluster; give a longer recording'
        raise InputError(msg)
    with warnings.catch_warnings():
        # Of clusters that lost all their rows, which are left out below.
        warnings.simplefilter('ignore', UserWarning)
        codes, _ = kmeans2(rows, min(most, len(distinct)), PASSES, minit='points', seed=seed)
    return Codebook(codes[np.unique(_nearest(rows, codes))])


def _nearest(rows: Floats, codes: Floats) -> Ints:
    return np.asarray(vq(rows, codes, check_finite=False)[0], dtype=np.int64)
