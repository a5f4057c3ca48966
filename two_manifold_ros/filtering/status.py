# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The states of a filter, and what each of them means."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """
    What a filter is doing.

    Only ``TRACKING`` and ``UNSURE`` give estimates that may be used. A filter by itself is
    never ``WAITING`` once it was fed and never has ``NO_DATA``: these two need a clock, which only
    a node has.
    """

    WAITING = 'waiting for data'
    FILLING = 'filling the window'
    LOCALISING = 'localising'
    TRACKING = 'tracking'
    UNSURE = 'unsure'
    LOST = 'lost'
    NO_DATA = 'no data'
    REFUSED = 'refused input'


USABLE = frozenset({Status.TRACKING, Status.UNSURE})
"""The states in which an estimate may be used."""
