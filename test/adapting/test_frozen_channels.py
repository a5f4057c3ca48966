# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Channels that have stopped changing."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.adapting.frozen_channels import FrozenChannels, longest_stillness


def test_one_channel_is_enough_and_a_change_ends_it() -> None:
    frozen = FrozenChannels(np.array([0, 0]))
    stillness = [frozen.push(np.array([float(tick), 1.0])) for tick in range(8)]
    assert [value > 1.0 for value in stillness] == [False] * 6 + [True] * 2
    assert frozen.push(np.array([9.0, 1.1])) == 0.0


def test_a_channel_that_was_still_before_may_be_so_twice_as_long() -> None:
    frozen = FrozenChannels(np.array([10]))
    stillness = [frozen.push(np.array([1.0])) for _ in range(22)]
    assert stillness[20] == 1.0
    assert stillness[21] > 1.0


def test_the_longest_stillness_is_by_channel() -> None:
    observations = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [3.0, 2.0]])
    assert longest_stillness(observations).tolist() == [1, 2]
