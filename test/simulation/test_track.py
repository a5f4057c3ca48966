# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The track is closed, smooth, crosses itself over a bridge, and its frame is right."""

import numpy as np
import pytest

from two_manifold_ros.simulation.track import Track


@pytest.fixture(scope='module')
def track() -> Track:
    return Track()


@pytest.fixture(scope='module')
def places(track: Track) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.0, track.length, 200)


def banked_circle(radius: float, bank: float) -> Track:
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    columns = [radius * np.cos(angles), radius * np.sin(angles), 0.0 * angles]
    return Track(np.stack([*columns, np.full(60, bank)], axis=1))


def crossings(line: np.ndarray) -> np.ndarray:
    """Return index pairs of segments of a closed line that cross when seen from above."""

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        along, across = b - a, c - a
        return along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0]

    a, b = line[:-1, None], line[1:, None]
    c, d = line[None, :-1], line[None, 1:]
    apart = (side(a, b, c) * side(a, b, d) < 0.0) & (side(c, d, a) * side(c, d, b) < 0.0)
    return np.argwhere(np.triu(apart, 2))


def test_length_and_closure(track):
    assert track.length == pytest.approx(14.0, abs=0.3)
    for value in (track.position, track.frame, track.curvature, track.turning, track.bank):
        np.testing.assert_allclose(value(0.0), value(track.length), atol=1e-9)
        np.testing.assert_allclose(value(1.0), value(1.0 + 3 * track.length), atol=1e-9)


def test_curvature_is_continuous(track):
    s = np.linspace(0.0, track.length, 20_001)
    jumps = np.linalg.norm(np.diff(track.curvature(s), axis=0), axis=1)
    assert jumps.max() < 0.05
    assert np.linalg.norm(track.curvature(s), axis=1).max() < 6.0


def test_one_crossing_by_a_bridge_of_gentle_slopes(track):
    line = track.position(np.linspace(0.0, track.length, 401))
    shifted = np.vstack([line[100:-1], line[:101]])
    found = crossings(shifted)
    assert len(found) == 1
    below, above = sorted(shifted[found[0], 2])
    assert above - below > 0.1
    assert np.abs(track.frame(np.linspace(0.0, track.length, 2000))[:, 2, 0]).max() < 0.1


def test_frame_is_a_rotation_with_the_tangent_in_front(track, places):
    frame = track.frame(places)
    products = np.swapaxes(frame, 1, 2) @ frame
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), frame.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frame), 1.0)
    step = 1e-5
    chord = (track.position(places + step) - track.position(places - step)) / (2.0 * step)
    np.testing.assert_allclose(np.linalg.norm(chord, axis=1), 1.0, atol=1e-4)
    np.testing.assert_allclose(frame[:, :, 0], chord, atol=1e-4)


def test_bends_are_banked_inwards(track):
    s = np.linspace(0.0, track.length, 2000)
    turn = track.turning(s)[:, 2]
    sharp = np.abs(turn) > 2.0
    assert np.all(turn[sharp] * track.bank(s)[sharp] < 0.0)


def test_turning_is_the_derivative_of_the_frame(track, places):
    step = 1e-5
    before, after = track.frame(places - step), track.frame(places + step)
    spin = np.einsum('nij,nik->njk', track.frame(places), (after - before) / (2.0 * step))
    expected = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    np.testing.assert_allclose(track.turning(places), expected, atol=2e-3)
    assert np.ptp(expected, axis=0).min() > 0.1


def test_circle_has_its_analytic_bank_and_curvature():
    lifted = banked_circle(1.0, 0.2).frame(0.3)[2, 1:]
    np.testing.assert_allclose(lifted, [np.sin(0.2), np.cos(0.2)], atol=1e-6)
    circle = banked_circle(0.5, 0.0)
    assert circle.length == pytest.approx(np.pi, rel=1e-5)
    np.testing.assert_allclose(circle.turning(0.7), [0.0, 0.0, 2.0], atol=1e-2)
    np.testing.assert_allclose(np.linalg.norm(circle.curvature(0.7)), 2.0, rtol=1e-2)
