# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The scores of the experiment with the film."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.video import read


def test_what_states_hold_is_read_from_them():
    random = np.random.default_rng(0)
    angles = np.cumsum(random.uniform(0.0, 0.1, 2_000)) % (2 * np.pi)
    directions = np.where(np.arange(2_000) // 300 % 2, -1, 1)
    truth = np.column_stack([np.cos(angles), np.sin(angles), directions])
    states = truth @ random.normal(size=(3, 5))
    reading = read(np.column_stack([states, np.zeros(2_000)]), angles, directions)
    assert (reading.first, len(reading.angles)) == (1_400, 600)
    assert reading.r2 > 0.999
    assert reading.right == 1.0
    np.testing.assert_allclose(np.exp(1j * reading.angles), np.exp(1j * angles[1_400:]), atol=0.02)
    blind = read(random.normal(size=(2_000, 5)), angles, directions)
    assert abs(blind.r2) < 0.05
    assert 0.3 < blind.right < 0.7
