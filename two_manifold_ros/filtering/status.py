# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status, cause and finding: the states of a filter and of a node, and why it is not tracking."""

from __future__ import annotations

from dataclasses import dataclass
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


WAITING = 'waiting'
FILLING = 'filling'
SEARCHING = 'searching'
NO_BETTER = 'no_better'
UNSOUND = 'unsound'
GAP = 'gap'
WIDE = 'wide'
STRANGE = 'strange'
DOUBTED = 'doubted'
RESTARTED = 'restarted'
ASTRAY = 'astray'
UNFAMILIAR = 'unfamiliar'
CONTRADICTED = 'contradicted'
LEAVING = 'leaving'
OFF_ROUTE = 'off_route'
UNSEEN = 'unseen'

CAUSES = {
    WAITING: 'no sample came yet',
    FILLING: '{seen} of {window} ticks',
    SEARCHING: (
        'the 95 % ellipse still reaches {ellipse:.2f} m, and {error:.2f} m is hardly more than '
        'that it is somewhere on the route; drive on'
    ),
    NO_BETTER: (
        'what was learned errs no less than the mean position; drive more laps with positions'
    ),
    UNSOUND: (
        'a number of the estimate is not finite, or a covariance not positive definite: reset the '
        'filter, and please report it'
    ),
    GAP: (
        'after a gap in the input, the window has {seen} of {window} ticks; look for lost messages'
    ),
    WIDE: (
        'the 95 % ellipse reaches {ellipse:.2f} m, above {warn:.2f} m (ellipse_warn_m); drive on, '
        'as on the trained route'
    ),
    STRANGE: (
        'the input is nearly unlike that of training (familiarity {familiarity:.1f}, about 1 is '
        'usual): compare units, mounting and route'
    ),
    DOUBTED: (
        'the last {contradictions} observations contradict the model: look whether the vehicle '
        'drives as in training'
    ),
    RESTARTED: (
        'the belief had to be started anew because it went astray, and has to prove itself; '
        'drive on'
    ),
    ASTRAY: (
        'the 95 % ellipse reaches {ellipse:.2f} m, above {error:.2f} m (ellipse_error_m): if the '
        'vehicle was moved, drive on along the trained route'
    ),
    UNFAMILIAR: (
        'the input is unlike that of training (familiarity {familiarity:.1f}, about 1 is usual): '
        'compare units, mounting and route'
    ),
    LEAVING: (
        'the vehicle may be off the trained route, with a probability of {off_route:.0%}: drive '
        'on, as on that route'
    ),
    OFF_ROUTE: (
        'the vehicle is off the trained route, or was moved along it, with a probability of '
        '{off_route:.0%}: drive on along it; else compare route, direction and mounting'
    ),
    UNSEEN: (
        'the vehicle does what training never saw, with a probability of {unlike:.0%}: drive on, '
        'as on the trained route'
    ),
    CONTRADICTED: (
        'one observation after the other contradicts the model, {contradictions} by now: compare '
        'units, mounting and route, or train anew'
    ),
}
"""
Sentences by cause, to follow the words of the status and a colon.

They are filled with what is known at the tick, see ``StateMachine``. What is found in the input
brings cause and words of its own, see ``Finding``.
"""


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


@dataclass(frozen=True)
class Finding:
    """
    Something that is wrong with the input.

    Parameters
    ----------
    cause
        A short key, the same as long as the finding is.
    words
        What is wrong and what helps, one sentence without a full stop.
    refuses
        Whether nothing may be believed as long as it is so; otherwise estimates are unsure.

    """

    cause: str
    words: str
    refuses: bool
