# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promises 2, 3, 4 and 7, of a bag that is played twice to two nodes, and replayed offline.

Validity is published, a jump back of the stamps is one reset, the same bag and model give the
same bytes, and the time of a callback is published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.status import CODES

if TYPE_CHECKING:
    from conftest import Played


@pytest.mark.parametrize('node', ['one', 'two'])
def test_validity_is_published_over_dds(played: Played, node: str) -> None:
    first = played.first_words[node]
    assert (first['valid'], first['status']) == (0.0, CODES[Status.WAITING])
    valid = len(played.replayed['position'])
    for each in played.passes:
        after = each[node].after
        assert (after['valid'], after['status']) == (1.0, CODES[Status.TRACKING])
        assert len(each[node].heard['position']) == valid
        assert after['published'] - each[node].before['published'] == valid


@pytest.mark.parametrize('node', ['one', 'two'])
def test_a_looped_bag_over_dds(played: Played, node: str) -> None:
    first, second = (each[node] for each in played.passes)
    for each in (first, second):
        assert each.after['resets'] == each.before['resets'] + 1
        assert each.after['gaps'] == each.before['gaps']
    assert second.heard == first.heard


def test_two_nodes_say_the_same(played: Played) -> None:
    for each in played.passes:
        assert each['one'].heard == each['two'].heard


def test_at_ten_times_real_time_a_node_says_what_replay_writes(played: Played) -> None:
    heard = played.passes[0]['one'].heard
    assert len(heard['position']) > 50
    for topic, messages in played.replayed.items():
        assert heard[topic] == messages, topic


@pytest.mark.parametrize('node', ['one', 'two'])
def test_the_time_of_a_callback_is_published(played: Played, node: str) -> None:
    numbers = played.passes[1][node].after
    times = [numbers[f'processing_{name}_us'] for name in ('p50', 'p99', 'max')]
    assert 0.0 < times[0] <= times[1] <= times[2]
