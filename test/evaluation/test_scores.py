# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores against plain loops, and coverage against a known Gaussian."""

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.evaluation.scores import (
    ErrorSummary,
    Score,
    score,
    travel_directions,
    truth_ahead,
)
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
    assert found.n == found.all.n == 3
    assert found.rmse_m == pytest.approx(math.sqrt((25.0 + 0.0 + 1.0) / 3.0))
    assert found.median_m == pytest.approx(1.0)
    assert found.p95_m == pytest.approx(1.0 + 0.9 * 4.0)
    assert found.p99_m == pytest.approx(1.0 + 0.98 * 4.0)
    assert found.coverage68 == pytest.approx(2.0 / 3.0)
    assert found.coverage95 == pytest.approx(2.0 / 3.0)
    assert found.published_share == 1.0
    assert found.along_rmse_m == pytest.approx(math.sqrt(9.0 / 3.0))
    assert found.cross_rmse_m == pytest.approx(math.sqrt((16.0 + 1.0) / 3.0))
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
    assert withheld.all == open_about_all.all
    assert withheld.along_rmse_m == open_about_all.along_rmse_m
    assert withheld.cross_rmse_m == open_about_all.cross_rmse_m
    assert withheld.published_share == published.mean()
    assert withheld.n == published.sum()


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


def positions(places: np.ndarray) -> PositionStream:
    """Return a stream of (n, 2) places, one every step."""
    stamps = START_NS + STEP_NS * np.arange(len(places))
    return PositionStream('/pose', 'map', 'geometry_msgs/msg/PoseStamped', stamps, places)


def on_a_circle(seconds: float, noise_m: float = 0.0) -> PositionStream:
    """Return a drive of radius 2 m at 1 rad/s, counter-clockwise from the east."""
    angles = np.arange(round(seconds * 1e9 / STEP_NS)) * STEP_NS * 1e-9
    places = 2.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return positions(places + noise_m * np.random.default_rng(0).normal(size=places.shape))


def naive_direction(stream: PositionStream, stamp: int) -> np.ndarray | None:
    """Fit a straight line to the three positions on each side, as far as there are any."""

    def place(at: int) -> np.ndarray | None:
        if not stream.stamps[0] <= at <= stream.stamps[-1]:
            return None
        # As differences: stamps are too large for floats.
        since = stream.stamps - START_NS
        return np.array([np.interp(at - START_NS, since, axis) for axis in stream.positions.T])

    slope = np.zeros(2)
    for part in (1, 2, 3):
        ends = []
        for sign in (-1, 1):
            end = place(stamp + sign * (part * 250_000_000 // 3))
            ends.append(place(stamp) if end is None else end)
        if ends[0] is not None and ends[1] is not None:
            slope += part * (ends[1] - ends[0])
    length = np.hypot(*slope)
    return slope / length if length else None


def test_directions_against_plain_loops():
    stream = on_a_circle(7.0, 0.01)
    stamps = stream.stamps[0] + np.arange(0, 6_900_000_000, 70_000_000)
    found = travel_directions(stream, stamps)
    for stamp, direction in zip(stamps.tolist(), found, strict=True):
        np.testing.assert_allclose(direction, naive_direction(stream, stamp), atol=1e-9)


def test_a_standing_vehicle_keeps_the_last_direction():
    """East for 4 s, standing for 4 s with a trembling camera, north for 4 s."""
    places = np.zeros((600, 2))
    places[:, 0] = np.minimum(np.linspace(0.0, 24.0, 600), 8.0)
    places[400:, 1] = np.linspace(0.0, 8.0, 200)
    places[200:400] += 0.002 * np.random.default_rng(0).normal(size=(200, 2))
    stream = positions(places)
    stamps = START_NS + (np.array([1.0, 4.5, 6.0, 7.7, 9.0, 11.9]) * 1e9).astype(np.int64)
    found = travel_directions(stream, stamps)
    # At 4.5 s and later the last that moved is a slope that ends at the stop.
    np.testing.assert_allclose(found[:4], np.tile(EAST, (4, 1)), atol=0.05)
    np.testing.assert_allclose(found[4:], np.tile([0.0, 1.0], (2, 1)), atol=0.05)
    # Before it first moves it is the direction in which it will.
    later = positions(places[200:])
    assert travel_directions(later, later.stamps[:1])[0] @ [0.0, 1.0] > 0.99
    # Stamps asked for are judged each for itself, in any order.
    order = [3, 0, 5, 1, 4, 2]
    np.testing.assert_array_equal(travel_directions(stream, stamps[order]), found[order])
    # A vehicle that never moves has none.
    for still in (None, positions(np.empty((0, 2))), positions(np.ones((50, 2)))):
        _, found = truth_ahead(still, START_NS + np.arange(3), (0, 5), 100_000_000)
        assert found.shape == (3, 2, 2)
        assert np.isnan(found).all()


def test_the_direction_on_a_bend_is_its_tangent():
    """In the middle of what is known exactly, and with the noise of a camera to some degrees."""
    stamps = START_NS + np.arange(500_000_000, 6_000_000_000, 30_000_000)
    angles = (stamps - START_NS) * 1e-9
    tangents = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    exact = travel_directions(on_a_circle(7.0), stamps)
    np.testing.assert_allclose(exact, tangents, atol=1e-3)
    noisy = travel_directions(on_a_circle(7.0, 0.01), stamps)
    assert (noisy * tangents).sum(axis=1).min() > math.cos(math.radians(4.0))
    # In a hole the last direction holds.
    stream = on_a_circle(7.0)
    stream = stream.select(abs(stream.stamps - START_NS - 3_500_000_000) > 1_500_000_000)
    found = travel_directions(stream, np.array([START_NS + 3_500_000_000, stream.stamps[99]]))
    np.testing.assert_array_equal(*found)
