# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The track is closed, smooth, crosses itself over a bridge, and its frame is right."""

import numpy as np
import pytest

from two_manifold_ros.simulation.track import Track


@pytest.fixture(scope='module')
def track() -> Track:
    return Track()


def test_length_and_closure(track):
    assert track.length == pytest.approx(14.0, abs=0.3)
    for value in (track.position, track.frame, track.curvature, track.turning, track.bank):
        np.testing.assert_allclose(value(0.0), value(track.length), atol=1e-9)
        np.testing.assert_allclose(value(1.0), value(1.0 + 3 * track.length), atol=1e-9)


def test_frame_is_a_rotation_with_the_tangent_in_front(track):
    places = np.random.default_rng(0).uniform(0.0, track.length, 200)
    frame = track.frame(places)
    products = np.swapaxes(frame, 1, 2) @ frame
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), frame.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frame), 1.0)
    step = 1e-5
    chord = (track.position(places + step) - track.position(places - step)) / (2.0 * step)
    np.testing.assert_allclose(np.linalg.norm(chord, axis=1), 1.0, atol=1e-4)
    np.testing.assert_allclose(frame[:, :, 0], chord, atol=1e-4)


def test_circle_has_its_analytic_bank_and_curvature():
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    flat = np.zeros((60, 4))
    flat[:, :2] = 0.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lifted = Track(flat + np.array([0.0, 0.0, 0.0, 0.2])).frame(0.3)[2, 1:]
    np.testing.assert_allclose(lifted, [np.sin(0.2), np.cos(0.2)], atol=1e-6)
    circle = Track(flat)
    assert circle.length == pytest.approx(np.pi, rel=1e-5)
    np.testing.assert_allclose(circle.turning(0.7), [0.0, 0.0, 2.0], atol=1e-2)
    np.testing.assert_allclose(np.linalg.norm(circle.curvature(0.7)), 2.0, rtol=1e-2)
