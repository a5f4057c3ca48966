# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, diagnostics and log of a node, and the table of the nodes that were heard."""

import math

import pytest

from two_manifold_ros.interface.assessment import Level
from two_manifold_ros.interface.status import (
    capitalised,
    diagnostics_message,
    NUMBERS,
    status_message,
    ThrottledLog,
)


def test_the_layout_is_always_the_same_and_what_is_unknown_is_nan():
    message = status_message(3 * 10**9 + 7, {'used': 12, 'valid': True})
    (dimension,) = message['layout']['dim']
    names = dimension['label'].split(',')
    assert names == ['sec', 'nanosec', *NUMBERS]
    assert dimension['size'] == len(message['data'])
    published = dict(zip(names, message['data'], strict=True))
    known = {name: number for name, number in published.items() if not math.isnan(number)}
    assert known == {'sec': 3.0, 'nanosec': 7.0, 'used': 12.0, 'valid': 1.0}


def test_says_why_and_writes_numbers_as_words():
    values = {'imu_rate_hz': 99.98765432, 'evidence': math.nan, 'received': 12, 'model': 'a'}
    why = 'filling the window: 12 of 60 ticks'
    message = diagnostics_message(
        1_500_000_000, 'filter_node', Level.WARN, why, values, 'imu_link'
    )
    (status,) = message['status']
    assert message['header']['stamp'] == {'sec': 1, 'nanosec': 500_000_000}
    shown = {'imu_rate_hz': '99.9877', 'evidence': 'unknown', 'received': '12', 'model': 'a'}
    assert {entry['key']: entry['value'] for entry in status.pop('values')} == shown
    assert status == {
        'level': 1, 'name': 'filter_node', 'hardware_id': 'imu_link', 'message': why,
    }  # fmt: skip


REPEAT_S = 30.0
LASTING = [(second, ['gap'], '') for second in range(int(2.5 * REPEAT_S))]
FLICKERING = [(second, ['gap'] * (second % 2), '') for second in range(int(REPEAT_S))]
CHANGING = [(each, [state], state) for each, state in enumerate(('unsure', 'lost') * 4)]
LOGS: dict[str, tuple[list[tuple[float, list[str], str]], list[str]]] = {
    'warned of once, and its end reported': (
        [(0, ['gap'], ''), (4, ['gap'], ''), (6, [], ''), (7, [], '')],
        ['W gap', 'I Over after 6.0 s: gap'],
    ),
    'repeated rarely': (
        [*LASTING, (80, [], '')], ['W gap'] * 3 + ['I Over after 80.0 s: gap'],
    ),
    'throttled where it flickers': (
        FLICKERING, ['W gap', 'I Over after 1.0 s: gap'] * 3,
    ),
    'independent of others': (
        [(0, ['a', 'b'], ''), (1, ['a'], '')],
        ['W a', 'W b', 'I Over after 1.0 s: b'],
    ),
    # What came back too soon to be warned of again is logged once, lest the log end with another.
    'a state that another one replaces, which is not over': (
        [*CHANGING, (40, ['lost'], 'lost'), (41, [], '')],
        [
            *['W unsure', 'W lost'] * 3, 'I After 1.0 s of lost, now: unsure', 'W lost',
            'I Over after 34.0 s: lost',
        ],
    ),
    'beside a state that changes': (
        [(0, ['unsure', 'gap'], 'unsure'), (1, ['lost'], 'lost')],
        ['W unsure', 'W gap', 'W lost', 'I Over after 1.0 s: gap'],
    ),
}  # fmt: skip
"""Seconds, causes that are present and the cause of the state; what is logged."""


Log = tuple[ThrottledLog, list[str]]


@pytest.fixture
def log() -> Log:
    """Return a log, and the list of what it says."""
    said: list[str] = []
    return ThrottledLog(
        lambda line: said.append(f'W {line}'), lambda line: said.append(f'I {line}')
    ), said


@pytest.mark.parametrize('case', LOGS)
def test_a_cause_is(case, log):
    updates, wanted = LOGS[case]
    for second, causes, state in updates:
        log[0].update({cause: cause for cause in causes}, second, state)
    assert log[1] == wanted


def test_what_is_over_is_returned_and_said_with_its_newest_numbers(log):
    throttled, said = log
    for second in range(5):
        throttled.update({'gap': f'gap {second}'}, second)
    assert throttled.update({}, 6.0) == {'gap'}
    assert said == ['W gap 0', 'I Over after 6.0 s: gap 4']


def test_what_was_logged_already_is_not_warned_of_but_repeated_and_over(log):
    throttled, said = log
    throttled.note('unconfigured', 'no model', 0.0)
    for second in (1.0, REPEAT_S):
        throttled.update({'unconfigured': 'no model'}, second, 'unconfigured')
    throttled.update({}, 33.0)
    assert said == ['W no model', 'I Over after 33.0 s: no model']


SENTENCES = [
    ('learning takes too long', 'Learning takes too long'),
    ('learning: 12 samples', 'Learning: 12 samples'),
    ('stopped.', 'Stopped.'),
    ('no IMU message on /imu yet: 0.5 s', 'No IMU message on /imu yet: 0.5 s'),
    *((same, same) for same in (
        'IMU is gone', '', 'bad.npz: the model is refused', 'my bad.npz: the model is refused',
        'runs/bad: there is no such model file', '.hidden: there is no such model file',
        'models\\bad: there is no such model file', 'filter_node runs models of an IMU',
    )),
]  # fmt: skip


@pytest.mark.parametrize(('sentence', 'wanted'), SENTENCES)
def test_a_sentence_starts_with_a_capital_but_a_name_stays_as_it_is(sentence, wanted):
    assert capitalised(sentence) == wanted
