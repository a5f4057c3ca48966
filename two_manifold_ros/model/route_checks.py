# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a route can be localised on: its indices point somewhere, its chances are chances."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.localisation.features import PLACE_MEMORIES
from two_manifold_ros.model.bounds import check_size, check_widths, LARGEST_STEP
from two_manifold_ros.model.refusing import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.localisation.route import Route
    from two_manifold_ros.typing import Ints


def route_shapes(
    route: Route, channels: int, states: int
) -> dict[str, tuple[NDArray[Any], tuple[int, ...]]]:
    """
    Return each array by name with the shape it has to have.

    Parameters
    ----------
    route
        Any.
    channels
        Live channels, d.
    states
        Dimension of the state, k.

    """
    paces, ticks = route.paces, route.features.shape[-1]
    rows, moved, passed = paces.factors.size, paces.moves.shape[-1], route.passes.shape[-1]
    check_size('paces', rows, ticks)
    check_size('paces', rows, ticks, rows + moved + passed, most=LARGEST_STEP)
    features = channels * (1 + PLACE_MEMORIES)
    known = max(paces.factors.size, 1)
    others, moves = max(route.passes.shape[-1], 1), max(paces.moves.shape[-1], 1)
    memories = max(route.gains.size, PLACE_MEMORIES)
    shapes: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
        'route.gains': (route.gains, (memories,)),
        'route.features': (route.features, (features, ticks)),
        'route.whitening': (route.whitening, (features, features)),
        'route.since_begin': (route.since_begin, (ticks,)),
        'route.passes': (route.passes, (ticks, others)),
        'route.shifts': (route.shifts, (ticks, others)),
        'route.states': (route.states, (ticks, states)),
        'paces.factors': (paces.factors, (known,)),
        'paces.moves': (paces.moves, (known, moves)),
        'paces.changes': (paces.changes, (known, known)),
        'paces.prior': (paces.prior, (known,)),
    }
    if route.signs is not None:
        shapes['signs.slopes'] = (route.signs.slopes, (channels * (1 + memories), ticks))
        shapes['signs.offsets'] = (route.signs.offsets, (ticks,))
    return shapes


def check_route(route: Route) -> None:
    """
    Check numbers, indices and chances of a route whose shapes and types are right.

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    if not (np.isfinite(route.sharpness) and route.sharpness > 0.0):
        refuse(f'route.sharpness is {route.sharpness}, not a positive number')
    if not (np.isfinite(route.surprise) and route.surprise > 0.0):
        refuse(f'route.surprise is {route.surprise}, not a positive number')
    check_widths({'route.sharpness': route.sharpness, 'route.surprise': route.surprise})
    if not 0.0 <= route.hop < 1.0:
        refuse(f'route.hop is {route.hop}, not a chance below 1')
    if not ((route.gains > 0.0) & (route.gains <= 1.0)).all():
        refuse('route.gains are no shares')
    if not (route.states[:, 0] == 1.0).all():
        refuse('the states of its route do not begin with the constant')
    if route.signs is not None and not (
        np.isfinite(route.signs.spread) and route.signs.spread > 0
    ):
        refuse(f'signs.spread is {route.signs.spread}, not a positive number')
    if route.signs is not None:
        check_widths({'signs.spread': route.signs.spread})
    _check_segments(route.since_begin)
    _check_passes(route)
    _check_paces(route)


def _check_segments(since_begin: Ints) -> None:
    goes_on = since_begin[1:] == since_begin[:-1] + 1
    if since_begin[0] != 0 or not (goes_on | (since_begin[1:] == 0)).all():
        refuse('route.since_begin does not count the ticks of segments')


def _check_passes(route: Route) -> None:
    passes = route.passes
    if passes.size and not -1 <= passes.min() <= passes.max() < len(passes):
        refuse('route.passes names ticks that are not there')
    if ((passes[:, :-1] < 0) & (passes[:, 1:] >= 0)).any():
        refuse('route.passes has gaps between its entries')
    paces = len(route.paces.factors)
    if not ((-paces < route.shifts) & (route.shifts < paces)).all():
        refuse('route.shifts names paces that are not there')


def _check_paces(route: Route) -> None:
    paces = route.paces
    if not (paces.factors > 0.0).all() or not (np.diff(paces.factors) > 0.0).all():
        refuse('paces.factors are not positive and increasing')
    for name in ('moves', 'changes', 'prior'):
        chances = getattr(paces, name)
        if (chances < 0.0).any() or not np.allclose(chances.sum(axis=-1), 1.0, atol=1e-9):
            refuse(f'paces.{name} are no chances that sum to one')
