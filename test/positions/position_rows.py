# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All rows of the matrix of position faults."""

from __future__ import annotations

from wrong_clocks import CLOCKS, FRAMES
from wrong_positions import PLACES

POSITION_FAULTS = (*PLACES, *CLOCKS, *FRAMES)
"""In the order of the page."""
