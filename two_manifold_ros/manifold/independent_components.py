# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two independent variables from the eigenfunctions of a diffusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class IndependentPair:
    """
    Two (n, 2) coordinates, each a function of one independent variable only.

    They have mean square one; which variable comes first, and the signs, are not determined.
    ``rotation`` (2, 2) turns the first two eigenfunctions, scaled alike, into them; their product
    is the eigenfunction in the column ``partner``, with a correlation of ``match`` in [0, 1].
    """

    coordinates: Floats
    rotation: Floats
    partner: int
    match: float


def independent_pair(functions: Floats, eigenvalues: Floats) -> IndependentPair:
    r"""
    Turn the first two eigenfunctions of a diffusion until their product is an eigenfunction too.

    Of independent variables the diffusion separates: eigenfunctions are products of functions
    of one variable, and with :math:`\phi_1(x_1)` and :math:`\phi_2(x_2)` the product
    :math:`\phi_1 \phi_2` is one, with the product of the eigenvalues. Where the variables are
    alike, the first two eigenvalues are one double eigenvalue, and the first two eigenfunctions
    any rotation of the two. The angle for which their product has the largest
    covariance with its eigenfunction is known in closed form.

    Parameters
    ----------
    functions : (n, m)
        Eigenfunctions without the constant one, leading first, of any scale; m at least 3.
    eigenvalues : (m,)
        Of the random walk, leading first.

    Raises
    ------
    InputError
        If there are fewer than three eigenfunctions, or one is constant.

    References
    ----------
    A. Singer: Spectral independent component analysis. Applied and Computational Harmonic
    Analysis 21, 2006.

    """
    if functions.ndim != 2 or functions.shape[1] < 3:
        msg = f'eigenfunctions have the shape {functions.shape}; at least three are needed'
        raise InputError(msg)
    centred = functions - functions.mean(axis=0)
    sizes = np.sqrt(np.square(centred).mean(axis=0))
    if not sizes.min() > 0.0:
        msg = 'an eigenfunction is constant; leave the constant one out'
        raise InputError(msg)
    scaled = centred / sizes
    # Of the product of eigenvalues: the third in the square, a later one where others come first.
    partner = 2 + int(np.abs(eigenvalues[2:] - eigenvalues[0] * eigenvalues[1]).argmin())
    first, second, other = scaled[:, 0], scaled[:, 1], scaled[:, partner]
    # The product at angle t is cos(2t) first second + sin(2t) (second^2 - first^2) / 2.
    angle = 0.5 * np.arctan2(
        0.5 * np.mean((second**2 - first**2) * other), np.mean(first * second * other)
    )
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    coordinates = scaled[:, :2] @ rotation
    match = abs(float(np.corrcoef(coordinates.prod(axis=1), other)[0, 1]))
    return IndependentPair(coordinates, rotation, partner, match)


def place_on_interval(coordinate: Floats) -> Floats:
    r"""Return x in [0, 1] of :math:`\sqrt 2 \cos(\pi x)`, first eigenfunction of an interval."""
    places: Floats = np.arccos(np.clip(coordinate / np.sqrt(2.0), -1.0, 1.0)) / np.pi
    return places
