# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference positions are interpolated, but not across gaps and not beyond the newest."""

from __future__ import annotations

import pytest

from two_manifold_ros.adapting.prequential import KEPT_NS, Truth

MS = 10**6


@pytest.fixture
def truth() -> Truth:
    truth = Truth(200 * MS)
    for stamp_ms, x in ((1000, 1.0), (1100, 2.0), (1400, 5.0)):
        truth.add(stamp_ms * MS, x, -x)
    return truth


@pytest.mark.parametrize(
    ('stamp_ms', 'place'),
    [
        (999, None),
        (1000, (1.0, -1.0)),
        (1025, (1.25, -1.25)),
        (1100, (2.0, -2.0)),
        (1250, None),
        (1400, (5.0, -5.0)),
        (1401, None),
    ],
)
def test_between_two_positions(
    stamp_ms: int, place: tuple[float, float] | None, truth: Truth
) -> None:
    assert truth.at(stamp_ms * MS) == place


def test_nothing_is_known_at_first_and_after_clearing(truth: Truth) -> None:
    assert truth.newest_ns == 1400 * MS
    truth.clear()
    assert truth.newest_ns is None
    assert truth.at(1000 * MS) is None


def test_the_old_is_forgotten_but_for_what_reaches_into_the_time_kept() -> None:
    truth = Truth(200 * MS)
    for step in range(100):
        truth.add(step * 100 * MS, float(step), 0.0)
    oldest = 9900 * MS - KEPT_NS
    assert truth.at(oldest + MS) == pytest.approx((79.01, 0.0))
    assert truth.at(oldest - 200 * MS) is None


def test_memory_is_bounded_at_any_rate() -> None:
    truth = Truth(200 * MS)
    for step in range(10_000):
        truth.add(step, 0.0, 0.0)
    assert truth.at(1) is None
    assert truth.at(9_000) == (0.0, 0.0)
