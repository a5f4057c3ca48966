# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is made ahead is the same, never too much of it, and its faults show."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.experiments.experiment import reading_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_the_same_items_from_another_thread_and_no_more_than_asked_for() -> None:
    made: list[int] = []

    def items() -> Iterator[tuple[int, int]]:
        for number in range(20):
            made.append(number)
            yield number, threading.get_ident()

    for expected, (number, thread) in enumerate(reading_ahead(items(), 3)):
        assert number == expected
        assert thread != threading.get_ident()
        assert len(made) <= expected + 1 + 3
    assert made == list(range(20))
    assert list(reading_ahead(iter([]), 3)) == []


def test_a_fault_shows_where_the_item_would_have_been() -> None:
    def items() -> Iterator[int]:
        yield 1
        msg = 'a bad second one'
        raise ValueError(msg)

    seen = reading_ahead(items(), 3)
    assert next(seen) == 1
    with pytest.raises(ValueError, match='a bad second one'):
        next(seen)
