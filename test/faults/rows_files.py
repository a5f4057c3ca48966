# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the fault matrix: files that are not whole."""

from __future__ import annotations

from fault import Fault

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
