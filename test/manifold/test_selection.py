# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learners by name, and extensions that do not fit together."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.diffusion_map import (
    AnisotropicDiffusion,
    DiffusionMap,
    GivenCovariances,
)
from two_manifold_ros.manifold.learner import Embedding, PointSet
from two_manifold_ros.manifold.selection import (
    check_extension,
    FitTransform,
    make_learner,
)

COPIES = PointSet(np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], 10, axis=0))


def anisotropic(points: PointSet, **changes: float) -> object:
    source = GivenCovariances(np.tile(np.eye(2), (len(points), 1, 1)), 2)
    return AnisotropicDiffusion(2, 9, source, **changes).fit(points)


@pytest.mark.parametrize(
    ('make', 'words'),
    [
        (lambda: DiffusionMap(2, 5, 1.5), r'density is 1\.5, but must be between 0 and 1'),
        (lambda: DiffusionMap(2, 9).fit(COPIES), 'as many identical copies'),
        (lambda: anisotropic(COPIES, density=1.5), r'density is 1\.5'),
        (lambda: anisotropic(COPIES, power=-1.0), r'power is -1\.0'),
        (lambda: anisotropic(COPIES, epsilon=0.0), r'epsilon is 0\.0'),
        (lambda: AnisotropicDiffusion(2, 9, GivenCovariances(np.eye(2)[None], 0)), 'rank is 0'),
        (lambda: anisotropic(COPIES), 'identical'),
    ],
)
def test_what_makes_no_learner_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


CLUSTER = np.random.default_rng(0).normal(size=(20, 3))
POINTS = PointSet(np.concatenate([CLUSTER, CLUSTER + 50.0]))


@pytest.mark.parametrize(
    ('name', 'field', 'spoil', 'words'),
    [
        ('gaussian', 'bandwidth', lambda _: 0.0, 'bandwidth holds 0'),
        ('diffusion-map', 'neighbours', lambda _: 40, 'neighbours holds 40'),
        ('diffusion-map', 'radii', lambda old: -old, 'radii holds -'),
        ('diffusion-map', 'factors', lambda old: 0.0 * old, 'factors holds 0'),
        ('anisotropic-diffusion', 'begins', lambda old: 0 * old, 'begins do not divide'),
        ('anisotropic-diffusion', 'power', lambda _: 1.5, 'power holds 1.5'),
    ],
)
def test_responses_that_do_not_fit(name, field, spoil, words):
    extension = make_learner(name, 3, 5).fit(POINTS).extension
    check_extension(extension, 40)
    response = extension.response
    spoiled = replace(response, **{field: spoil(getattr(response, field))})
    with pytest.raises(ValueError, match=words):
        check_extension(replace(extension, response=spoiled), 40)


def made_by(result: Callable[[np.ndarray], object]) -> Embedding:
    """Embed with an object whose ``fit_transform`` returns this of the points."""
    made = type('Made', (), {'fit_transform': lambda _, x: result(x)})()
    return FitTransform(made).fit(POINTS)


def test_whatever_has_fit_transform_is_a_learner():
    embedding = made_by(lambda x: (x[:, :2] / 2.0 + 7.0).tolist())
    wanted = (POINTS.points - POINTS.points.mean(axis=0))[:, :2] / 2.0
    np.testing.assert_allclose(embedding.coordinates, wanted, atol=1e-12)
    np.testing.assert_allclose(embedding.eigenvalues, np.square(wanted).sum(axis=0))
    check_extension(embedding.extension, 40)
    for result, words in (
        (lambda x: x[1:], r'Made made the shape \(39, 3\) of 40 points'),
        (lambda x: x[:, 0], r'shape \(40,\)'),
        (lambda x: x[:, :0], r'shape \(40, 0\)'),
        (lambda x: x * np.inf, 'not finite'),
        (lambda _: [['a']] * 40, 'Made cannot embed the points: could not convert'),
    ):
        with pytest.raises(InputError, match=words):
            made_by(result)
