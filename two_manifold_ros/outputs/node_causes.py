# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The causes that a node finds beside those of its filter, in words."""

from __future__ import annotations

from two_manifold_ros.filtering.causes import FILLING, GAP, SEARCHING

SEVERAL_PUBLISHERS = 'several_publishers'
TOO_SLOW = 'too_slow'
FRAME_CHANGED = 'frame_changed'
STEPPED_AHEAD, STEPPED_BACK = 'stepped_ahead', 'stepped_back'
NO_CLOCK, CLOCK_STANDS = 'no_clock', 'clock_stands'

INTERRUPTION_WORDS = {
    GAP: 'no usable message came for {span}: look at the driver and its cable',
    STEPPED_AHEAD: (
        'the stamps stepped ahead by {span} while hardly any time passed: a clock was '
        'set, or another recording began'
    ),
    STEPPED_BACK: (
        'the stamps stepped back by {span}: a clock was set, or a recording began anew'
    ),
}
"""Why the filter began anew or coasted, by cause; see ``span``."""

CLOCK_WORDS = {
    NO_CLOCK: 'use_sim_time is true, but nothing came on /clock yet: start what publishes it',
    CLOCK_STANDS: 'use_sim_time is true, but the time on /clock stands still: let it go on',
}
"""Why the clock of the node does not go, by cause."""

OUTSIDE = ('unconfigured', 'inactive', 'disabled')
"""Causes of a node that is in none of the states."""

SUSPECTS = (
    SEVERAL_PUBLISHERS,
    TOO_SLOW,
    FRAME_CHANGED,
    'frame',
    'linear_acceleration_not_measured',
    'angular_velocity_not_measured',
)
"""Causes that are odd though messages come, beside those of the clock."""

SILENCES = ('waiting', 'no_publisher', 'wrong_type', 'incompatible', 'silent')
"""Causes for which no message comes, beside those of the clock."""

EXPECTED = frozenset(
    {
        '',
        FILLING,
        SEARCHING,
        'waiting',
        'inactive',
        'disabled',
        'learning',
    }
)
"""Causes that are part of a start or of somebody's wish, not worth a warning in the log."""
