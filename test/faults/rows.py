# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All rows of the fault matrix, and those of files that are not whole."""

from __future__ import annotations

from fault import Fault
from rows_driver import DRIVER
from rows_machine import MACHINE_FAULTS
from rows_stamps import STAMPS
from rows_values import VALUES
from rows_vehicle import VEHICLE

REFUSED = ('ends with status 2', '')

BAG = Fault(
    name='a bag that is cut off or holds wrong bytes',
    seen='rosbag2#395, #1699, #2175, mcap#61',
    rule='one sentence: file, cause and cure; `--salvage` uses the rest and says what is lost',
    says=REFUSED,
    within_s=0.0,
    recovers=None,
)

MODEL = Fault(
    name='a model file that is cut off or holds wrong bytes',
    seen='',
    rule='one sentence: file, cause and cure',
    says=REFUSED,
    within_s=0.0,
    recovers=None,
)

FILE_FAULTS = (BAG, MODEL)

STREAM_FAULTS = (*STAMPS, *VALUES, *DRIVER, *VEHICLE)
"""What the messages of a driver can bring about."""

FAULTS = (*STREAM_FAULTS, *FILE_FAULTS, *MACHINE_FAULTS)
"""In the order of the page."""
