# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How familiar windows are to a TPSR."""

import numpy as np
import pytest

from two_manifold_ros.filtering.span_familiarity import SHARPNESS, shown_share, SpanFamiliarity
from two_manifold_ros.windows.familiarity import UNFAMILIAR


def test_the_share_inside_a_span() -> None:
    directions = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    assert shown_share(directions, np.array([3.0, 0.0, 0.0])) == 1.0
    assert shown_share(directions, np.array([0.0, -0.8, 0.6])) == pytest.approx(0.0)
    assert shown_share(directions, np.array([2.0, 0.6 - 0.8, 0.8 + 0.6])) == pytest.approx(5 / 6)
    assert shown_share(directions, np.zeros(3)) == 0.0


def test_the_usual_share_is_one_and_less_is_more() -> None:
    familiarity = SpanFamiliarity(0, 4)
    assert [familiarity.push(0.9, 0.9, 0) for _ in range(6)] == pytest.approx([1.0] * 6)
    strange = [familiarity.push(0.6, 0.9, 0) for _ in range(5)]
    # The average over four windows lets the excess rise from 1 to 4.
    wanted = np.array([1.75, 2.5, 3.25, 4.0, 4.0]) ** SHARPNESS
    np.testing.assert_allclose(strange, wanted)
    familiarity.clear()
    assert familiarity.push(0.9, 0.9, 0) == pytest.approx(1.0)


def test_what_stands_still_for_longer_than_ever_is_refused() -> None:
    familiarity = SpanFamiliarity(most_still=3, width=5)
    assert familiarity.push(0.9, 0.9, 7) < UNFAMILIAR
    assert familiarity.push(0.9, 0.9, 9) > UNFAMILIAR


def test_nothing_outside_is_no_division_by_zero() -> None:
    familiarity = SpanFamiliarity(0, 1)
    assert familiarity.push(1.0 + 1e-15, 1.0, 0) == 0.0
    assert np.isfinite(familiarity.push(0.5, 1.0, 0))
