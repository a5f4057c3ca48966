# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every cause for which a filter is not tracking, and its sentence: what, why and what helps."""

from __future__ import annotations

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
