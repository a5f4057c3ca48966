# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signs of pace: the pairs are gone through in parts."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.localisation import pace_signs as module
from two_manifold_ros.localisation.pace_signs import learn_pace_signs, PaceSigns

LAPS, PLACES = 8, 50


def learn() -> PaceSigns:
    rng = np.random.default_rng(0)
    speeds = np.repeat(np.exp(0.2 * rng.normal(size=LAPS)), PLACES)
    field = np.tile(rng.normal(size=(PLACES, 2)), (LAPS, 1))
    features = field * speeds[:, None] + 0.1 * rng.normal(size=field.shape)
    ticks = np.arange(len(speeds))
    passes = (ticks[:, None] + PLACES * np.arange(1, 4)) % len(speeds)
    signs = learn_pace_signs(features, passes, speeds)
    assert signs is not None
    return signs


@pytest.mark.parametrize('at_once', [1, 7])
def test_how_many_pairs_are_summed_at_once_does_not_matter(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = learn()
    monkeypatch.setattr(module, 'AT_ONCE', at_once)
    parts = learn()
    np.testing.assert_allclose(parts.slopes, whole.slopes, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.offsets, whole.offsets, rtol=1e-9, atol=1e-12)
    assert parts.spread == pytest.approx(whole.spread, rel=1e-9)
