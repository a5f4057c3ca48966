# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps between the ticks: straight lines that meet the ticks."""

import numpy as np
import pytest

from two_manifold_ros.localisation.pace import FINENESS
from two_manifold_ros.localisation.refining import refined

RNG = np.random.default_rng(0)


@pytest.mark.parametrize('ticks', [1, 2, 9])
def test_against_linear_interpolation(ticks: int) -> None:
    rows = RNG.normal(size=(ticks, 3))
    steps = np.arange(1 + (ticks - 1) * FINENESS) / FINENESS
    expected = [np.interp(steps, np.arange(ticks), column) for column in rows.T]
    np.testing.assert_allclose(refined(rows), np.transpose(expected), rtol=1e-12, atol=1e-14)


def test_the_ticks_themselves_keep_their_bits() -> None:
    rows = RNG.normal(size=(50, 2))
    np.testing.assert_array_equal(refined(rows)[::FINENESS], rows)


@pytest.mark.filterwarnings('error')
def test_unknown_beside_an_unknown_tick_only() -> None:
    rows = np.arange(5.0)[:, None]
    rows[2] = np.nan
    unknown = np.flatnonzero(np.isnan(refined(rows)[:, 0]))
    np.testing.assert_array_equal(unknown, np.arange(FINENESS + 1, 3 * FINENESS))
