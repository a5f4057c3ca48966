# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Random Fourier features of the Gaussian and the Laplacian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.features.checking import (
    check_array,
    check_choice,
    check_count,
    check_points,
    check_positive,
    PRECISIONS,
)
from two_manifold_ros.features.cosines import cosine_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats

KERNELS = ('gaussian', 'laplacian')


@dataclass(frozen=True)
class FourierFeatures:
    r"""
    Features whose inner products approximate a kernel (Rahimi & Recht 2007).

    .. math:: \varphi(x) = \sqrt{2/D}\, \cos(\Omega^\top x + \beta), \qquad
              E[\varphi(x)^\top \varphi(y)] = k(x, y)  \qquad (2.2)

    The error of an inner product falls like :math:`1/\sqrt D`. A point costs one matrix-vector
    product, which reads all frequencies, and one cosine a feature.

    Parameters
    ----------
    frequencies : (inputs, D) float64 or float32
        :math:`\Omega`; with float32 the product and the cosine are taken in float32.
    phases : (D,) of the same dtype
        :math:`\beta`.

    Raises
    ------
    InputError
        If the arrays do not fit together or are not finite.

    """

    frequencies: NDArray[Any]
    phases: NDArray[Any]

    def __post_init__(self) -> None:
        """Check the arrays."""
        check_array('frequencies', self.frequencies, (None, None), 'float64', 'float32')
        check_array('phases', self.phases, (self.size,), str(self.frequencies.dtype))

    @property
    def inputs(self) -> int:
        """Numbers in a point."""
        return int(self.frequencies.shape[0])

    @property
    def size(self) -> int:
        """Numbers in a feature vector, D."""
        return int(self.frequencies.shape[1])

    def transform(self, points: Floats) -> Floats:
        """
        Return the (n, size) features of (n, inputs) points.

        Raises
        ------
        InputError
            If the points have another shape, are not finite, or lie so far out that the cosines
            would be noise, see ``cosine_features``.

        """
        points = check_points(points, self.inputs)
        with np.errstate(over='ignore', invalid='ignore'):
            angles = points.astype(self.frequencies.dtype, copy=False) @ self.frequencies
        return cosine_features(angles, self.phases)


def fourier_features(
    inputs: int,
    size: int,
    bandwidth: float,
    seed: int,
    kernel: str = 'gaussian',
    precision: str = 'double',
) -> FourierFeatures:
    r"""
    Draw random Fourier features.

    Parameters
    ----------
    inputs
        Numbers in a point.
    size
        Numbers in a feature vector, D.
    bandwidth
        :math:`\sigma`, in units of the distance between points.
    seed
        Of PCG64. The numbers drawn are part of a model, so that another NumPy changes nothing.
    kernel
        ``gaussian``, :math:`\exp(-\lVert x - y \rVert^2 / 2\sigma^2)` with normal frequencies, or
        ``laplacian``, :math:`\exp(-\lVert x - y \rVert_1 / \sigma)` with Cauchy ones.
    precision
        ``double``, or ``single`` for half the memory and less than half the time: 2,000 features
        are rounded by less than 1e-7, more of them by less. Not for the Laplacian kernel, whose
        largest frequencies are too large for it.

    Raises
    ------
    InputError
        If a number is out of range or a name is unknown.

    """
    check_count('inputs', inputs)
    check_count('size', size)
    check_positive('bandwidth', bandwidth)
    check_count('seed', seed, least=0)
    check_choice('kernel', kernel, KERNELS)
    check_choice('precision', precision, tuple(PRECISIONS))
    if kernel == 'laplacian' and precision == 'single':
        msg = 'features of the Laplacian kernel need double precision; do not ask for single'
        raise InputError(msg)
    rng = np.random.Generator(np.random.PCG64(seed))
    draw = rng.standard_normal if kernel == 'gaussian' else rng.standard_cauchy
    frequencies = np.empty((inputs, size), dtype=PRECISIONS[precision])
    for row in frequencies:
        row[:] = draw(size) / bandwidth
    phases = rng.uniform(0.0, 2.0 * np.pi, size).astype(frequencies.dtype)
    return FourierFeatures(frequencies, phases)
