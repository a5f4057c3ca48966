# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A belief does not depend on the rate of its ticks."""

from bench_rates import figures_at
from gauntlet_drives import make_case
import numpy as np
import pytest


@pytest.mark.slow
def test_one_drive_is_followed_alike_at_any_rate():
    """With the same exponent a tick the first assertion fails: bench_rates.py prints both."""
    case = make_case('slot_car')
    usual, fast = (
        figures_at(rate_hz, case, [case.followed], 3.0, None) for rate_hz in (20.0, 50.0)
    )
    assert fast.rmse_m == pytest.approx(usual.rmse_m, rel=0.2)
    assert fast.median_m == pytest.approx(usual.median_m, rel=0.2)
    assert fast.published == pytest.approx(usual.published, abs=0.03)
    np.testing.assert_allclose(fast.inside, usual.inside, atol=0.1)
    assert usual.found == fast.found == 1.0
    assert fast.found_s == pytest.approx(usual.found_s, abs=0.4)
