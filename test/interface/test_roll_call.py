# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One line about each node."""

from two_manifold_ros.interface.status import RollCall

WELL = {
    'status': 'tracking',
    'cause': '',
    'input_rate_hz': '99.97',
    'estimate_rate_hz': '20.01',
}


def test_a_line_says_how_a_node_is_and_a_change_of_state_is_seen() -> None:
    roll = RollCall()
    assert roll.hear('b/filter_node', 0, 'tracking', WELL, 0.0)
    assert not roll.hear('b/filter_node', 0, 'tracking', WELL, 1.0)
    lost = {**WELL, 'status': 'lost', 'cause': 'astray', 'input_rate_hz': 'unknown'}
    assert roll.hear('b/filter_node', 2, 'lost: why', lost, 2.0)
    assert roll.hear('a/filter_node', 0, 'tracking', WELL, 2.0)
    assert roll.lines(2.5) == [
        'a/filter_node  OK     100.0 Hz in, 20.0 Hz out  tracking',
        'b/filter_node  ERROR  - Hz in, 20.0 Hz out  lost: why',
    ]


def test_others_are_left_out_and_one_that_is_gone_is_told() -> None:
    roll = RollCall()
    assert not roll.hear('lidar', 0, 'fine', {'temperature': '30'}, 0.0)
    roll.hear('filter_node', 3, 'tracking', WELL, 0.0)
    assert roll.lines(1.0) == ['filter_node  STALE  100.0 Hz in, 20.0 Hz out  tracking']
    assert roll.lines(10.0) == ['filter_node  GONE   not heard for 10 s']
