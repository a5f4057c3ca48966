# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, diagnostics and log of a node, and the table of the nodes that were heard."""

import pytest

from two_manifold_ros.interface.status import (
    capitalised,
    ThrottledLog,
)

LASTING = [(second, ['gap']) for second in range(75)]
FLICKERING = [(second, ['gap'] * (second % 2)) for second in range(30)]
LOGS: dict[str, tuple[list[tuple[float, list[str]]], list[str]]] = {
    'warned of once, and its end reported': (
        [(0, ['gap']), (4, ['gap']), (6, []), (7, [])], ['W gap', 'I Over after 6.0 s: gap'],
    ),
    'repeated rarely': ([*LASTING, (80, [])], ['W gap'] * 3 + ['I Over after 80.0 s: gap']),
    'throttled where it flickers': (FLICKERING, ['W gap', 'I Over after 1.0 s: gap'] * 3),
    'independent of others': (
        [(0, ['a', 'b']), (1, ['a'])], ['W a', 'W b', 'I Over after 1.0 s: b'],
    ),
}  # fmt: skip
"""Seconds, and causes that are present; what is logged."""


@pytest.mark.parametrize('case', LOGS)
def test_a_cause_is(case):
    (updates, wanted), said = LOGS[case], []
    log = ThrottledLog(
        lambda line: said.append(f'W {line}'), lambda line: said.append(f'I {line}')
    )
    for second, causes in updates:
        # The end is said with the newest numbers.
        log.update({cause: f'{cause} at {second}' for cause in causes}, second)
    assert [line.partition(' at ')[0] for line in said] == wanted


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
