# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is drawn in few points, and outlines of ellipses."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

pytest.importorskip('bokeh', reason='Bokeh is not installed')

from two_manifold_ros.filtering.estimate import half_axis
from two_manifold_ros.pages.drawing import envelope, evenly, outlines, stretches, worst_of_bins

SERIES = arrays(np.float64, st.integers(1, 300), elements=st.floats(-1e3, 1e3) | st.just(np.nan))


def test_an_outline_is_where_the_mahalanobis_distance_is_that_of_95_percent():
    covariances = np.array([[[4.0, 1.0], [1.0, 2.0]], [[0.01, 0.0], [0.0, 9.0]]])
    positions = np.array([[1.0, 2.0], [-3.0, 0.5]])
    rings = outlines(positions, covariances, 2000)
    for position, covariance, ring in zip(positions, covariances, rings, strict=True):
        away = ring - position
        squared = np.einsum('ni,ij,nj->n', away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(squared, -2.0 * np.log(0.05))
        assert np.linalg.norm(away, axis=1).max() == pytest.approx(half_axis(covariance), rel=1e-4)
        np.testing.assert_allclose(ring[0], ring[-1])


@given(SERIES, st.integers(2, 50))
def test_what_is_drawn_in_few_points_hides_no_peak(values, most):
    chosen = worst_of_bins(values, most)
    assert len(chosen) <= most
    assert np.array_equal(chosen, np.unique(chosen))
    if np.isfinite(values).any():
        assert np.nanmax(values[chosen]) == np.nanmax(values)
    rows = np.stack([values, -values], axis=1)
    seconds, curves = envelope(np.arange(len(values), dtype=float), rows, most)
    assert len(curves) == len(seconds) <= most
    assert (np.diff(seconds) >= 0).all()
    if np.isfinite(values).any():
        np.testing.assert_array_equal(np.nanmax(curves, axis=0), np.nanmax(rows, axis=0))
        np.testing.assert_array_equal(np.nanmin(curves, axis=0), np.nanmin(rows, axis=0))


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 50))
def test_stretches_are_the_runs_of_equal_codes_and_what_is_drawn_evenly_has_both_ends(codes, most):
    parts = stretches(codes)
    assert [code for first, last in parts for code in codes[first:last]] == codes
    assert all(len(set(codes[first:last])) == 1 for first, last in parts)
    for (_, last), (first, _) in pairwise(parts):
        assert last == first
        assert codes[last - 1] != codes[first]
    count, chosen = len(codes), evenly(len(codes), most)
    assert len(chosen) == min(count, most)
    assert np.array_equal(chosen, np.unique(chosen))
    if count and most > 1:
        assert chosen[[0, -1]].tolist() == [0, count - 1]
