# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, diagnostics, and the table of those that were heard."""

from __future__ import annotations

import math

from two_manifold_ros.interface.status import (
    diagnostics_message,
    Level,
    NUMBERS,
    status_message,
    StatusTable,
)


def test_the_layout_is_always_the_same_and_what_is_unknown_is_nan() -> None:
    message = status_message(3 * 10**9 + 7, {'used': 12, 'valid': True})
    (dimension,) = message['layout']['dim']
    names = dimension['label'].split(',')
    assert names == ['sec', 'nanosec', *NUMBERS]
    assert dimension['size'] == len(message['data'])
    told = dict(zip(names, message['data'], strict=True))
    known = {name: number for name, number in told.items() if not math.isnan(number)}
    assert known == {'sec': 3.0, 'nanosec': 7.0, 'used': 12.0, 'valid': 1.0}


def test_says_why_and_writes_numbers_as_words() -> None:
    values = {'imu_rate_hz': 99.98765432, 'evidence': float('nan'), 'received': 12, 'model': 'a'}
    why = 'filling the window: 12 of 60 ticks'
    message = diagnostics_message(
        1_500_000_000, 'filter_node', Level.WARN, why, values, 'imu_link'
    )
    (status,) = message['status']
    assert message['header']['stamp'] == {'sec': 1, 'nanosec': 500_000_000}
    assert (status['level'], status['name'], status['hardware_id']) == (
        1,
        'filter_node',
        'imu_link',
    )
    assert status['message'] == 'filling the window: 12 of 60 ticks'
    assert {entry['key']: entry['value'] for entry in status['values']} == {
        'imu_rate_hz': '99.9877',
        'evidence': 'unknown',
        'received': '12',
        'model': 'a',
    }


WELL = {
    'status': 'tracking',
    'cause': '',
    'input_rate_hz': '99.97',
    'estimate_rate_hz': '20.01',
}


def test_a_line_says_how_a_node_is_and_a_change_of_state_is_seen() -> None:
    table = StatusTable()
    assert table.update('b/filter_node', 0, 'tracking', WELL, 0.0)
    assert not table.update('b/filter_node', 0, 'tracking', WELL, 1.0)
    lost = {**WELL, 'status': 'lost', 'cause': 'astray', 'input_rate_hz': 'unknown'}
    assert table.update('b/filter_node', 2, 'lost: why', lost, 2.0)
    assert table.update('a/filter_node', 0, 'tracking', WELL, 2.0)
    assert table.lines(2.5) == [
        'a/filter_node  OK     100.0 Hz in, 20.0 Hz out  tracking',
        'b/filter_node  ERROR  - Hz in, 20.0 Hz out  lost: why',
    ]


def test_others_are_left_out_and_one_that_is_gone_is_told() -> None:
    table = StatusTable()
    assert not table.update('lidar', 0, 'fine', {'temperature': '30'}, 0.0)
    table.update('filter_node', 3, 'tracking', WELL, 0.0)
    assert table.lines(1.0) == ['filter_node  STALE  100.0 Hz in, 20.0 Hz out  tracking']
    assert table.lines(10.0) == ['filter_node  GONE   not heard for 10 s']
