# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The last step of random Fourier features: from products with frequencies to cosines."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats

LARGEST_ROUNDING = 1e-3
"""Rounding of an angle, in radians, beyond which its cosine is refused as meaningless."""


def cosine_features(angles: NDArray[Any], phases: NDArray[Any]) -> Floats:
    r"""
    Return :math:`\sqrt{2/D} \cos(a + \beta)` as float64, eq. (2.2).

    Parameters
    ----------
    angles : (n, D) float64 or float32
        Products of points and frequencies, radians; overwritten.
    phases : (D,) of the same dtype

    Raises
    ------
    InputError
        If an angle is so large that its rounding alone passes ``LARGEST_ROUNDING``: beyond 4.5e12
        in float64 and 8.4e3 in float32. A standardised point gives angles of a few radians.

    """
    limit = LARGEST_ROUNDING / float(np.finfo(angles.dtype).eps)
    # Written so that a NaN, from an overflow to infinities of both signs, is refused as well.
    if angles.size and not (-limit <= angles.min() and angles.max() <= limit):
        msg = (
            'a point lies too far out for the cosines of its Fourier features to mean anything; '
            'standardise it or leave out the samples that it is made of'
        )
        raise InputError(msg)
    angles += phases
    np.cos(angles, out=angles)
    out = angles if angles.dtype == np.float64 else np.empty(angles.shape)
    features: Floats = np.multiply(angles, np.sqrt(2.0 / angles.shape[1]), out=out)
    return features
