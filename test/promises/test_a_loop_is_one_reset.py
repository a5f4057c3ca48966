# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promise 3: a jump back of the stamps is exactly one reset.

A bag that is played again by `ros2 bag play --loop` is one. What comes after it is what came the
first time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Played


@pytest.mark.parametrize('node', ['one', 'two'])
def test_a_looped_bag_over_dds(played: Played, node: str) -> None:
    first, second = (each[node] for each in played.passes)
    for each in (first, second):
        assert each.after['resets'] == each.before['resets'] + 1
        assert each.after['gaps'] == each.before['gaps']
    assert second.heard == first.heard
