# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One warning per cause."""

import pytest

from two_manifold_ros.nodes.notices import Notices, REPEAT_S


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def notices(said: list[str]) -> Notices:
    return Notices(lambda line: said.append(f'W {line}'), lambda line: said.append(f'I {line}'))


def test_a_cause_is_warned_of_once_and_its_end_told(notices: Notices, said: list[str]) -> None:
    for second in range(5):
        notices.update({'gap': f'gap {second}'}, second)
    notices.update({}, 6.0)
    notices.update({}, 7.0)
    assert said == ['W gap 0', 'I Over after 6.0 s: gap 0']


def test_a_cause_that_lasts_is_repeated_seldom(notices: Notices, said: list[str]) -> None:
    for second in range(int(2.5 * REPEAT_S)):
        notices.update({'gap': 'gap'}, second)
    assert said == ['W gap'] * 3
    notices.update({}, 80.0)
    assert said[-1] == 'I Over after 80.0 s: gap'


def test_a_cause_that_flickers_is_throttled(notices: Notices, said: list[str]) -> None:
    for second in range(int(REPEAT_S)):
        notices.update({'gap': 'gap'} if second % 2 else {}, second)
    assert said == ['W gap', 'I Over after 1.0 s: gap']


def test_causes_are_independent(notices: Notices, said: list[str]) -> None:
    notices.update({'a': 'a', 'b': 'b'}, 0.0)
    notices.update({'a': 'a'}, 1.0)
    assert said == ['W a', 'W b', 'I Over after 1.0 s: b']
