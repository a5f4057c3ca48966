# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Stochastic N4SID: a linear system from its outputs alone.

P. Van Overschee, B. De Moor: Subspace Identification for Linear Systems, Kluwer 1996, chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import qr

from two_manifold_ros.comparison.innovation_form import innovation_form, stabilised
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.comparison.innovation_form import InnovationForm
    from two_manifold_ros.typing import Floats

WEIGHTINGS = ('unweighted', 'principal')

CHUNK = 4096
"""Windows laid out in memory at a time."""

FAINTEST = 1e-9
"""Directions weaker than this, against the strongest, are rounding."""


@dataclass(frozen=True)
class Hankel:
    """
    What identification needs to know of a Hankel matrix.

    Parameters
    ----------
    factor : (2 i d, 2 i d)
        Lower triangular L of its LQ decomposition, pasts above futures, divided by the root of
        the number of its columns.
    block_rows
        Ticks i in a past and in a future.
    outputs
        Channels d.

    """

    factor: Floats
    block_rows: int
    outputs: int

    @property
    def past(self) -> int:
        """Rows of the pasts, i d."""
        return self.block_rows * self.outputs

    @property
    def projection(self) -> Floats:
        r"""Futures projected on pasts, :math:`Y_f / Y_p`, in the coordinates of Q: (i d, i d)."""
        return self.factor[self.past :, : self.past]


@dataclass(frozen=True)
class Directions:
    """
    Directions of the future that the past tells about.

    Parameters
    ----------
    hankel
        Where they were found.
    vectors : (i d, r), strengths (r,)
        Orthonormal, the strongest first, without those that are rounding.

    """

    hankel: Hankel
    vectors: Floats
    strengths: Floats


def count_windows(segments: Sequence[Floats], block_rows: int) -> int:
    """Return how many pasts followed by futures, ``block_rows`` ticks each, there are."""
    return sum(max(0, len(segment) - 2 * block_rows + 1) for segment in segments)


def needed_windows(outputs: int, block_rows: int) -> int:
    """Return how many windows a regression on the past and one more tick needs."""
    return (block_rows + 1) * outputs + 1


def decompose_hankel(segments: Sequence[Floats], block_rows: int) -> Hankel:
    """
    Decompose the block Hankel matrix of outputs, a chunk of its columns at a time.

    Parameters
    ----------
    segments
        Outputs (T, d) of mean zero of stretches without a gap; no window crosses a seam.
    block_rows
        Ticks in a past and in a future, at least 2.

    Raises
    ------
    InputError
        If there are fewer than ``needed_windows``.

    """
    outputs = segments[0].shape[1]
    windows = count_windows(segments, block_rows)
    if windows < needed_windows(outputs, block_rows):
        msg = (
            f'N4SID with {block_rows} block rows of {outputs} channels needs '
            f'{needed_windows(outputs, block_rows)} windows of {2 * block_rows} ticks without a '
            f'gap, but the recording has {windows}; record longer or shorten --window'
        )
        raise InputError(msg)
    width = 2 * block_rows * outputs
    upper = np.empty((0, width))
    for rows in _windows_as_rows(segments, 2 * block_rows):
        upper = qr(np.concatenate([upper, rows]), mode='r', overwrite_a=True)[0][:width]
    factor = np.zeros((width, width))
    factor[:, : len(upper)] = upper.T / np.sqrt(windows)
    return Hankel(factor, block_rows, outputs)


def _windows_as_rows(segments: Sequence[Floats], width: int) -> Iterator[Floats]:
    """Yield flat windows, oldest tick first: (up to ``CHUNK``, width d)."""
    for segment in segments:
        if len(segment) >= width:
            windows = sliding_window_view(segment, width, axis=0)
            for begin in range(0, len(windows), CHUNK):
                chunk = windows[begin : begin + CHUNK]
                yield chunk.transpose(0, 2, 1).reshape(len(chunk), -1)


def find_directions(hankel: Hankel, weighting: str) -> Directions:
    """
    Order the directions of the projection by what they carry.

    Parameters
    ----------
    hankel
        From ``decompose_hankel``.
    weighting
        One of ``WEIGHTINGS``: as it is, or (``principal``) by the covariance with the past, where
        faint directions of the past count less.

    """
    matrix = hankel.projection
    if weighting == 'principal':
        matrix = matrix @ hankel.factor[: hankel.past, : hankel.past].T
    vectors, strengths, _ = np.linalg.svd(matrix)
    rank = max(1, int(np.count_nonzero(strengths > FAINTEST * strengths[0])))
    return Directions(hankel, vectors[:, :rank], strengths[:rank])


def identify(directions: Directions, order: int) -> InnovationForm:
    """
    Identify a system of an order, or of the largest that the directions support.

    The states before and after a tick are projections of its past; A and C follow from them by
    least squares, the noise from what is left.
    """
    hankel = directions.hankel
    past, one_more = hankel.past, hankel.past + hankel.outputs
    order = min(order, len(directions.strengths), past - hankel.outputs)
    observability = directions.vectors[:, :order] * np.sqrt(directions.strengths[:order])
    before = np.zeros((order, one_more))
    before[:, :past] = np.linalg.pinv(observability) @ hankel.projection
    shortened = np.linalg.pinv(observability[: -hankel.outputs])
    after = shortened @ hankel.factor[one_more:, :one_more]
    outputs = hankel.factor[past:one_more, :one_more]
    wanted = np.concatenate([after, outputs])
    system = np.linalg.lstsq(before.T, wanted.T, rcond=None)[0].T
    transition, output = stabilised(system[:order]), system[order:]
    residuals = wanted - np.concatenate([transition, output]) @ before
    return innovation_form(transition, output, residuals @ residuals.T)
