# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promise 4: the same bag and the same model give the same bytes.

In two processes, in real time or ten times faster, live or offline. That a constant shift of all
stamps changes nothing but the stamps is shown where the filter is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Played


def test_two_nodes_say_the_same(played: Played) -> None:
    for each in played.passes:
        assert each['one'].heard == each['two'].heard


def test_at_ten_times_real_time_a_node_says_what_replay_writes(played: Played) -> None:
    heard = played.passes[0]['one'].heard
    assert len(heard['position']) > 50
    for topic, messages in played.replayed.items():
        assert heard[topic] == messages, topic
