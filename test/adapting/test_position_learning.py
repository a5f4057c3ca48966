# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read-outs that learn from a reference, and say honestly how much they err."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.adapting.position_learning import ENOUGH, LEARN_EVERY, PositionLearning
from two_manifold_ros.adapting.recent_ticks import RecentTicks

PERIOD_S, STATES, NOISE, MEMORY = 0.1, 4, 0.05, 400.0
HORIZONS = (0, 7)


def state_of(tick: int) -> np.ndarray:
    """Return the phases of two circles."""
    phases = np.array([0.13, 0.05]) * tick
    return np.concatenate([np.cos(phases), np.sin(phases)])


class Drive:
    """Ticks whose position is linear in the state, 100 m off the origin, with noise."""

    def __init__(self) -> None:
        self.learning = PositionLearning(HORIZONS, STATES, PERIOD_S, MEMORY)
        self.ticks = RecentTicks(200, 1)
        self.rng = np.random.default_rng(5)
        self.matrix = np.eye(STATES + 1)
        self.tick = 0
        self.errors: list[np.ndarray] = []
        self.chances: list[float] = []

    def truth(self, tick: int) -> np.ndarray:
        return 100.0 + 3.0 * state_of(tick)[:2]

    def run(self, ticks: int, *, reference: bool = True, good: bool = True) -> None:
        for _ in range(ticks):
            state = self.matrix @ np.append(state_of(self.tick), 1.0)
            self.ticks.push(self.tick, np.zeros(1), good=good)
            position = self.truth(self.tick) + NOISE * self.rng.normal(size=2)
            if reference:
                self.ticks.place(self.tick, position)
            self.learning.learn(self.ticks, self.tick)
            self.learning.follow(self.tick, state[:-1])
            if self.learning.ready:
                self._score()
            self.tick += 1

    def _score(self) -> None:
        means, covariances = self.learning.read()
        error = means[1] - self.truth(self.tick + HORIZONS[1])
        error += NOISE * self.rng.normal(size=2)  # as the reference would say it
        self.errors.append(error)
        self.chances.append(float(error @ np.linalg.solve(covariances[1], error)))


def test_it_learns_and_its_covariances_are_honest() -> None:
    drive = Drive()
    drive.run(ENOUGH + HORIZONS[1] - 5)
    assert not drive.learning.ready
    drive.run(600)
    assert np.sqrt(np.mean(np.square(drive.errors[200:]))) < 1.2 * NOISE
    # Of a normal error in the plane the mean is 2.
    assert 1.6 < np.mean(drive.chances[200:]) < 2.5
    velocity = drive.learning.read()[0][-1]
    expected = (drive.truth(drive.tick) - drive.truth(drive.tick - 2)) / (2.0 * PERIOD_S)
    np.testing.assert_allclose(velocity, expected, atol=0.1)


def test_it_is_frozen_without_a_reference_and_where_ticks_are_no_good() -> None:
    drive = Drive()
    drive.run(10 * LEARN_EVERY)
    before = drive.learning.readout.coefficients.copy()
    drive.run(5 * LEARN_EVERY, reference=False)
    drive.run(5 * LEARN_EVERY, good=False)
    np.testing.assert_array_equal(drive.learning.readout.coefficients, before)
    drive.run(2 * LEARN_EVERY)
    assert np.abs(drive.learning.readout.coefficients - before).max() > 0.0


def test_the_read_out_moves_with_the_bases_without_a_jump() -> None:
    drive = Drive()
    drive.run(300)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(STATES, STATES)))[0]
    drive.matrix[:STATES, :STATES] = rotation
    before = drive.learning.readout.coefficients @ np.append(state_of(300), 1.0)
    drive.learning.move(drive.matrix)
    after = drive.learning.readout.coefficients @ (drive.matrix @ np.append(state_of(300), 1.0))
    np.testing.assert_allclose(after, before, atol=1e-9)
    drive.errors.clear()
    drive.run(100)
    assert np.sqrt(np.mean(np.square(drive.errors))) < 1.5 * NOISE


def test_strain_is_the_error_over_the_usual_one() -> None:
    drive = Drive()
    drive.run(300)
    usual = float(np.trace(drive.learning.errors[0]))
    told = drive.learning.read()[0][0]
    away = told + np.array([0.3, 0.4])
    assert drive.learning.strain(299, away) == pytest.approx(0.25 / usual)
    assert np.isnan(drive.learning.strain(10**6, away))
