# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feature maps: points to vectors, with the constant among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

LARGEST_SQUARE = 1e12
"""Squared length of features above which they are a fault: they should be about one long. Far from
any limit of double precision, so that halving or doubling it changes nothing."""


def squared_length(features: Floats) -> float:
    """Return the squared length of (d,) features, not finite if a number in them is not."""
    with np.errstate(over='ignore', invalid='ignore'):
        return float(features @ features)


def check_points(points: Floats, inputs: int) -> Floats:
    """Return points as finite (n, inputs) float64; `InputError` if they are not that."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != inputs:
        msg = (
            f'points of the shape {points.shape} do not fit a feature map of {inputs} inputs; '
            'give it what it was made for'
        )
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
        """
        Return (n, size) float64 features of (n, inputs) points, a new array.

        Raises `InputError` if the points have another shape or are not finite, or if the map has
        no features for them.
        """


@dataclass(frozen=True)
class WithConstant:
    """
    The features of a map and, as the last one, the constant 1.

    The normaliser of a TPSR, and its start, need features in which the constant can be written
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
class IndicatorFeatures:
    """
    A one for the word that a point is and zeros for all others, for discrete data.

    A point is a row of ``length`` codes 0, 1, ... of ``symbols``, the first one counting most in
    the order of the words: with two symbols 00, 01, 10, 11. The features of a point add up to one,
    so the constant is written in them as all ones.
    """

    symbols: int
    length: int

    @property
    def inputs(self) -> int:
        """Symbols in a word."""
        return self.length

    @property
    def size(self) -> int:
        """Number of words."""
        words: int = self.symbols**self.length
        return words

    def transform(self, points: Floats) -> Floats:
        """Return the (n, size) one-hot rows of (n, length) codes, see ``FeatureMap``."""
        points = check_points(points, self.length)
        codes = np.clip(points, 0, self.symbols - 1).astype(np.int64)
        if not np.array_equal(codes, points):
            msg = (
                f'a point holds something else than the codes 0 to {self.symbols - 1} of the '
                'symbols; give every symbol one of these codes'
            )
            raise InputError(msg)
        weights = self.symbols ** np.arange(self.length - 1, -1, -1, dtype=np.int64)
        features = np.zeros((len(points), self.size))
        features[np.arange(len(points)), codes @ weights] = 1.0
        return features


@dataclass(frozen=True)
class ActionObservationFeatures:
    r"""
    The Kronecker product of the features of an action and of an observation.

    .. math:: \varphi^{AO}(a, o) = \varphi^A(a) \otimes \varphi^O(o)

    A point is the numbers of the action, such as a throttle command, then those of the
    observation (Boots & Gordon 2011, the present features). With ``WithConstant`` around either
    map the product also holds the features of the other one alone.
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
    Return the (n,) weights that take out of samples how often the driver chose their actions.

    .. math:: w = \prod_i \pi(a_i \mid h_i)^{-1}

    Tests ask what is observed if actions are *done*, but actions that the policy favours after
    some histories are over-represented there. A mean over samples weighted like this is an
    unbiased estimate of the features under ``do`` (Bowling et al. 2006). ``probabilities`` (n, l)
    are those, or densities, with which the policy chose each of the l actions of a sample, given
    the history at that moment. Raises `InputError` if one is not positive and finite, or so small
    that a weight overflows.
    """
    if not ((probabilities > 0.0) & (probabilities < np.inf)).all():
        msg = (
            'a policy chose an action to which it gives no positive finite probability; give the '
            'probabilities of the policy that drove'
        )
        raise InputError(msg)
    with np.errstate(over='ignore'):
        weights: Floats = np.exp(-np.log(probabilities).sum(axis=1))
    if not np.isfinite(weights).all():
        msg = 'a sequence of actions is too improbable for its weight; take shorter tests'
        raise InputError(msg)
    return weights
