# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A belief that is surprised doubts, looks everywhere, and comes to rest elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from circle_route import felt_at, make_route, RADIUS_M
import numpy as np

from two_manifold_ros.localisation import belief as module
from two_manifold_ros.localisation.belief import RouteBelief

if TYPE_CHECKING:
    import pytest

LAP = 100
USUAL = 0.8
"""Median surprise of a lap that is not on the map."""

ROUTE = make_route([100, 104, 97, 101], segments=2, surprise=USUAL)
BEFORE = 0.1 + np.arange(150) / LAP
AFTER = BEFORE[-1] + 0.45 + np.arange(60) / LAP


def errors_along(belief: RouteBelief, turns: np.ndarray) -> tuple[np.ndarray, list[bool]]:
    """Return how far off the mean position is after each tick, metres, and what was doubted."""
    angles = 2.0 * np.pi * turns
    errors, doubted = [], []
    for felt, angle in zip(felt_at(turns, seed=9), angles, strict=True):
        belief.update(felt)
        here = RADIUS_M * np.array([np.cos(angle), np.sin(angle)])
        errors.append(float(np.linalg.norm(RADIUS_M * belief.state[1:] - here)))
        doubted.append(belief.surprise.doubted)
    return np.array(errors), doubted


def test_an_ordinary_lap_is_not_doubted() -> None:
    errors, doubted = errors_along(RouteBelief(ROUTE), BEFORE)
    assert errors[40:].max() < 0.6
    assert not any(doubted[40:])


def test_put_down_elsewhere_it_doubts_soon_and_then_no_more() -> None:
    belief = RouteBelief(ROUTE)
    errors_along(belief, BEFORE)
    errors, doubted = errors_along(belief, AFTER)
    wrong = np.flatnonzero(errors > 1.0)
    assert any(doubted[:5])
    assert wrong[-1] < 40
    assert errors[-10:].max() < 0.6
    assert not doubted[-1]


def test_what_surprises_is_looked_for_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    least = []
    for eagerness in (0.0, module.EAGERNESS):
        monkeypatch.setattr(module, 'EAGERNESS', eagerness)
        belief = RouteBelief(ROUTE)
        errors_along(belief, BEFORE)
        for _ in range(3):
            belief.update(np.array([1e4, -1e4, 1e4]))
        least.append(float(np.quantile(belief.weights, 0.1)))
    assert least[1] > 10.0 * least[0]


def test_a_gap_or_a_new_start_ends_doubt() -> None:
    for end in (lambda each: each.skip(3), RouteBelief.start):
        belief = RouteBelief(ROUTE)
        errors_along(belief, BEFORE)
        for _ in range(5):
            belief.update(np.array([1e4, -1e4, 1e4]))
        assert belief.surprise.doubted
        end(belief)
        assert not belief.surprise.doubted
