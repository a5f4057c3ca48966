# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A belief does not depend on the rate of its ticks."""

from gauntlet_drives import make_case
from gauntlet_scores import follow, Following, moves
import numpy as np
import pytest

from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

WINDOW_S = 3


@pytest.mark.slow
def test_one_drive_is_followed_alike_at_any_rate() -> None:
    case = make_case('slot_car')
    found: list[tuple[Following, float]] = []
    for rate_hz in (20, 50):
        settings = TrainingSettings(
            rate_hz=rate_hz,
            window=WINDOW_S * rate_hz,
            horizons=(0, rate_hz, 2 * rate_hz),
        )
        model = train_model(case.training, settings)
        moved = moves(model, case)
        assert moved is not None
        assert moved['found'] == 1.0
        found.append((follow(model, case.followed), WINDOW_S * moved['found_median_windows']))
    (usual, usual_s), (fast, fast_s) = found
    assert fast_s == pytest.approx(usual_s, abs=0.4)
    errors = [np.sort(each.errors()[each.known()]) for each in (usual, fast)]
    for size in (np.median, lambda each: np.sqrt(np.square(each).mean())):
        assert size(errors[1]) == pytest.approx(size(errors[0]), rel=0.2)
    shares = [each.published[each.known()].mean() for each in (usual, fast)]
    assert shares[1] == pytest.approx(shares[0], abs=0.03)
    for horizon, level in np.ndindex(3, 2):
        held = [
            each.inside(horizon, level)[each.known(horizon) & each.published].mean()
            for each in (usual, fast)
        ]
        assert held[1] == pytest.approx(held[0], abs=0.1)
