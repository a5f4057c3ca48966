# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the ROS clock goes as a clock should."""

import pytest

from two_manifold_ros.interface.input_checks import RosClock

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ('simulated', 'times', 'trouble', 'stepped_s'),
    [
        (False, (100, 101), '', 0.0),
        (False, (100, 131), '', 30.0),
        (False, (100, 71), '', -30.0),
        (True, (0, 0), 'no_clock', 0.0),
        (True, (0, 100), '', 0.0),
        (True, (100, 100), 'clock_stands', 0.0),
        (True, (100, 110), '', 0.0),
        (True, (100, 40), '', -60.0),
    ],
)
def test_trouble_and_steps(
    *, simulated: bool, times: tuple[int, int], trouble: str, stepped_s: float
) -> None:
    clock = RosClock()
    for second, shown in enumerate(times):
        clock.look(shown * SECOND, float(second), simulated=simulated)
    assert (clock.trouble, clock.stepped_s) == (trouble, stepped_s)


def test_a_step_is_told_once() -> None:
    clock = RosClock()
    for second, shown in enumerate((100, 131, 132)):
        clock.look(shown * SECOND, float(second), simulated=False)
    assert clock.stepped_s == 0.0
