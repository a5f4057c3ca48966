# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When a stream is unlike what was learned."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.adapting.novelty import Novelty

WIDTH = 10


def make_novelty() -> Novelty:
    novelty = Novelty(WIDTH)
    for share in np.tile([0.92, 0.98], 100):
        novelty.push(share, accepted=True)
        novelty.learn(share)
    return novelty


def test_the_usual_is_familiar_and_calm() -> None:
    novelty = make_novelty()
    assert abs(novelty.mean - 0.95) < 0.01
    assert novelty.familiarity < 1.0
    assert not novelty.suspicious
    assert novelty.calm_for == 200


def test_windows_outside_of_what_was_learned_are_suspicious_by_and_by() -> None:
    novelty = make_novelty()
    seen = []
    for _ in range(WIDTH):
        novelty.push(0.8, accepted=True)
        seen.append(novelty.suspicious)
    assert seen == [False] * 3 + [True] * 7
    assert novelty.familiarity > 1.68
    assert novelty.calm_for == 0


def test_contradictions_are_suspicious_too() -> None:
    novelty = make_novelty()
    for _ in range(4):
        novelty.push(0.95, accepted=False)
    assert novelty.suspicious
    assert novelty.calm_for == 0


def test_what_became_usual_is_no_longer_suspicious() -> None:
    novelty = make_novelty()
    for _ in range(4 * WIDTH):
        novelty.push(0.8, accepted=True)
    assert 3.8 < novelty.excess < 4.2
    novelty.renew()
    for _ in range(WIDTH):
        novelty.push(0.8, accepted=True)
    assert not novelty.suspicious
    assert novelty.familiarity < 1.0
