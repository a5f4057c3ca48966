# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The matrix of position faults."""

import math

from position_fault import PositionFault
from position_trial import CleanDrive, drive_clean, try_fault
import pytest
from wrong_clocks import POSITION_FAULTS, unstamped


@pytest.fixture(scope='module')
def clean() -> CleanDrive:
    """Return a drive without a fault, and what comes of it."""
    return drive_clean()


@pytest.mark.parametrize('fault', POSITION_FAULTS, ids=lambda fault: fault.name)
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
