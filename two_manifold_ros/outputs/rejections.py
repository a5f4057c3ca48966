# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Causes for which a message is not used: what each means and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OUT_OF_RANGE, ZERO_STAMP, DUPLICATE_STAMP = 'out_of_range', 'zero_stamp', 'duplicate_stamp'

REJECTIONS = {
    'malformed': 'the bytes are no message of this type: compare the definitions on both sides',
    'non_finite': 'a value is NaN or infinite: look at the driver',
    OUT_OF_RANGE: 'a value is far beyond all that is possible: look at driver and units',
    ZERO_STAMP: 'the stamp is zero: have the driver set it, or set use_receive_time',
    DUPLICATE_STAMP: 'the stamp is that of another message: look at the clock of the driver',
    'out_of_order': 'the stamp is older than others that came before: set reorder_s',
    'wild_stamp': 'a single stamp is far from all others: look at the clock of the driver',
}
"""Words by cause; the causes are names of counters."""


def rejections(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many messages were not used, by cause."""
    return {cause: counts[cause] for cause in REJECTIONS if counts.get(cause)}
