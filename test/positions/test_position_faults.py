# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The matrix of position faults."""

from position_trial import CleanDrive, drive_clean, try_fault
import pytest
from wrong_clocks import POSITION_FAULTS


@pytest.fixture(scope='module')
def clean() -> CleanDrive:
    """Return a drive without a fault, and what comes of it."""
    return drive_clean()


@pytest.mark.parametrize('fault', POSITION_FAULTS, ids=lambda fault: fault.name)
def test_position_fault(fault, clean):
    assert try_fault(fault, clean) == []
