# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions read linearly from states."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.comparison.method import fit_linear_track

RNG = np.random.default_rng(1)
STATES = RNG.normal(size=(400, 4)) * [1.0, 1e-6, 1e5, 1.0] + [0.0, 1.0, 0.0, 3.0]
MAP = np.array([[1.0, 2.0], [1e6, 0.0], [1e-5, -1e-5], [0.5, 0.0]])
POSITIONS = STATES @ MAP + [10.0, -20.0]


def test_a_linear_map_is_found_whatever_the_units_of_the_states() -> None:
    track = fit_linear_track(STATES, POSITIONS)
    assert track is not None
    np.testing.assert_allclose(track.read(STATES), POSITIONS, atol=0.02)


def test_a_constant_coordinate_and_unknown_numbers_do_no_harm() -> None:
    states = np.column_stack([np.ones(400), STATES])
    states[5], positions = np.nan, POSITIONS.copy()
    positions[9] = np.nan
    track = fit_linear_track(states, positions)
    assert track is not None
    read = track.read(states)
    assert np.isnan(read[5]).all()
    rest = np.arange(400) != 5
    np.testing.assert_allclose(read[rest], POSITIONS[rest], atol=0.02)


def test_nothing_known_is_no_track() -> None:
    assert fit_linear_track(STATES, np.full_like(POSITIONS, np.nan)) is None
    assert fit_linear_track(np.full_like(STATES, np.nan), POSITIONS) is None
