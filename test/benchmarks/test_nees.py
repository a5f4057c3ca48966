# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Normalised squared errors, against the chi-square of two coordinates."""

from bench_nees import LEAST, MOST, nees_of
import numpy as np
import pytest


def test_errors_that_are_as_large_as_their_covariances_say():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(20_000, 2, 2))
    covariances = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(2)
    errors = np.array([rng.multivariate_normal((0.0, 0.0), each) for each in covariances])
    mean, median = nees_of(errors, covariances)
    assert mean == pytest.approx(2.0, abs=0.05)
    assert median == pytest.approx(2.0 * np.log(2.0), abs=0.05)
    # Ellipses of twice the variance are seen, and so are those of half.
    assert not LEAST <= nees_of(errors, 2.0 * covariances)[0] <= MOST
    assert not LEAST <= nees_of(errors, 0.5 * covariances)[0] <= MOST


def test_nothing_published_has_no_figure():
    assert np.isnan(nees_of(np.empty((0, 2)), np.empty((0, 2, 2)))).all()
