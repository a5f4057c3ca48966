# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules for every manifold learner and its variants; one joins by its name among the kernels."""

from dataclasses import fields, replace
from functools import partial
import json

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import Embedding, Extension, ManifoldLearner, PointSet
from two_manifold_ros.manifold.selection import check_extension, has_neighbours, make_learner
from two_manifold_ros.model.model_file import decode, encode
from two_manifold_ros.names import KERNELS

COUNT = 60
VARIANTS = {
    'laplacian-eigenmap-binary': partial(LaplacianEigenmap, heat=False),
    'laplacian-eigenmap-plain': partial(LaplacianEigenmap, normalised=False),
    'diffusion-map-beltrami': partial(DiffusionMap, density=1.0),
}
WITH_GRAPH = {*filter(has_neighbours, KERNELS), *VARIANTS}
pytestmark = pytest.mark.parametrize('name', [*KERNELS, *VARIANTS])


def learner_of(name: str, dimension: float, neighbours: int) -> ManifoldLearner:
    return VARIANTS.get(name, partial(make_learner, name))(dimension, neighbours)


def sheet() -> np.ndarray:
    """Random points of a bent sheet in space, unevenly dense."""
    rng = np.random.default_rng(0)
    along, across = 2.0 * rng.beta(2.0, 3.0, COUNT), rng.uniform(size=COUNT)
    return np.stack([np.cos(2.0 * along), np.sin(2.0 * along), across], axis=1)


def fitted(name: str, points: np.ndarray, dimension: int = 3) -> Embedding:
    return learner_of(name, dimension, 8).fit(PointSet(points))


def gram(name: str, points: np.ndarray) -> np.ndarray:
    """Inner products, in which no sign and no order of equal modes shows."""
    coordinates = fitted(name, points).coordinates
    return coordinates @ coordinates.T


def transformed(embedding: Embedding, points: np.ndarray) -> np.ndarray:
    squared = PointSet(points).distances_from(points).T
    return np.array([embedding.extension.transform(row) for row in squared])


def assert_alike(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_coordinates_are_centred_and_eigenvalues_belong_to_them(name):
    embedding = fitted(name, sheet())
    spread = embedding.coordinates.std(axis=0)
    assert (np.abs(embedding.coordinates.mean(axis=0)) < 1e-9 * spread).all()
    assert embedding.coordinates.shape == (COUNT, 3)
    assert embedding.eigenvalues.shape == (3,)
    assert embedding.notes == ()
    # Training points get their own rows.
    assert_alike(transformed(embedding, sheet()), embedding.coordinates)


def test_rotation_translation_constant_columns_and_permutation(name):
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    moved = sheet() @ rotation + [100.0, -20.0, 3.0]
    wider = np.column_stack([np.full(COUNT, 7.0), moved, np.zeros(COUNT)])
    assert_alike(gram(name, wider), gram(name, sheet()))
    # Its points follow each other in time.
    if name != 'anisotropic-diffusion':
        order = np.random.default_rng(2).permutation(COUNT)
        assert_alike(gram(name, sheet()[order]), gram(name, sheet())[np.ix_(order, order)])


def test_copies(name):
    """A few, and of one point more than it has neighbours."""
    few = [sheet()[:5], sheet()[:1], sheet()[:1]]
    with pytest.raises(InputError, match='most points are identical'):
        fitted(name, np.ones((COUNT, 3)))
    for copies in (few, [np.repeat(sheet()[:1], 12, axis=0)]):
        points = np.concatenate([sheet(), *copies])
        embedding = fitted(name, points)
        assert np.isfinite(embedding.coordinates).all()
        assert np.isfinite(transformed(embedding, points)).all()


def test_pieces_are_joined_and_said(name):
    points = np.concatenate([sheet(), sheet() + 50.0])
    embedding = fitted(name, points)
    assert np.isfinite(embedding.coordinates).all()
    assert np.isfinite(transformed(embedding, points)).all()
    if name in WITH_GRAPH:
        (note,) = embedding.notes
        assert 'fell into 2 pieces' in note
        pieces = np.arange(2 * COUNT) < COUNT
        # The first coordinate separates them.
        assert np.abs(np.corrcoef(embedding.coordinates[:, 0], pieces)[0, 1]) > 0.9


def test_too_few_points_and_an_embedding_of_nothing(name):
    learner = learner_of(name, 3, 8)
    least = 9 if name in WITH_GRAPH else 4
    learner.fit(PointSet(sheet()[:least]))
    with pytest.raises(InputError, match='points are too few for 3 dimensions'):
        learner.fit(PointSet(sheet()[: least - 1]))
    with pytest.raises(InputError, match='dimension is 0'):
        fitted(name, sheet(), dimension=0)
    with pytest.raises(InputError, match=r'dimension is 2\.5, but must be a whole number'):
        learner_of(name, 2.5, 8).fit(PointSet(sheet()))
    if name in WITH_GRAPH:
        with pytest.raises(InputError, match='neighbours is 0'):
            learner_of(name, 3, 0).fit(PointSet(sheet()))


def test_twice_the_same_bytes_and_there_and_back_through_a_file(name):
    embedding, again = (fitted(name, sheet()) for _ in range(2))
    assert embedding.coordinates.tobytes() == again.coordinates.tobytes()
    (numbers, arrays), (_, other) = (encode(each.extension) for each in (embedding, again))
    assert {key: each.tobytes() for key, each in arrays.items()} == {
        key: each.tobytes() for key, each in other.items()
    }
    check_extension(embedding.extension, COUNT)
    again = decode(Extension, json.loads(json.dumps(numbers)), arrays)
    squared = PointSet(sheet()).distances_from(np.array([[0.3, 0.9, 0.4]]))[:, 0]
    np.testing.assert_array_equal(again.transform(squared), embedding.extension.transform(squared))
    # No distance makes no coordinates.
    found = again.transform(np.full(COUNT, np.nan))
    assert found is None or np.isnan(found).all()


def test_no_field_of_a_response_may_be_spoiled(name):
    extension = fitted(name, np.concatenate([sheet(), sheet() + 50.0])).extension
    for field in fields(extension.response):
        value = getattr(extension.response, field.name)
        if not isinstance(value, np.ndarray):
            wrong = [np.nan, True, 'x', 10**400, 1e200, -1]
        elif value.dtype == np.int64:
            wrong = [value[:-1], value[..., None], value + 10**6, value - 10**6, value * 1.0]
        else:
            wrong = [value[:-1], value[..., None], value * np.nan, value.astype(np.float32)]
        for each in [*wrong, None] if np.size(value) else []:
            spoiled = replace(extension.response, **{field.name: each})
            numbers, arrays = encode(replace(extension, response=spoiled))
            with pytest.raises((ValueError, OverflowError), match=r'\w+ '):
                check_extension(decode(Extension, numbers, arrays), 2 * COUNT)
