# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Twins: steps without a position that another step with one can stand for."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.localisation.twins import find_twins

LAP = 40
TURNS = np.tile(np.arange(LAP) * 2.0 * np.pi / LAP, 3)
STATES = np.column_stack([np.cos(TURNS), np.sin(TURNS)]) + 0.01 * np.sin(TURNS * 7.0)[:, None]
PASSES = np.full((len(TURNS), 2), -1)
PASSES[:LAP, 0] = np.arange(LAP) + LAP
PASSES[LAP : 2 * LAP, 0] = np.arange(LAP)


def positions_without(unknown: slice) -> np.ndarray:
    positions = np.column_stack([np.cos(TURNS), np.sin(TURNS)])
    positions[unknown] = np.nan
    return positions


def drifted() -> np.ndarray:
    """Return states of laps that are not the same to the last digit."""
    return STATES + 0.002 * np.random.default_rng(0).normal(size=STATES.shape)


def test_a_lap_whose_positions_failed_has_twins_on_the_others() -> None:
    twins = find_twins(positions_without(slice(2 * LAP, 3 * LAP)), drifted(), PASSES)
    assert twins[2 * LAP :].mean() > 0.8
    assert not twins[: 2 * LAP].any()


def test_where_no_lap_has_a_position_there_is_no_twin() -> None:
    positions = positions_without(slice(0))
    for lap in range(3):
        positions[lap * LAP + 10 : lap * LAP + 20] = np.nan
    twins = find_twins(positions, drifted(), PASSES)
    assert not twins[12:18].any()
    assert not twins[np.isfinite(positions).all(axis=1)].any()


def test_without_a_hole_without_passes_or_without_states_nothing_is_left_out() -> None:
    whole, hole = positions_without(slice(0)), positions_without(slice(LAP, 2 * LAP))
    assert not find_twins(whole, drifted(), PASSES).any()
    assert not find_twins(hole, drifted(), np.full_like(PASSES, -1)).any()
    assert not find_twins(hole, np.full_like(STATES, np.nan), PASSES).any()
