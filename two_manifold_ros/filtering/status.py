# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The states of a filter, the causes of those that are not tracking, and findings."""

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


CAUSES = {
    'waiting': 'no sample came yet',
    'filling': '{seen} of {window} ticks',
    'searching': (
        'the 95 % ellipse still reaches {ellipse:.2f} m, and {error:.2f} m is hardly more than '
        'that it is somewhere on the route; drive on'
    ),
    'no_better': (
        'what was learned errs no less than the mean position; drive more laps with positions'
    ),
    'unsound': (
        'a number of the estimate is not finite, or a covariance not positive definite: reset the '
        'filter, and please report it'
    ),
    'gap': (
        'after a gap in the input, the window has {seen} of {window} ticks; look for lost messages'
    ),
    'wide': (
        'the 95 % ellipse reaches {ellipse:.2f} m, above {warn:.2f} m (ellipse_warn_m); drive on, '
        'as on the trained route'
    ),
    'strange': (
        'the input is nearly unlike that of training (familiarity {familiarity:.1f}, about 1 is '
        'usual): compare units, mounting and route'
    ),
    'doubted': (
        'the last {contradictions} observations contradict the model: look whether the vehicle '
        'drives as in training'
    ),
    'restarted': (
        'the belief had to be restarted because it went astray, and has to prove itself; drive on'
    ),
    'astray': (
        'the 95 % ellipse reaches {ellipse:.2f} m, above {error:.2f} m (ellipse_error_m): if the '
        'vehicle was moved, drive on along the trained route'
    ),
    'unfamiliar': (
        'the input is unlike that of training (familiarity {familiarity:.1f}, about 1 is usual): '
        'compare units, mounting and route'
    ),
    'leaving': (
        'the vehicle may be off the trained route, with a probability of {off_route:.0%}: drive '
        'on, as on that route'
    ),
    'off_route': (
        'the vehicle is off the trained route, or was moved along it, with a probability of '
        '{off_route:.0%}: drive on along it; else compare route, direction and mounting'
    ),
    'unseen': (
        'the vehicle does what training never saw, with a probability of {unlike:.0%}: drive on, '
        'as on the trained route'
    ),
    'contradicted': (
        'one observation after the other contradicts the model, {contradictions} by now: compare '
        'units, mounting and route, or train anew'
    ),
}
"""
Sentences by cause, to follow the words of the status and a colon.

They are filled with what is known at the tick, see ``StateMachine``. What is found in the input
brings cause and words of its own, see ``Finding``.
"""


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
