# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Features of an action together with the observation that followed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.features.checking import check_points, LARGEST_SIZE

if TYPE_CHECKING:
    from two_manifold_ros.features.feature_map import FeatureMap
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class ActionObservationFeatures:
    r"""
    The Kronecker product of the features of an action and of an observation.

    .. math:: \varphi^{AO}(a, o) = \varphi^A(a) \otimes \varphi^O(o)

    A point is the numbers of the action, such as a throttle command, then those of the
    observation (Boots & Gordon 2011, the present features). With ``WithConstant`` around either
    map the product also holds the features of the other one alone.

    Parameters
    ----------
    actions, observations
        The maps of both parts.

    Raises
    ------
    InputError
        If the product has too many features.

    """

    actions: FeatureMap
    observations: FeatureMap

    def __post_init__(self) -> None:
        """Check the size."""
        if self.size > LARGEST_SIZE:
            msg = (
                f'{self.actions.size} features of actions times {self.observations.size} of '
                f'observations are more than {LARGEST_SIZE}; take fewer of either'
            )
            raise InputError(msg)

    @property
    def inputs(self) -> int:
        """Numbers in an action and an observation together."""
        return self.actions.inputs + self.observations.inputs

    @property
    def size(self) -> int:
        """Product of the sizes of both maps."""
        return self.actions.size * self.observations.size

    def transform(self, points: Floats) -> Floats:
        """
        Return the (n, size) features of (n, inputs) points, the observation's index quicker.

        Raises
        ------
        InputError
            If the points have another shape, or a map refuses its part.

        """
        points = check_points(points, self.inputs)
        actions, observations = np.split(points, [self.actions.inputs], axis=1)
        left = self.actions.transform(actions)
        right = self.observations.transform(observations)
        product: Floats = (left[:, :, None] * right[:, None, :]).reshape(len(points), self.size)
        return product


def importance_weights(probabilities: Floats) -> Floats:
    r"""
    Return the weights that take out of samples how often the driver chose their actions.

    .. math:: w = \prod_i \pi(a_i \mid h_i)^{-1}

    Tests ask what is observed if actions are *done*, but actions that the policy favours after
    some histories are over-represented there. A mean over samples weighted like this is an
    unbiased estimate of the features under ``do`` (Bowling et al. 2006): the mean of
    :math:`w\, \varphi(a) \otimes \varphi(o)` tends to the sum over all action sequences, each
    with its own observations.

    Parameters
    ----------
    probabilities : (n, l)
        Probability, or density, with which the policy chose each of the l actions of a sample,
        given the history at that moment.

    Returns
    -------
    (n,)

    Raises
    ------
    InputError
        If a probability is not positive and finite, or so small that a weight overflows.

    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim != 2:
        msg = (
            f'probabilities of the shape {probabilities.shape} are not one row a sample; give '
            '(samples, actions)'
        )
        raise InputError(msg)
    if not ((probabilities > 0.0) & (probabilities < np.inf)).all():
        msg = (
            'a policy chose an action to which it gives no positive finite probability; tell the '
            'probabilities of the policy that drove'
        )
        raise InputError(msg)
    with np.errstate(over='ignore'):
        weights: Floats = np.exp(-np.log(probabilities).sum(axis=1))
    if not np.isfinite(weights).all():
        msg = 'a sequence of actions is too improbable for its weight; take shorter tests'
        raise InputError(msg)
    return weights
