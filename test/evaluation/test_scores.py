# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores against plain loops, and coverage against a known Gaussian."""

from dataclasses import astuple
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import ErrorSummary, Score, score, truth_ahead
from two_manifold_ros.recordings.recording import PositionStream

START_NS = 1_700_000_000_000_000_000
STEP_NS = 20_000_000
EAST = np.array([1.0, 0.0])


def scored(
    errors: np.ndarray,
    covariances: np.ndarray | None = None,
    published: np.ndarray | None = None,
    directions: np.ndarray | None = None,
) -> Score:
    """Score with unit ellipses, everything published and travel to the east unless given."""
    count = len(errors)
    return score(
        errors,
        np.tile(np.eye(2), (count, 1, 1)) if covariances is None else covariances,
        np.ones(count, dtype=bool) if published is None else published,
        np.tile(EAST, (count, 1)) if directions is None else directions,
    )


def test_against_numbers_worked_out_by_hand():
    errors = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -1.0], [np.nan, 2.0], [np.nan, np.nan]])
    found = scored(errors)
    summary = math.sqrt((25.0 + 0.0 + 1.0) / 3.0), 1.0, 1.0 + 0.9 * 4.0, 1.0 + 0.98 * 4.0
    assert astuple(found.all) == pytest.approx((*summary, 2.0 / 3.0, 2.0 / 3.0, 3))
    along_m, cross_m = math.sqrt(9.0 / 3.0), math.sqrt((16.0 + 1.0) / 3.0)
    assert (found.n, found.published_share) == (3, 1.0)
    assert (found.along_rmse_m, found.cross_rmse_m) == pytest.approx((along_m, cross_m))
    ahead = scored(np.array([[3.0, 4.0]]), directions=np.array([[0.6, 0.8]]))
    assert (ahead.along_rmse_m, ahead.cross_rmse_m) == pytest.approx((5.0, 0.0))
    # Where nothing is known there is no number.
    number = dict.fromkeys(('published_share', 'along_rmse_m', 'cross_rmse_m'))
    nothing = Score(*[None] * 6, n=0, all=ErrorSummary(*[None] * 6, n=0), **number)
    for count in (0, 3):
        assert scored(np.full((count, 2), np.nan)) == nothing


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.booleans()), min_size=1))
def test_withholding_never_changes_the_numbers_over_all(rows):
    errors = np.array([row[:2] for row in rows])
    published = np.array([row[2] for row in rows])
    open_about_all, withheld = scored(errors), scored(errors, published=published)
    for name in ('all', 'along_rmse_m', 'cross_rmse_m'):
        assert getattr(withheld, name) == getattr(open_about_all, name)
    assert (withheld.published_share, withheld.n) == (published.mean(), published.sum())


@pytest.mark.parametrize('scale', [0.5, 1.0, 2.0])
def test_ellipses_hold_their_share_of_a_gaussian(scale):
    """An ellipse drawn too small or too large shows; tilt and length of the axes do not matter."""
    covariance = np.array([[4.0, 1.5], [1.5, 0.7]])
    errors = np.random.default_rng(0).multivariate_normal(np.zeros(2), covariance, size=40_000)
    found = scored(errors, np.broadcast_to(scale * covariance, (40_000, 2, 2)))
    assert found.coverage68 == pytest.approx(1.0 - 0.32**scale, abs=0.01)
    assert found.coverage95 == pytest.approx(1.0 - 0.05**scale, abs=0.01)


@pytest.mark.parametrize(
    'ellipse', [np.full((2, 2), np.nan), np.ones((2, 2)), -np.eye(2), np.diag([1.0, np.inf])]
)
def test_an_ellipse_that_is_none_holds_nothing(ellipse):
    found = scored(np.zeros((2, 2)), np.stack([np.eye(2), ellipse]))
    assert (found.coverage68, found.coverage95) == (0.5, 0.5)
    found = scored(np.zeros((2, 2)), np.stack([ellipse, ellipse]))
    assert (found.coverage68, found.coverage95) == (None, None)
    assert found.rmse_m == 0.0


def on_a_circle(noise_m: float = 0.0, radius_m: float = 2.0) -> PositionStream:
    """Return a drive of 7 s at 1 rad/s, counter-clockwise from the east."""
    stamps = START_NS + np.arange(0, 7_000_000_000, STEP_NS)
    angles = (stamps - START_NS) * 1e-9
    places = radius_m * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places += noise_m * np.random.default_rng(0).normal(size=places.shape)
    return PositionStream('/pose', 'map', 'geometry_msgs/msg/PoseStamped', stamps, places)


def test_directions_are_those_of_travel_as_far_as_it_is_known():
    """On a bend the tangent, with the noise of a camera to some degrees; NaN where it stands."""
    stamps = START_NS + np.arange(0, 6_000_000_000, 30_000_000)
    angles = (stamps + 300_000_000 - START_NS) * 1e-9
    tangents = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    for noise_m, degrees in ((0.0, 0.1), (0.01, 4.0)):
        stream = on_a_circle(noise_m)
        places, found = truth_ahead(stream, stamps, (4, 0), 75_000_000)
        assert (found[:, 0] * tangents).sum(axis=1).min() > math.cos(math.radians(degrees))
        for each in (places, found):
            np.testing.assert_array_equal(each[10:, 1], each[:-10, 0])
    # At the ends of what is known, the way on its known side.
    chord = places[0, 1] - on_a_circle(0.01).positions[12]
    assert abs(found[0, 1] @ chord) > 0.9 * np.linalg.norm(chord)
    # In a hole, before it begins, and of a vehicle that never moves there is none.
    hole = stream.select(abs(stream.stamps - START_NS - 3_500_000_000) > 1_500_000_000)
    still = on_a_circle(radius_m=0.0)
    for each, at in ((hole, 3.5), (stream, -2.0), (still, 0.5), (None, 0.5)):
        _, found = truth_ahead(each, START_NS + np.array([round(at * 1e9)]), (0,), 100_000_000)
        assert np.isnan(found).all()
