# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the window holds of a vehicle that was moved is excused, for a window and no longer."""

from __future__ import annotations

import math

import pytest

from two_manifold_ros.filtering.aftermath import Aftermath, LATELY, LONGEST

WIDTH = 5


def excused(aftermath: Aftermath, familiarity: float, doubted: str) -> str:
    """Return x for each excused tick, where doubted has one."""
    said = []
    for each in doubted:
        aftermath.push(familiarity, doubted=each == 'x')
        said.append('x' if aftermath.lasts else '-')
    return ''.join(said)


def test_a_window_after_doubt_is_excused() -> None:
    assert excused(Aftermath(WIDTH), 1.0, '--xxx-------') == '--xxxxxxx---'


def test_what_was_unfamiliar_before_or_not_known_is_not() -> None:
    assert 'x' not in excused(Aftermath(WIDTH), 1.7, '--xxx-----')
    assert 'x' not in excused(Aftermath(WIDTH), math.nan, '--xxx-----')


def test_doubt_may_begin_a_little_later_than_what_is_unfamiliar() -> None:
    for unfamiliar in range(1, LATELY + 5):
        aftermath = Aftermath(WIDTH)
        aftermath.push(1.0, doubted=False)
        said = excused(aftermath, 9.0, '-' * (unfamiliar - 1) + 'x')
        assert said.endswith('x') == (unfamiliar < LATELY)


def test_new_doubt_in_the_aftermath_is_excused_again() -> None:
    aftermath = Aftermath(WIDTH)
    assert excused(aftermath, 1.0, 'x--') == 'xxx'
    assert excused(aftermath, 9.0, 'x' + '-' * 12) == 'xxxxx' + '-' * 8
    assert 'x' not in excused(aftermath, 9.0, 'x------')


def test_doubt_for_long_is_not_excused_for_ever() -> None:
    most = LONGEST * WIDTH
    said = excused(Aftermath(WIDTH), 1.0, 'x' * 3 * most)
    assert said.count('x') == most + WIDTH - 1
    assert said[: most + WIDTH - 1].count('-') == 0


@pytest.mark.parametrize('doubted', ['x', 'xx', 'xxxxxxx'])
def test_the_end_is_told_once(doubted: str) -> None:
    aftermath = Aftermath(WIDTH)
    ends = [aftermath.push(1.0, doubted=each == 'x') for each in doubted + '-' * 20]
    assert ends.index(True) == len(doubted) + WIDTH - 1
    assert ends.count(True) == 1


def test_cleared_it_is_over() -> None:
    aftermath = Aftermath(WIDTH)
    aftermath.push(1.0, doubted=True)
    aftermath.clear()
    assert not aftermath.lasts
    assert not any(aftermath.push(1.0, doubted=False) for _ in range(10))
