# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The state of a node as plain numbers, for plotting and for programs that watch it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.outputs.labelled import labelled_array
from two_manifold_ros.outputs.rejections import REJECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.outputs.topics import Message

OUTSIDE = -1
"""Code of a node that is unconfigured, inactive or disabled: it is in none of the states."""

CODES = {status: code for code, status in enumerate(Status)}
"""Codes of the states, in the order of the way from the first sample to tracking."""

COUNTS = (
    'received',
    'used',
    'waiting',
    'published',
    'gaps',
    'resets',
    'restarts',
    *REJECTIONS,
)
"""``received`` is the sum of ``used``, ``waiting`` and the rejections, which come last."""

NUMBERS = (
    'status',
    'valid',
    'level',
    'evidence',
    'familiarity',
    'off_route',
    'ellipse_m',
    'ticks_since_good_sample',
    'input_rate_hz',
    'estimate_rate_hz',
    'stamp_age_s',
    'processing_p50_us',
    'processing_p99_us',
    'processing_max_us',
    *COUNTS,
)
"""What is told, in this order, after the stamp."""


def status_message(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``, see `labelled_array`, of always the same layout.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    numbers
        By names of ``NUMBERS``; those that are not given are NaN, which means unknown.

    """
    return labelled_array(stamp_ns, {name: numbers.get(name, math.nan) for name in NUMBERS})
