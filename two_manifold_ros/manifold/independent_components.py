# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Non-linear independent components (Singer & Coifman 2008), before and after the diffusion."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.typing import Floats


def local_covariances(bursts: Floats, duration: float) -> Floats:
    r"""
    Estimate :math:`J J^\top` (Singer & Coifman 2008, eq. 10) by the quadratic variation of bursts.

    ``bursts`` (n, b, s + 1, D) are positions of b paths of a ``duration`` from each of n points,
    itself first; covariances (n, D, D) are per unit of time. More steps see less of drift and
    walls.
    """
    count, paths, _, width = bursts.shape
    steps = np.diff(bursts, axis=2).reshape(count, -1, width)
    covariances: Floats = steps.transpose(0, 2, 1) @ steps / (paths * duration)
    return covariances


def covariances_of_ends(ends: Floats, duration: float) -> Floats:
    r"""Estimate :math:`J J^\top` from ends (n, b, D) of paths (Singer & Coifman 2008, eq. 35)."""
    centred = ends - ends.mean(axis=1, keepdims=True)
    products = centred.transpose(0, 2, 1) @ centred
    covariances: Floats = products / ((ends.shape[1] - 1) * duration)
    return covariances


def covariances_of_balls(points: Floats, images: Floats, radius: float, rank: int) -> Floats:
    r"""
    Estimate :math:`J J^\top` from the images of balls (Singer & Coifman 2008, eq. 44).

    ``images`` (n, b, D) are of b places spread evenly in a ball around each of the ``points`` (n,
    D); ``rank`` is the number of variables.
    """
    away = images - points[:, None]
    products = away.transpose(0, 2, 1) @ away
    covariances: Floats = products * ((rank + 2) / (radius**2 * images.shape[1]))
    return covariances


class Separation(NamedTuple):
    """Functions of one independent variable each, and how well they are."""

    # (n, d), of mean square one. Which variable comes first, and the signs, are not determined.
    coordinates: Floats
    mixing: Floats  # (m, d), what multiplies the centred eigenfunctions; d rows are not zero
    # (d (d - 1) / 2,), of the product of each pair of them with the eigenfunctions of products:
    # well below 1, they are not functions of one variable each.
    correlations: Floats


def separate(functions: Floats, eigenvalues: Floats, count: int) -> Separation:
    r"""
    Turn d eigenfunctions of a diffusion until their products are eigenfunctions too.

    Of independent variables eigenfunctions are products of functions of one variable, and their
    eigenvalues the products (Singer & Coifman 2008, eq. 30; Singer 2006). Taken are the first d
    that no polynomial of those before them explains. With the eigenfunctions :math:`p_k` whose
    eigenvalues are nearest to those of products, and :math:`M_k = \mathrm{mean}(p_k \psi
    \psi^\top)`, the rotation Q minimises :math:`\sum_k \sum_i (Q^\top M_k Q)_{ii}^2`, pair by pair
    as in a joint diagonalisation (Cardoso & Souloumiac 1996): the square of a function of one
    variable varies with no product.

    ``functions`` (n, m) are without the constant one, leading first, at least d (d + 1) / 2;
    ``eigenvalues`` (m,) of the random walk; ``count`` is d.
    """
    from scipy.optimize import linear_sum_assignment

    least = max(count * (count + 1) // 2, 1)
    if count < 1 or functions.ndim != 2 or functions.shape[1] < least:
        msg = f'{functions.shape} eigenfunctions; of {count} variables at least {least} are needed'
        raise InputError(msg)
    centred = functions - functions.mean(axis=0)
    sizes = np.sqrt(np.square(centred).mean(axis=0))
    if not sizes.min() > 0.0:
        raise InputError('an eigenfunction is constant; leave the constant one out')
    scaled = centred / sizes
    single = _new_functions(scaled, count)
    if len(single) < count:
        raise InputError(
            f'{len(single)} of {scaled.shape[1]} eigenfunctions are no functions of those before '
            f'them; ask for as many variables, not {count}, or give more eigenfunctions'
        )
    # Which other eigenfunction each product of two is, by the nearest eigenvalue.
    others = [column for column in range(len(eigenvalues)) if column not in single]
    products = [one * other for one, other in itertools.combinations(eigenvalues[single], 2)]
    apart = np.abs(np.subtract.outer(np.array(products), eigenvalues[others]))
    nearest = [others[column] for column in linear_sum_assignment(apart)[1]]
    first, partners = scaled[:, single], scaled[:, nearest]
    moments = np.einsum('ni,nj,nk->kij', first, first, partners) / len(first)
    rotation = _least_diagonals(moments)
    coordinates = first @ rotation
    mixing = np.zeros((len(sizes), count))
    mixing[single] = rotation / sizes[single, None]
    correlations = [
        _correlation(coordinates[:, one] * coordinates[:, other], partners)
        for one, other in itertools.combinations(range(count), 2)
    ]
    return Separation(coordinates, mixing, np.array(correlations))


def _new_functions(functions: Floats, count: int) -> list[int]:
    """Return the first of (n, m) functions that are no function of those before them."""
    taken = [0]
    for column in range(1, functions.shape[1]):
        if len(taken) == count:
            break
        before = functions[:, taken]
        # Up to the fourth degree, as of cos(4 pi x), which comes before a fifth of the width.
        powers = [
            np.prod(before[:, list(chosen)], axis=1)
            for degree in (1, 2, 3, 4)
            for chosen in itertools.combinations_with_replacement(range(len(taken)), degree)
        ]
        polynomials = np.stack(powers, axis=1)
        explained = _correlation(functions[:, column], polynomials - polynomials.mean(axis=0))
        if explained**2 < 0.5:
            taken.append(column)
    return taken


def _least_diagonals(moments: Floats) -> Floats:
    """Return the rotation (d, d) that makes the diagonals of matrices (p, d, d) smallest."""
    count = moments.shape[-1]
    rotation: Floats = np.eye(count)
    for _ in range(50):
        largest = 0.0
        for one, other in itertools.combinations(range(count), 2):
            turned = rotation.T @ moments @ rotation
            # At angle t the difference of the two entries is cos(2t) and sin(2t) times these.
            ends = np.stack(
                [turned[:, one, one] - turned[:, other, other], 2.0 * turned[:, one, other]]
            )
            cosine, sine = np.linalg.eigh(ends @ ends.T)[1][:, 0]
            angle = 0.5 * np.arctan2(sine * np.sign(cosine or 1.0), abs(cosine))
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            rotation[:, [one, other]] = rotation[:, [one, other]] @ turn
            largest = max(largest, abs(angle))
        if largest < 1e-12:
            break
    return rotation


def _correlation(product: Floats, partners: Floats) -> float:
    """Return the multiple correlation of (n,) numbers with (n, p) centred ones."""
    wanted = product - product.mean()
    fitted = partners @ np.linalg.lstsq(partners, wanted, rcond=None)[0]
    return float(np.linalg.norm(fitted) / np.linalg.norm(wanted))


def place_on_interval(coordinate: Floats) -> Floats:
    r"""Return x in [0, 1] of :math:`\sqrt 2 \cos(\pi x)`, first eigenfunction of an interval."""
    places: Floats = np.arccos(np.clip(coordinate / np.sqrt(2.0), -1.0, 1.0)) / np.pi
    return places
