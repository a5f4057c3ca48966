# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rate at which IMU messages come."""

import math

from two_manifold_ros.interface.input_checks import InputRate

SECOND = 1_000_000_000


def test_whole_intervals_are_counted() -> None:
    rate = InputRate()
    assert math.isnan(rate.look(3, 0.9, 9 * SECOND // 10))
    assert rate.look(4, 1.7, 17 * SECOND // 10) == 5.0


def test_a_look_after_silence_tells_nothing() -> None:
    rate = InputRate()
    rate.look(5, 1.0, SECOND)
    assert math.isnan(rate.look(0, 1.0, SECOND))
    assert math.isnan(rate.look(5, 10.0, 10 * SECOND))
    assert rate.look(5, 11.0, 11 * SECOND) == 5.0


def test_a_bag_that_is_played_slowly_is_not_slow() -> None:
    rate = InputRate()
    rate.look(5, 1.0, SECOND)
    assert rate.look(5, 2.0, SECOND + SECOND // 10) == 50.0


def test_stamps_that_jump_do_not_make_it_slow() -> None:
    rate = InputRate()
    rate.look(5, 1.0, SECOND)
    assert rate.look(5, 2.0, 1000 * SECOND) == 5.0
    assert rate.look(5, 3.0, SECOND) == 5.0
