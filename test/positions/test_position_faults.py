# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The matrix of position faults."""

import math

from position_fault import PositionFault
from position_trial import CleanDrive, drive_clean, try_fault
import pytest
from wrong_clocks import POSITION_FAULTS, unstamped

ALIKE = (
    'a receiver that wanders by 0.3 m within 20 s',
    'all clocks set a day ahead after a quarter (NTP)',
    'all clocks set from 1970 to now after a quarter (NTP)',
    'all clocks set twelve hours back after a quarter (NTP)',
    'all positions stamped 0.3 s early',
    'a shuttle: there and back in reverse, on a straight line, with noise of 1 cm',
    'a shuttle: there and back in reverse, on a bend',
    'localisation moved for good by 100 km',
    'positions at 5 Hz',
)
"""Faults that train for as long as a fault beside them, and are noticed by the same means."""


@pytest.fixture(scope='module')
def clean() -> CleanDrive:
    """Return a drive without a fault, and what comes of it."""
    return drive_clean()


@pytest.mark.parametrize(
    'fault',
    [
        pytest.param(each, marks=pytest.mark.slow if each.name in ALIKE else ())
        for each in POSITION_FAULTS
    ],
    ids=lambda fault: fault.name,
)
def test_position_fault(fault, clean):
    assert try_fault(fault, clean) == []


@pytest.mark.parametrize(
    ('says', 'complaints'),
    [
        (('position_zero',), []),
        ((), ['inspect warns of position_zero']),
        (('position_zero', 'no_laps'), ['inspect does not give no_laps']),
    ],
)
def test_a_row_names_what_inspect_warns_of(says, complaints, clean):
    fault = PositionFault(
        name='one position stamped 0',
        rule='',
        change=unstamped(slice(500, 501)),
        says=says,
        wrong=math.inf,
        trained=None,
        evaluated=None,
        updater=None,
    )
    assert try_fault(fault, clean) == complaints
