# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Covariances around points, and the rotation of eigenfunctions to functions of one variable."""

import itertools

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.independent_components import (
    covariances_of_balls,
    covariances_of_ends,
    local_covariances,
    place_on_interval,
    separate,
)


def test_one_step_is_second_moments_about_the_start_and_ends_have_sample_covariances():
    bursts = np.random.default_rng(0).normal(size=(3, 40, 2, 2))
    moved = bursts[:, :, 1] - bursts[:, :, 0]
    for found, each in zip(local_covariances(bursts, 0.5), moved, strict=True):
        np.testing.assert_allclose(found, sum(np.outer(row, row) for row in each) / 40 / 0.5)
    ends = np.random.default_rng(0).normal(size=(3, 9, 2)) + 5.0
    found = covariances_of_ends(ends, 0.25)
    np.testing.assert_allclose(found, [np.cov(each.T) / 0.25 for each in ends])


def test_a_ball_of_known_size_shows_the_jacobian():
    rng = np.random.default_rng(0)
    jacobian, points = rng.normal(size=(4, 3)), rng.normal(size=(2, 4))
    # A million places in a cube, of which those in the ball stay.
    places = rng.uniform(-0.1, 0.1, size=(1_000_000, 3))
    places = places[np.linalg.norm(places, axis=1) < 0.1]
    images = points[:, None] + places @ jacobian.T
    found = covariances_of_balls(points, images, 0.1, 3)
    expected = jacobian @ jacobian.T
    np.testing.assert_allclose(found, [expected, expected], atol=0.01 * np.trace(expected))
    # They are second moments about the points, which need not be the mean of a cloud.
    naive = sum(np.outer(image - points[0], image - points[0]) for image in images[0][:7]) / 7
    one = covariances_of_balls(points[:1], images[:1, :7], 0.1, 3)
    np.testing.assert_allclose(one[0], naive * 5.0 / 0.1**2)


def box(count: int) -> np.ndarray:
    """Return places (n, d) on a grid in the unit box."""
    steps = {2: 30, 3: 12, 4: 8}[count]
    side = (np.arange(steps) + 0.5) / steps
    return np.stack(np.meshgrid(*[side] * count, indexing='ij'), axis=-1).reshape(-1, count)


def functions_of_box(
    x: np.ndarray, sides: tuple[float, ...], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return so many first eigenfunctions of a box with these sides at places (n, d) in shares."""
    waves = [each for each in itertools.product(range(4), repeat=len(sides)) if any(each)]
    lines = np.square(np.array(waves) / sides).sum(axis=1)
    order = np.argsort(lines, kind='stable')[:count]
    functions = [np.prod(np.cos(np.pi * x * np.array(waves[k])), axis=1) for k in order]
    return np.stack(functions, axis=1), np.exp(-0.05 * lines[order])


def assert_separated(coordinates: np.ndarray, x: np.ndarray, atol: float) -> None:
    """Each coordinate is the cosine of another variable, to signs, and has mean square one."""
    count = x.shape[1]
    table = np.abs(np.corrcoef(coordinates.T, np.cos(np.pi * x).T)[:count, count:])
    expected = np.eye(count)[table.argmax(axis=1)]
    assert sorted(table.argmax(axis=1)) == list(range(count))
    np.testing.assert_allclose(table, expected, atol=atol)
    np.testing.assert_allclose(np.square(coordinates).mean(axis=0), 1.0)


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('count', [2, 3, 4])
def test_rotations_are_undone_whatever_the_scale(count, seed):
    rng = np.random.default_rng(seed)
    x = box(count)
    functions, eigenvalues = functions_of_box(x, (1.0,) * count, {2: 5, 3: 10, 4: 18}[count])
    for first, size in ((0, count), (count, count * (count - 1) // 2)):
        turned = slice(first, first + size)
        rotation = np.linalg.qr(rng.normal(size=(size, size)))[0]
        functions[:, turned] = functions[:, turned] @ rotation
    functions = functions * rng.choice([-0.1, 3.0], functions.shape[1]) + 7.0
    found = separate(functions, eigenvalues, count)
    assert_separated(found.coordinates, x, 1e-9)
    assert found.correlations == pytest.approx(1.0)
    again = (functions - functions.mean(axis=0)) @ found.mixing
    np.testing.assert_allclose(found.coordinates, again, atol=1e-12)


@pytest.mark.parametrize('sides', [(1.0, 0.4), (1.0, 0.8, 0.6)])
def test_a_narrow_variable_comes_after_functions_of_the_others(sides):
    x = box(len(sides))
    functions, eigenvalues = functions_of_box(x, sides, 12)
    found = separate(functions, eigenvalues, len(sides))
    assert_separated(found.coordinates, x, 1e-9)
    assert found.correlations == pytest.approx(1.0)
    # Fewer functions than reach to the narrow one are refused.
    with pytest.raises(InputError, match='eigenfunctions are no functions of those before them'):
        separate(functions[:, [0] * 6], np.ones(6), len(sides))


def test_places_on_an_interval():
    x = box(2)
    functions, eigenvalues = functions_of_box(x, (1.0, 1.0), 5)
    places = place_on_interval(separate(functions, eigenvalues, 2).coordinates)[:, ::-1]
    errors = [np.abs(places - each).max(axis=0) for each in (x, 1.0 - x)]
    assert np.min(errors, axis=0).max() < 0.02
    assert place_on_interval(np.array([-2.0, 2.0])).tolist() == [1.0, 0.0]
    # Too few or constant functions are refused.
    with pytest.raises(InputError, match='of 2 variables at least 3'):
        separate(functions[:, :2], eigenvalues[:2], 2)
    with pytest.raises(InputError, match='of 0 variables'):
        separate(functions, eigenvalues, 0)
    functions[:, 1] = 1.0
    with pytest.raises(InputError, match='leave the constant one out'):
        separate(functions, eigenvalues, 2)
