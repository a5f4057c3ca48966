# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Headings along drives are those of positions, and between them of the rate of turning."""

from dataclasses import replace

from grid_drives import BLOCK_M, Drive, driven, line_of, passes_of, Sensor
import numpy as np
import pytest

from two_manifold_ros.network.learning import Courses, courses_along, courses_of, filled, wrapped
from two_manifold_ros.route.merging import Places

NODES = [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (1, 2), (2, 2), (3, 2), (3, 1), (3, 0), (2, 0)]
DEGREE = np.pi / 180.0


def both_ways(sensor: Sensor | None = None, noise_m: float = 0.02) -> list[Drive]:
    lines = [line_of(NODES), line_of(NODES[::-1])]
    return [
        driven(line, seed=seed, sensor=sensor, noise_m=noise_m) for seed, line in enumerate(lines)
    ]


def courses_for(drives: list[Drive]) -> tuple[Places, Courses]:
    tracks, seen = [each.track for each in drives], [each.seen for each in drives]
    places = passes_of(seen, tracks).places
    courses = courses_along(places, tracks, seen)
    assert courses is not None
    return places, courses


def apart(places: Places, courses: Courses, drives: list[Drive]) -> np.ndarray:
    """Return by how far the headings of the visits differ from those driven, rad."""
    true = np.empty(len(places.visited))
    for number, each in enumerate(drives):
        mine = places.segments == number
        ticks = np.arange(len(each.headings))
        true[mine] = np.interp(places.times[mine], ticks, each.headings)
    return np.abs(wrapped(courses.headings - true))


@pytest.mark.parametrize('seed', range(3))
def test_headings_and_what_shows_turning_are_learned(seed):
    rng = np.random.default_rng(seed)
    sensor = Sensor(gain=rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 5.0), bias=rng.normal())
    drives = both_ways(sensor)
    places, courses = courses_for(drives)
    assert courses.known.all()
    errors = apart(places, courses, drives)
    assert np.median(errors) < 2.0 * DEGREE
    assert errors.max() < 10.0 * DEGREE
    # Only the channel that measures it counts, by the inverse of its gain; the bias is left out.
    assert courses.turning[1] == pytest.approx(1.0 / sensor.gain, rel=0.03)
    others = np.abs(courses.turning[[0, 2]]) * sensor.noise
    assert (others < 0.01).all()
    straight = courses.turning[1] * sensor.bias + courses.offset
    assert straight == pytest.approx(0.0, abs=0.005)


def test_places_have_the_mean_heading_of_their_visits():
    places, courses = courses_for(both_ways())
    along = courses_of(places, courses)
    for place in range(0, len(places), 17):
        headings = courses.headings[places.visited == place]
        mean = np.angle(np.exp(1j * headings).mean())
        assert along[place] == pytest.approx(mean, abs=1e-9)
    # One that no heading is known of has that of its positions.
    none = courses_of(places, replace(courses, known=np.zeros_like(courses.known)))
    assert np.allclose(none, np.arctan2(places.headings[:, 1], places.headings[:, 0]))


def test_too_short_a_drive_shows_no_headings():
    line = np.stack([np.linspace(0.0, BLOCK_M, 800), np.zeros(800)], axis=1)
    drives = [driven(line[:280])]
    tracks, seen = [each.track for each in drives], [each.seen for each in drives]
    places = passes_of(seen, tracks).places
    assert courses_along(places, tracks, seen) is None


def test_unknown_positions_are_on_straight_lines():
    track = np.array([[0.0, 0.0], [np.nan, np.nan], [2.0, 4.0], [np.nan, 1.0]])
    assert filled(track).tolist() == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [2.0, 4.0]]
