# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feature maps: the constant, words, actions with observations, and random Fourier features."""

import itertools

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.tpsr import features as module


@pytest.mark.parametrize(('symbols', 'length'), [(2, 3), (3, 2), (5, 1), (1, 4)])
def test_every_word_has_its_own_feature_in_order(symbols, length):
    words = np.array(list(itertools.product(range(symbols), repeat=length)), dtype=float)
    made = module.IndicatorFeatures(symbols, length)
    np.testing.assert_array_equal(made.transform(words), np.eye(len(words)))
    assert (made.inputs, made.size) == (length, len(words))
    with pytest.raises(InputError, match='the codes 0 to'):
        made.transform(np.full((1, length), float(symbols)))


BANDWIDTH, WIDE, INPUTS = 1.7, 2.5, 300
MAKERS = [module.fourier_features, module.structured_fourier_features]
both = pytest.mark.parametrize('make', MAKERS)


@both
def test_the_seed_decides(make):
    first, again, other = (make(50, 90, BANDWIDTH, seed) for seed in (4, 4, 5))
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, vars(again)[name])
        assert name == 'bandwidth' or np.mean(value == vars(other)[name]) < 0.7


@pytest.mark.parametrize(
    ('make', 'least', 'most'), [(MAKERS[0], 0.0, 1e-6), (MAKERS[1], 1e-10, 1e-7)]
)
def test_the_kernel_also_in_single_precision(make, least, most):
    # A point, others up to three bandwidths away, and some along single axes.
    reach = np.linspace(0.1, 3.0, 12)[:, None] * WIDE
    away = np.random.default_rng(0).normal(size=(12, INPUTS))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    along = np.eye(INPUTS)[:12]
    points = np.concatenate([np.zeros((1, INPUTS)), reach * away, reach * along])
    double, single = (
        make(INPUTS, 4_000, WIDE, 0, precision=name) for name in ('double', 'single')
    )
    assert single.phases.dtype == np.float32
    features = single.transform(points)
    assert features.dtype == np.float64
    exact = double.transform(points)
    assert least < np.abs(features - exact).max() < most
    errors = np.abs(exact @ exact.T - naive.gaussian(points, points, WIDE))
    assert errors.max() < 0.1
    assert errors.mean() < 0.02


@both
@pytest.mark.parametrize(
    ('precision', 'near', 'far'), [('double', 1e11, 1e14), ('single', 2e2, 2e5)]
)
def test_points_too_far_out(make, precision, near, far):
    made = make(3, 50, BANDWIDTH, seed=0, precision=precision)
    one = module.FourierFeatures(np.array([[1.0, 0.0]]), np.zeros(2))
    for sign in (1.0, -1.0):
        assert np.abs(made.transform(np.full((1, 3), sign * near))).max() <= np.sqrt(2.0 / 50.0)
        for size in (far, 1e300, 1.7e308, np.nan):
            with pytest.raises(InputError, match=r'too far out|not finite'):
                made.transform(np.full((1, 3), sign * size))
        # One angle is enough.
        with pytest.raises(InputError, match='too far out'):
            one.transform(np.array([[sign * 1e14]]))


def test_equations():
    inputs, size = 5, 12
    plain, structured = (make(inputs, size, WIDE, seed=3) for make in MAKERS)
    transform = naive.cosine_transform(inputs)
    blocks = [
        transform @ np.diag(third) @ transform @ np.diag(second) @ transform @ np.diag(first)
        for first, second, third in structured.signs
    ]
    frequencies = np.sqrt(inputs) / WIDE * np.concatenate(blocks)[:size]
    points = np.random.default_rng(1).normal(size=(4, inputs))
    for made, wanted in ((plain, plain.frequencies), (structured, frequencies.T)):
        expected = np.sqrt(2.0 / size) * np.cos(points @ wanted + made.phases)
        np.testing.assert_allclose(made.transform(points), expected, atol=1e-13)
        assert (made.inputs, made.size) == (inputs, size)


def test_windows_keep_their_coordinates_on_the_manifold_that_they_were_learned_from():
    rng = np.random.default_rng(3)
    phase = np.cumsum(rng.uniform(0.2, 0.3, 400))
    series = np.stack([np.cos(phase), np.sin(2 * phase)]) + 0.01 * rng.normal(size=(2, 400))
    anchors = WindowSet(series, np.arange(380), 20)
    found = LaplacianEigenmap(12, 15).fit(anchors)
    made = module.EmbeddedWindows(anchors, found.extension)
    # Channel by channel, as a learner hands them over.
    points = np.array([series[:, start : start + 20].ravel() for start in anchors.starts])
    np.testing.assert_allclose(made.transform(points), found.coordinates, atol=1e-7)
    assert (made.inputs, made.size) == (40, 12)
    # What resembles nothing is at the mean, whatever stands beside it.
    both = made.transform(np.stack([np.full(40, 1e3), points[7]]))
    np.testing.assert_array_equal(both[0], 0.0)
    np.testing.assert_allclose(both[1], found.coordinates[7], atol=1e-7)
    with pytest.raises(InputError, match='do not fit'):
        made.transform(points[:, 1:])
