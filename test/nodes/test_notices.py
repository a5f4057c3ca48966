# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One warning per cause."""

import pytest

from two_manifold_ros.interface.log import Notices, REPEAT_S


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


def test_a_state_that_another_one_replaces_is_not_told_to_be_over(
    notices: Notices, said: list[str]
) -> None:
    for second, state in enumerate(('unsure', 'lost', 'unsure', 'lost')):
        notices.update({state: state}, second, state)
    # What came back too soon to be warned of again is told once, lest the log end with another.
    assert said == ['W unsure', 'W lost', 'I After 1.0 s instead: unsure']
    said.clear()
    notices.update({'lost': 'lost'}, 40.0, 'lost')
    assert notices.update({}, 41.0) == {'lost'}
    assert said == ['W lost', 'I Over after 38.0 s: lost']


def test_what_happens_beside_a_state_is_over_while_it_changes(
    notices: Notices, said: list[str]
) -> None:
    notices.update({'unsure': 'unsure', 'gap': 'gap'}, 0.0, 'unsure')
    notices.update({'lost': 'lost'}, 1.0, 'lost')
    assert said == ['W unsure', 'W gap', 'W lost', 'I Over after 1.0 s: gap']


def test_what_was_logged_already_is_not_warned_of_but_repeated_and_over(
    notices: Notices, said: list[str]
) -> None:
    notices.note('unconfigured', 'no model', 0.0)
    for second in (1.0, REPEAT_S):
        notices.update({'unconfigured': 'no model'}, second, 'unconfigured')
    notices.update({}, 33.0)
    assert said == ['W no model', 'I Over after 33.0 s: no model']
