# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lessons as symbols, and states that begin as pieces of the track."""

from __future__ import annotations

import numpy as np
import pytest
from small_lessons import circle, lesson_of, segment_of, wander, without_positions

from two_manifold_ros.comparison.hidden_markov import Learning
from two_manifold_ros.errors import InputError


def test_a_short_lesson_has_fewer_symbols() -> None:
    assert len(Learning(lesson_of(wander(0, 60))).codebook) <= 30
    assert len(Learning(lesson_of(wander(0, 3000))).codebook) > 350


def test_states_are_pieces_of_the_track() -> None:
    """Counted on laps of a circle, each state is left for at most its two neighbours."""
    learning = Learning(lesson_of(circle(0, 800), circle(1, 800)))
    tables = learning.tables(8, 0)
    assert len(tables.start) == 8
    onward = np.sort(tables.transition - np.diag(np.diag(tables.transition)), axis=1)
    assert (onward[:, -1] > 0.1).all()
    assert (onward[:, :-1] < 0.01).all()


def test_roads_that_cross_become_different_states() -> None:
    """On a figure of eight, the crossing is passed in two directions."""
    phase = 2 * np.pi * np.arange(1600) / 80
    positions = np.stack([np.sin(phase), np.sin(2 * phase) / 2], axis=1)
    rng = np.random.default_rng(0)
    segment = segment_of(rng.normal(size=(1600, 6)), positions)
    learning = Learning(lesson_of(segment))
    tables = learning.tables(24, 0)
    onward = tables.transition - np.diag(np.diag(tables.transition))
    assert (np.sort(onward, axis=1)[:, -2] < 0.02).all()


def test_ticks_without_a_position_have_no_label() -> None:
    known = Learning(lesson_of(circle(0, 400)))
    holes = circle(0, 400)
    holes.positions[100:300] = np.nan
    learning = Learning(lesson_of(holes, without_positions(circle(2, 100))))
    assert np.isnan(learning.targets).any()
    tables = learning.tables(8, 0)
    assert np.isfinite(tables.transition).all()
    assert np.diag(tables.transition).mean() == pytest.approx(
        np.diag(known.tables(8, 0).transition).mean(), abs=0.05
    )


@pytest.mark.parametrize('passes', [0, 3])
def test_the_likeliest_restart_is_taken(passes: int) -> None:
    pytest.importorskip('hmmlearn')
    learning = Learning(lesson_of(circle(0, 300)))
    found = [
        learning._learn(6, passes, seed).filter_all(learning.stretches)[1] for seed in range(3)
    ]
    assert len(set(found)) > 1
    assert learning.tables(6, passes).filter_all(learning.stretches)[1] == max(found)


def test_nothing_moves_where_nothing_is_known() -> None:
    with pytest.raises(InputError, match='no velocity is known'):
        Learning(lesson_of(without_positions(wander(0, 40))))


def test_a_vehicle_that_stands_is_one_place() -> None:
    rng = np.random.default_rng(0)
    learning = Learning(lesson_of(segment_of(rng.normal(size=(50, 6)), np.ones((50, 2)))))
    np.testing.assert_allclose(learning.tables(5, 0).transition, [[1.0]])
