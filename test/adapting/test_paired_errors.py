# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two filters are compared at the same moments only, and where the truth is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.adapting.contest import ErrorPair, PairedErrors, SILENT

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

SLOT = 100_000_000
"""A tenth of a second."""

START = 1_700_000_000 * 10**9


def said(*x: float) -> Floats:
    """Return positions at two horizons on the x axis."""
    return np.array([[each, 0.0] for each in x])


@pytest.fixture
def errors() -> PairedErrors:
    return PairedErrors((0, 3 * SLOT), SLOT, 5 * SLOT)


def drive(errors: PairedErrors, slots: range, start: int = START) -> list[ErrorPair]:
    """Tell where the vehicle was: it drives one metre in a slot along the x axis."""
    found = []
    for slot in slots:
        found += errors.reach(start + slot * SLOT, float(slot), 0.0)
    return found


def predict(errors: PairedErrors, slot: int, first: Floats | None, second: Floats | None) -> None:
    errors.predict(0, START + slot * SLOT, first)
    errors.predict(1, START + slot * SLOT, second)


def test_each_horizon_when_its_truth_comes(errors: PairedErrors) -> None:
    predict(errors, 2, said(2.5, 5.0), said(2.0, 9.0))
    assert drive(errors, range(2)) == []
    assert drive(errors, range(2, 5)) == [ErrorPair(START + 2 * SLOT, 0, (0.5, 0.0))]
    assert drive(errors, range(5, 7)) == [ErrorPair(START + 5 * SLOT, 1, (0.0, 4.0))]


def test_filters_that_tick_at_other_instants_and_rates(errors: PairedErrors) -> None:
    """Each is compared with the truth at its own time; the faster one counts once in a slot."""
    for stamp, x in ((10_000_000, 1.1), (60_000_000, 99.0)):
        errors.predict(1, START + SLOT + stamp, said(x, x + 3.0))
    errors.predict(0, START + SLOT + 70_000_000, said(1.7, 4.7))
    found = drive(errors, range(10))
    assert [pair.horizon for pair in found] == [0, 1]
    for pair in found:
        assert pair.errors == pytest.approx((0.0, 0.0), abs=1e-12)


def test_truth_that_came_before_the_prediction(errors: PairedErrors) -> None:
    drive(errors, range(5))
    predict(errors, 3, said(3.0, 6.0), said(4.0, 6.0))
    assert drive(errors, range(5, 6)) == [ErrorPair(START + 3 * SLOT, 0, (0.0, 1.0))]


def test_what_is_known_at_once_comes_in_order_of_time(errors: PairedErrors) -> None:
    for slot in (0, 1, 4):
        predict(errors, slot, said(slot, slot + 3), said(slot, slot + 3))
    errors.reach(START, 0.0, 0.0)
    found = errors.reach(START + 5 * SLOT, 5.0, 0.0)
    assert [(pair.stamp_ns - START) // SLOT for pair in found] == [1, 3, 4, 4]


def test_silence_counts_only_beside_somebody_who_speaks(errors: PairedErrors) -> None:
    predict(errors, 0, None, said(0.0, 3.0))
    predict(errors, 1, None, None)
    predict(errors, 2, said(2.0, 5.0), said(math.nan, 5.0))
    errors.predict(0, START + 3 * SLOT, said(3.0, 6.0))
    found = drive(errors, range(20))
    assert sorted((pair.horizon, pair.errors) for pair in found) == [
        (0, (0.0, SILENT)),
        (0, (SILENT, 0.0)),
        (1, (0.0, SILENT)),
        (1, (SILENT, 0.0)),
    ]


def test_no_truth_across_a_gap(errors: PairedErrors) -> None:
    for slot in (1, 4, 12):
        predict(errors, slot, said(slot, slot + 3), said(slot, slot + 3))
    found = drive(errors, range(3)) + drive(errors, range(11, 20))
    assert [(pair.stamp_ns - START) // SLOT for pair in found] == [1, 12, 15]


def test_both_or_none(errors: PairedErrors) -> None:
    """The truth is known where the one ticks, but not a little later, where the other does."""
    errors.predict(0, START + SLOT, said(1.0, 4.0))
    errors.predict(1, START + SLOT + SLOT // 2, said(1.5, 4.5))
    assert drive(errors, range(2)) + drive(errors, range(11, 20)) == []


def test_out_of_order_and_repeated_truth_is_ignored(errors: PairedErrors) -> None:
    drive(errors, range(4))
    assert errors.reach(START + 3 * SLOT, 77.0, 0.0) == []
    assert errors.reach(START + 2 * SLOT, 77.0, 0.0) == []
    predict(errors, 3, said(3.0, 6.0), said(3.0, 6.0))
    assert drive(errors, range(4, 5))[0].errors == (0.0, 0.0)


@pytest.mark.parametrize('first', ['truth', 'prediction'])
def test_a_jump_back_in_time_starts_anew(first: str, errors: PairedErrors) -> None:
    drive(errors, range(105))
    predict(errors, 100, said(0.0, 0.0), said(0.0, 0.0))
    if first == 'truth':
        assert drive(errors, range(2)) == []
        predict(errors, 1, said(1.0, 4.0), said(1.0, 4.0))
        found = drive(errors, range(2, 120))
    else:
        predict(errors, 1, said(1.0, 4.0), said(1.0, 4.0))
        found = drive(errors, range(120))
    assert [pair.errors for pair in found] == [(0.0, 0.0), (0.0, 0.0)]


def test_memory_is_bounded_whoever_falls_silent(errors: PairedErrors) -> None:
    """No truth, then no second filter: what waits is a few hundred predictions."""
    for slot in range(2000):
        predict(errors, slot, said(slot, slot + 3), said(slot, slot + 3))
    assert sum(map(len, errors._waiting)) < 500
    for slot in range(2000, 4000):
        errors.predict(1, START + slot * SLOT, said(slot, slot + 3))
    assert len(errors._single[1]) <= 200
    predict(errors, 4000, said(4000, 4003), said(4000, 4003))
    assert not errors._single[1]
