# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All rows of the fault matrix."""

from __future__ import annotations

from rows_driver import DRIVER
from rows_files import FILE_FAULTS
from rows_machine import MACHINE_FAULTS
from rows_stamps import STAMPS
from rows_values import VALUES
from rows_vehicle import VEHICLE

STREAM_FAULTS = (*STAMPS, *VALUES, *DRIVER, *VEHICLE)
"""What the messages of a driver can bring about."""

FAULTS = (*STREAM_FAULTS, *FILE_FAULTS, *MACHINE_FAULTS)
"""In the order of the page."""
