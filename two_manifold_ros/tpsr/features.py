# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feature maps: points to vectors, with the constant among them, or at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from two_manifold_ros.errors import InputError
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.ticks.windows import WindowSet

LARGEST_SQUARE = 1e12
"""Squared length of features above which they are a fault: they should be about one long."""


def squared_length(features: Floats) -> float:
    """Return the squared length of (d,) features, not finite if a number in them is not."""
    with np.errstate(over='ignore', invalid='ignore'):
        return float(features @ features)


def check_points(points: Floats, inputs: int) -> Floats:
    """Return points as finite (n, inputs) float64; `InputError` if they are not that."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != inputs:
        msg = f'points {points.shape} do not fit a feature map of {inputs} inputs; give it those'
        raise InputError(msg)
    if not np.isfinite(points).all():
        msg = 'a point holds a number that is not finite; leave out the samples that it is made of'
        raise InputError(msg)
    return points


class FeatureMap(Protocol):
    """Turns points into feature vectors; the same points always give the same features."""

    @property
    def inputs(self) -> int:
        """Numbers in a point."""

    @property
    def size(self) -> int:
        """Numbers in a feature vector."""

    def transform(self, points: Floats) -> Floats:
        """Return (n, size) float64 features, a new array; refuse points that have none."""


@dataclass(frozen=True)
class WithConstant:
    """
    The features of a map and, as the last one, the constant 1.

    The normaliser and the start of a TPSR need features in which the constant can be written
    (Boots & Gordon 2011, eq. 5a, 5b): here it is the last unit vector.
    """

    map: FeatureMap

    @property
    def inputs(self) -> int:
        """Numbers in a point."""
        return self.map.inputs

    @property
    def size(self) -> int:
        """Numbers in a feature vector."""
        return self.map.size + 1

    def transform(self, points: Floats) -> Floats:
        """Return the (n, size) features of (n, inputs) points, see ``FeatureMap``."""
        others = self.map.transform(points)
        return np.concatenate([others, np.ones((len(others), 1))], axis=1)


@dataclass(frozen=True)
class EmbeddedWindows:
    """
    Coordinates of windows on a manifold that was learned before, mathematics (8.4).

    A point is a window of ``anchors.width`` ticks, channel by channel. One that resembles none of
    the ``anchors``, the windows that the manifold was learned from, is at the mean of these.
    """

    anchors: WindowSet
    extension: Extension

    @property
    def inputs(self) -> int:
        """Numbers in a window."""
        return len(self.anchors.series) * self.anchors.width

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.extension.offset)

    def transform(self, points: Floats) -> Floats:
        """Return the (n, size) coordinates of (n, inputs) windows, see ``FeatureMap``."""
        points = check_points(points, self.inputs)
        channels = points.reshape(len(points), len(self.anchors.series), -1)
        rows = channels.transpose(0, 2, 1).reshape(points.shape)
        squared = np.ascontiguousarray(self.anchors.distances_from(rows).T)
        found = map(self.extension.transform, squared)
        none = np.zeros(self.size)
        return np.array([none if each is None else each for each in found]).reshape(-1, self.size)


@dataclass(frozen=True)
class IndicatorFeatures:
    """
    A one for the word that a point is and zeros for all others, for discrete data.

    A point is a row of codes 0, 1, ... of ``symbols``, the first one counting most in the order of
    the words: with two symbols 00, 01, 10, 11. Its features add up to one, so the constant is
    written as all ones.
    """

    symbols: int
    inputs: int  # symbols in a word

    @property
    def size(self) -> int:
        """Number of words."""
        words: int = self.symbols**self.inputs
        return words

    def transform(self, points: Floats) -> Floats:
        """Return the (n, size) one-hot rows of (n, inputs) codes, see ``FeatureMap``."""
        points = check_points(points, self.inputs)
        codes = np.clip(points, 0, self.symbols - 1).astype(np.int64)
        if not np.array_equal(codes, points):
            raise InputError(
                f'a point holds something else than the codes 0 to {self.symbols - 1}; give these'
            )
        weights = self.symbols ** np.arange(self.inputs - 1, -1, -1, dtype=np.int64)
        features = np.zeros((len(points), self.size))
        features[np.arange(len(points)), codes @ weights] = 1.0
        return features


@dataclass(frozen=True)
class ActionObservationFeatures:
    r"""
    The Kronecker product of the features of an action and of an observation.

    It is :math:`\varphi^A(a) \otimes \varphi^O(o)`. A point is the numbers of the action, such as
    a throttle command, then those of the observation (Boots & Gordon 2011, the present features).
    With ``WithConstant`` around either map the product also holds the features of the other one
    alone.
    """

    actions: FeatureMap
    observations: FeatureMap

    @property
    def inputs(self) -> int:
        """Numbers in an action and an observation together."""
        return self.actions.inputs + self.observations.inputs

    @property
    def size(self) -> int:
        """Product of the sizes of both maps."""
        return self.actions.size * self.observations.size

    def transform(self, points: Floats) -> Floats:
        """Return the (n, size) features of (n, inputs) points, the observation's index quicker."""
        points = check_points(points, self.inputs)
        actions, observations = np.split(points, [self.actions.inputs], axis=1)
        left = self.actions.transform(actions)
        right = self.observations.transform(observations)
        return (left[:, :, None] * right[:, None, :]).reshape(len(points), self.size)


def importance_weights(probabilities: Floats) -> Floats:
    r"""
    Return the weights (n,) that undo how the driver chose actions.

    A mean over samples weighted by :math:`\prod_i \pi(a_i \mid h_i)^{-1}` is an unbiased estimate
    of what is observed if actions are *done* (Bowling et al. 2006). ``probabilities`` (n, l) are
    those, or densities, of each of the l actions given the history; `InputError` if one is not
    positive and finite, or a weight overflows.
    """
    if not ((probabilities > 0.0) & (probabilities < np.inf)).all():
        msg = 'an action has no positive finite probability; give those of the policy that drove'
        raise InputError(msg)
    with np.errstate(over='ignore'):
        weights: Floats = np.exp(-np.log(probabilities).sum(axis=1))
    if not np.isfinite(weights).all():
        msg = 'a sequence of actions is too improbable for its weight; take shorter tests'
        raise InputError(msg)
    return weights


def cosine_features(angles: NDArray[Any], phases: NDArray[Any]) -> Floats:
    r"""
    Return :math:`\sqrt{2/D} \cos(a + \beta)` as float64, mathematics (2.2).

    ``angles`` (n, D), float64 or float32, are overwritten; ``phases`` (D,) are of the same dtype.
    """
    # The rounding of an angle alone may not pass 1e-3 radians.
    limit = 1e-3 / float(np.finfo(angles.dtype).eps)
    # Written so that a NaN, from an overflow to infinities of both signs, is refused as well.
    if angles.size and not (-limit <= angles.min() and angles.max() <= limit):
        msg = 'a point lies too far out for Fourier features; standardise it or leave it out'
        raise InputError(msg)
    angles += phases
    np.cos(angles, out=angles)
    out = angles if angles.dtype == np.float64 else np.empty(angles.shape)
    features: Floats = np.multiply(angles, np.sqrt(2.0 / angles.shape[1]), out=out)
    return features


@dataclass(frozen=True)
class FourierFeatures:
    r"""
    Features whose inner products approximate a kernel (Rahimi & Recht 2007), mathematics (2.2).

    .. math:: \varphi(x) = \sqrt{2/D}\, \cos(\Omega^\top x + \beta), \qquad
              E[\varphi(x)^\top \varphi(y)] = k(x, y)

    The error of an inner product falls like :math:`1/\sqrt D`. A point costs one matrix-vector
    product and one cosine a feature.
    """

    frequencies: NDArray[Any]  # (inputs, D) omega; in float32 product and cosine are, too
    phases: NDArray[Any]  # (D,) of the same dtype, beta

    @property
    def inputs(self) -> int:
        """Numbers in a point."""
        return int(self.frequencies.shape[0])

    @property
    def size(self) -> int:
        """Numbers in a feature vector, D."""
        return int(self.frequencies.shape[1])

    def transform(self, points: Floats) -> Floats:
        """Return the (n, size) features of (n, inputs) points, not too far out for a cosine."""
        points = check_points(points, self.inputs)
        with np.errstate(over='ignore', invalid='ignore'):
            angles = points.astype(self.frequencies.dtype, copy=False) @ self.frequencies
        return cosine_features(angles, self.phases)


def fourier_features(
    inputs: int, size: int, bandwidth: float, seed: int, precision: str = 'double'
) -> FourierFeatures:
    r"""
    Draw random Fourier features of the Gaussian kernel by a seed of PCG64.

    The bandwidth :math:`\sigma` is in units of the distance between points. The precision
    ``single`` takes half the memory and less than half the time: 2,000 features are rounded by
    less than 1e-7.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    frequencies = np.empty((inputs, size), dtype=precision)
    for row in frequencies:
        row[:] = rng.standard_normal(size) / bandwidth
    phases = rng.uniform(0.0, 2.0 * np.pi, size).astype(frequencies.dtype)
    return FourierFeatures(frequencies, phases)


@dataclass(frozen=True)
class StructuredFourierFeatures:
    r"""
    Features of the Gaussian kernel whose frequencies are products of signs and cosine transforms.

    .. math:: \varphi(x) = \sqrt{2/D}\, \cos(W x + \beta), \qquad
              W = \frac{\sqrt d}{\sigma}\, [C E_3 C E_2 C E_1,\ \dots]

    with :math:`C` the orthonormal cosine transform, :math:`E` diagonal matrices of random signs,
    and one such block for every d of the D features, the last one cut off: structured orthogonal
    features (Yu et al. 2016) with a cosine transform for Hadamard's. A point costs :math:`O(D \log
    d)` and the memory of the signs. As all frequencies have one length, inner products are too
    small by up to :math:`0.54/d`: it is for points of a hundred numbers and more.
    """

    signs: NDArray[Any]  # (blocks, 3, inputs) int8, E_1, E_2, E_3 of each block, +1 or -1
    phases: NDArray[Any]  # (D,), beta; in float32 transforms and cosine are, too
    bandwidth: float  # sigma

    @property
    def inputs(self) -> int:
        """Numbers in a point, d."""
        return int(self.signs.shape[2])

    @property
    def size(self) -> int:
        """Numbers in a feature vector, D."""
        return len(self.phases)

    def transform(self, points: Floats) -> Floats:
        """Return the (n, size) features of (n, inputs) points, not too far out for a cosine."""
        # A filter of a route, which loads this file as well, needs no SciPy.
        from scipy.fft import dct  # noqa: PLC0415 - see above

        points = check_points(points, self.inputs)
        with np.errstate(over='ignore', invalid='ignore'):
            scaled = (points * (self.inputs**0.5 / self.bandwidth)).astype(self.phases.dtype)
            mixed = scaled[:, None]
            for flips in self.signs.transpose(1, 0, 2):
                mixed = dct(mixed * flips, norm='ortho', overwrite_x=True)
        angles = mixed.reshape(len(points), -1)[:, : self.size].copy()
        return cosine_features(angles, self.phases)


def structured_fourier_features(
    inputs: int, size: int, bandwidth: float, seed: int, precision: str = 'double'
) -> StructuredFourierFeatures:
    """Draw structured random features as ``fourier_features`` does, for 100 ``inputs`` or more."""
    rng = np.random.Generator(np.random.PCG64(seed))
    # Fewer than three flips and transforms leave the structure of the point visible.
    shape = (-(-size // inputs), 3, inputs)
    signs = 2 * rng.integers(0, 2, shape, dtype=np.int8) - 1
    phases = rng.uniform(0.0, 2.0 * np.pi, size).astype(precision)
    return StructuredFourierFeatures(signs, phases, bandwidth)
