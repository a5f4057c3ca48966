# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Squares and cubes behind non-linear maps, clouds of all kinds, and bad input."""

import numpy as np
import pytest

pytest.importorskip('sklearn')

from two_manifold_ros.errors import InputError
from two_manifold_ros.nonlinear_ica import NonlinearICA


def places(count: int, steps: int) -> np.ndarray:
    """Return one place (n, d) in each cell of a grid in the unit box."""
    cells = np.stack(np.meshgrid(*[np.arange(steps)] * count, indexing='ij'), axis=-1)
    cells = cells.reshape(-1, count)
    return (cells + np.random.default_rng(count).uniform(0.2, 0.8, cells.shape)) / steps


def bend(x: np.ndarray) -> np.ndarray:
    """Map (..., d) variables to a curved surface or space in (..., d + 1)."""
    turned = np.roll(x, 1, axis=-1)
    bent = x + 0.5 * turned**3 * np.where(np.arange(x.shape[-1]) % 2, -1.0, 1.0)
    return np.concatenate([bent, 0.3 * np.square(bent).sum(axis=-1, keepdims=True)], axis=-1)


def metrics(x: np.ndarray) -> np.ndarray:
    """Return J J^T (n, D, D) at (n, d) variables, J by differences."""
    step = 1e-6
    columns = [
        (bend(x + step * unit) - bend(x - step * unit)) / (2 * step) for unit in np.eye(x.shape[1])
    ]
    jacobians = np.stack(columns, axis=-1)
    return jacobians @ jacobians.transpose(0, 2, 1)


def alike(found: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return how alike each column is to the cosines of the variables, sorted."""
    count = x.shape[1]
    return np.sort(np.abs(np.corrcoef(found.T, np.cos(np.pi * x).T)[:count, count:]), axis=1)


@pytest.mark.parametrize(('count', 'steps', 'epsilon'), [(2, 20, 0.01), (3, 8, 0.03)])
@pytest.mark.parametrize('density', [0.0, 0.5])
def test_variables_of_a_box_behind_a_map(count, steps, epsilon, density):
    x = places(count, steps)
    ica = NonlinearICA(
        count, clouds='given', neighbours=len(x) - 1, epsilon=epsilon, density=density, power=1.0
    )
    found = ica.fit_transform(bend(x), metrics(x))
    likenesses = alike(found, x)
    assert likenesses[:, -1].min() > 0.98
    assert likenesses[:, -2].max() < 0.1
    assert ica.separation_ > 0.9


def clouds_of(kind: str, x: np.ndarray, size: float) -> np.ndarray:
    """Return what is seen around (n, 2) variables: paths, ends, or a ball."""
    rng = np.random.default_rng(5)
    if kind == 'ball':
        angles, radii = rng.uniform(0.0, 2.0 * np.pi, (len(x), 300)), rng.random((len(x), 300))
        ring = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        return bend(x[:, None] + size * np.sqrt(radii)[..., None] * ring)
    moves = rng.normal(scale=np.sqrt(size / 5), size=(len(x), 300, 6, 2))
    moves[:, :, 0] = 0.0
    walks = x[:, None, None] + moves.cumsum(axis=2)
    return bend(walks if kind == 'paths' else walks[:, :, -1])


@pytest.mark.parametrize('kind', ['paths', 'ends', 'ball'])
def test_all_clouds_show_the_same_variables(kind):
    x, size = places(2, 20), 0.03 if kind == 'ball' else 1e-3
    ica = NonlinearICA(clouds=kind, size=size, neighbours=100, epsilon=0.01)
    clouds = clouds_of(kind, x, size)
    found = ica.fit(bend(x), clouds).embedding_
    assert alike(found, x)[:, 1].min() > 0.98
    # Lines of the Laplacian of the square show that the unit is right, to sampling and walls.
    lines = -2.0 * np.log(ica.eigenvalues_[:3]) / (0.01 * np.pi**2)
    np.testing.assert_allclose(lines, [1.0, 1.0, 2.0], rtol=0.1)
    np.testing.assert_allclose(ica.transform(bend(x)[:9]), found[:9], atol=1e-9)
    between = x[::9] + 0.01
    assert alike(ica.transform(bend(between)), between)[:, 1].min() > 0.97


def test_bad_input_is_refused():
    x = places(2, 12)
    seen, given = bend(x), metrics(x)
    spoilt = given.copy()
    spoilt[3, 0, 0] = np.nan
    for changes, clouds, words in (
        ({'clouds': 'discs'}, given, "'discs'; choose one of paths, ends, ball, given"),
        ({}, given[1:], r'shape \(143, 3, 3\) where X has \(144, 3\)'),
        ({}, given[:, :2, :2], 'the last one as long as the row'),
        ({'clouds': 'paths'}, given, 'give 3 axes'),
        ({}, spoilt, 'no array of finite real numbers'),
        ({'n_components': 0}, given, 'rank is 0, but must be positive'),
    ):
        with pytest.raises(InputError, match=words):
            NonlinearICA(**{'clouds': 'given', 'neighbours': 40, **changes}).fit(seen, clouds)
