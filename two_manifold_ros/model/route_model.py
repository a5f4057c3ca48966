# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A route with its head: what `train` makes by default, and its form in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.head import (
    are_covariances,
    check_count,
    check_finite,
    check_head,
    check_shapes,
    check_size,
    check_widths,
    check_windows,
    group,
    head_from,
    is_whole,
    LARGEST_STEP,
    MOST_FEATURES,
    MOST_STATES,
    refuse,
    TrainedModel,
)
from two_manifold_ros.route.route import Density, HYPOTHESES, JUMPED, PLACED, Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats, Ints


_DENSITIES = 'rest', 'rest_alone', 'rest_means', 'other', 'other_means', 'slow'

LARGEST_LEVEL = 1e6
"""Of the logarithm of a density; a difference of a few thousand decides everything."""

LARGEST_RATE = 1e3
"""Of places in a tick, and of accelerations in m/s^2: far beyond any vehicle."""

SLACK = 1e-9
"""By which sums of chances may exceed one, of rounding."""


def route_shapes(
    route: Route, channels: int, columns: int
) -> dict[str, tuple[NDArray[Any], tuple[int, ...]]]:
    """
    Return each array by name with the shape it has to have.

    Parameters
    ----------
    route
        Any.
    channels
        Live channels, d.
    columns
        Targets: horizons and the velocity, H + 1.

    """
    if not is_whole(route.channels) or route.channels != channels:
        refuse(f'route.channels is {route.channels}, where {channels} channels are live')
    places, ways = max(route.noise.size, 1), route.targets_of.size
    memories = max(route.gains.size, 1)
    moves, states = route.moves.shape, route.states.shape[-1]
    features = channels * (1 + memories)
    if not 1 <= states <= MOST_STATES or not features <= MOST_FEATURES:
        refuse(f'its route has {states} states and {features} features')
    check_size('route.means', places, 3 * len(PLACED) + features, most=LARGEST_STEP)
    check_size('route.targets_of', len(PLACED), max(ways, 1), most=LARGEST_STEP)
    shapes: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
        'route.gains': (route.gains, (memories,)),
        'route.whitening': (route.whitening, (features, features)),
        'route.means': (route.means, (places, features)),
        'route.slopes': (route.slopes, (places, features)),
        'route.new_whitening': (route.new_whitening, (channels, channels)),
        'route.new_means': (route.new_means, (places, channels)),
        'route.new_slopes': (route.new_slopes, (places, channels)),
        'route.noise': (route.noise, (places,)),
        'route.beginnings': (route.beginnings, (2, places)),
        'route.shifts': (route.shifts, (channels,)),
        'route.stops': (route.stops, (2, places)),
        'route.rates': (route.rates, (places,)),
        'route.tick_lengths': (route.tick_lengths, (places,)),
        'route.pulls': (route.pulls, (places,)),
        'route.fastest': (route.fastest, (places,)),
        'route.forward': (route.forward, (channels,)),
        'route.begins': (route.begins, (places + 1,)),
        'route.targets_of': (route.targets_of, (ways,)),
        'route.steps_of': (route.steps_of, (ways,)),
        'route.shares_of': (route.shares_of, (ways,)),
        'route.moves': (route.moves, (max(moves[0], 2), max(moves[-1], 1))),
        'route.exchanges': (route.exchanges, (len(HYPOTHESES), len(HYPOTHESES))),
        'route.jumps': (route.jumps, (len(HYPOTHESES), len(JUMPED))),
        'route.targets': (route.targets, (places, columns, 2)),
        'route.drifts': (route.drifts, (places, columns, 2)),
        'route.covariances': (route.covariances, (places, columns, 2, 2)),
        'route.factors': (route.factors, (columns,)),
        'route.states': (route.states, (places, states)),
    }
    hidden = channels * memories
    shapes |= _density_shapes('rest', route.rest, channels, hidden)
    shapes |= _density_shapes('rest_alone', route.rest_alone, channels, 0)
    shapes |= _density_shapes('other', route.other, channels, hidden)
    shapes |= _density_shapes('slow', route.slow, channels, hidden)
    shapes |= _density_shapes('rest_means', route.rest_means, hidden, 0)
    return shapes | _density_shapes('other_means', route.other_means, hidden, 0)


def _density_shapes(
    name: str, density: Density, size: int, given: int
) -> dict[str, tuple[NDArray[Any], tuple[int, ...]]]:
    return {
        f'{name}.slopes': (density.slopes, (size, given)),
        f'{name}.offset': (density.offset, (size,)),
        f'{name}.root': (density.root, (size, size)),
    }


def check_route(route: Route) -> None:
    """
    Check numbers, indices and chances of a route whose shapes and types are right.

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    widths = {
        'route.sharpness': route.sharpness,
        'route.persistence': route.persistence,
        'route.tail': route.tail,
        'route.moves_a_row': route.moves_a_row,
        'route.pace_spread': route.pace_spread,
        'route.pace_noise': route.pace_noise,
    }
    levels = {'route.new_level': route.new_level}
    for name, density in _densities(route).items():
        widths[f'{name}.tail'] = density.tail
        levels[f'{name}.level'] = density.level
    for name, level in levels.items():
        if not abs(level) <= LARGEST_LEVEL:
            refuse(f'{name} is {level}, not the logarithm of a density')
    for name, value in widths.items():
        if not (np.isfinite(value) and value > 0.0):
            refuse(f'{name} is {value}, not a positive number')
    check_widths(widths)
    if not ((route.gains > 0.0) & (route.gains <= 1.0)).all():
        refuse('route.gains are no shares')
    _check_targets(route)
    _check_ways(route)
    _check_paces(route)


def _check_targets(route: Route) -> None:
    for name in ('noise', 'factors'):
        if not (getattr(route, name) > 0.0).all():
            refuse(f'route.{name} are not positive')
    if not np.isfinite(route.targets).all():
        refuse('route.targets are not known at every place')
    if not (route.states[:, 0] == 1.0).all():
        refuse('the states of its route do not begin with the constant')
    if not are_covariances(route.covariances.reshape(-1, 2, 2)):
        refuse('route.covariances are no covariances')


def _densities(route: Route) -> dict[str, Density]:
    return {name: getattr(route, name) for name in _DENSITIES}


def _check_ways(route: Route) -> None:
    begins, places = route.begins, len(route.noise)
    if begins[0] != 0 or begins[-1] != len(route.targets_of) or (np.diff(begins) < 1).any():
        refuse('route.begins does not count the ways of each place')
    for name, most in (('targets_of', places), ('steps_of', route.moves.shape[1])):
        values = getattr(route, name)
        if not 0 <= values.min() <= values.max() < most:
            refuse(f'route.{name} names what is not there')
    shares = route.shares_of
    if not ((shares >= 0.0) & (shares <= 1.0 + SLACK)).all():
        refuse('route.shares_of are no shares')
    ways = np.repeat(np.arange(places), np.diff(begins)) * route.moves.shape[1] + route.steps_of
    if (np.bincount(ways, shares) > 1.0 + SLACK).any():
        refuse('route.shares_of lead more than everything on from a place')


def _check_paces(route: Route) -> None:
    for name in ('pace_kept', 'trust', 'halts'):
        if not 0.0 <= getattr(route, name) <= 1.0:
            refuse(f'route.{name} is {getattr(route, name)}, not a share')
    if not ((route.fastest >= 1.0) & (route.fastest <= LARGEST_RATE)).all():
        refuse('route.fastest are no paces above the usual one')
    if not 0.0 <= route.mistakable <= LARGEST_RATE:
        refuse(f'route.mistakable is {route.mistakable}, no difference of logarithms')
    if not 0.0 <= route.usual_change <= LARGEST_RATE:
        refuse(f'route.usual_change is {route.usual_change}, no change of a pace')
    for name in ('rates', 'tick_lengths'):
        values = getattr(route, name)
        if not ((values > 0.0) & (values <= LARGEST_RATE)).all():
            refuse(f'route.{name} are not positive and possible')
    if not ((route.shifts >= 0.0) & (route.shifts <= LARGEST_RATE)).all():
        refuse('route.shifts are no standard deviations')
    pulls = np.concatenate([route.pulls, route.forward, [route.forward_offset]])
    if not (np.abs(pulls) <= LARGEST_RATE).all():
        refuse('route.pulls and route.forward are no accelerations')
    _check_exchanges(route)


def _check_exchanges(route: Route) -> None:
    if route.exchanges[-1, :-1].any():
        refuse('route.exchanges lead from elsewhere to the same place, where no place is')
    together = np.concatenate([route.exchanges, route.jumps], axis=1)
    for name, chances in (
        ('moves', route.moves),
        ('beginnings', route.beginnings.reshape(1, -1)),
        ('exchanges and route.jumps', together),
    ):
        if (chances < 0.0).any() or not np.allclose(chances.sum(axis=-1), 1.0, atol=1e-9):
            refuse(f'route.{name} are no chances that sum to one')
    rows = [HYPOTHESES.index(name) for name in ('on', 'on new', 'stands')]
    stays = route.exchanges[rows, rows].min()
    if not ((route.stops >= 0.0) & (route.stops <= stays)).all():
        refuse('route.stops are no chances beside those of route.exchanges')


@dataclass(frozen=True, kw_only=True)
class RouteModel(TrainedModel):
    """
    A model of the belief about the place on a route.

    Its windows of training are at most ``training.stretches.MOST_TICKS`` ticks long together,
    however long the recordings: the input is compared with them, see ``monitoring``.

    Parameters
    ----------
    route
        The map.
    lowest, highest : (d,)
        Least and largest mean of a training window, of each live channel, standardised.
    still : (d,) int64
        Most ticks in a row of training in which each live channel did not change.
    most_still
        Most ticks in a row of training in which no channel changed at all.

    """

    route: Route
    lowest: Floats
    highest: Floats
    still: Ints
    most_still: int

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return int(self.route.states.shape[1])


_KINDS: dict[str, type[Any]] = {
    'rest': Density,
    'rest_alone': Density,
    'rest_means': Density,
    'other': Density,
    'other_means': Density,
    'slow': Density,
}
"""Parts of a route that are kept as groups of their own, by the field's name."""

_ARRAYS = ('series', 'starts', 'lowest', 'highest', 'still')

_WHOLE = ('channels',)
"""Numbers of a route that count something; all others are reals, however they are written."""


def route_numbers(model: RouteModel) -> dict[str, Any]:
    """Return what belongs into the header, without the head."""
    return {
        'kernel': model.kernel,
        'most_still': model.most_still,
        'route': {
            name: dict(_fields(part, (int, float))) for name, part in _groups(model.route).items()
        },
    }


def route_arrays(model: RouteModel) -> dict[str, NDArray[Any]]:
    """Return the arrays by name, without those of the head."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(model, name) for name in _ARRAYS}
    return arrays | {
        f'{name}.{field}': value
        for name, part in _groups(model.route).items()
        for field, value in _fields(part, np.ndarray)
    }


def route_from(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> RouteModel:
    """
    Return the model of a whole header and of all arrays.

    Raises
    ------
    InputError, KeyError, TypeError
        If anything is missing or too much.

    """
    numbers = header['route']
    parts: dict[str, Any] = {
        name: kind(**_reals(numbers[name]), **group(arrays, name)) for name, kind in _KINDS.items()
    }
    parts |= {**_reals(numbers['route']), **group(arrays, 'route')}
    return RouteModel(
        **head_from(header, arrays),
        kernel=header['kernel'],
        series=arrays['series'],
        starts=arrays['starts'],
        route=Route(**parts),
        lowest=arrays['lowest'],
        highest=arrays['highest'],
        still=arrays['still'],
        most_still=header['most_still'],
    )


def check_route_model(model: RouteModel) -> None:
    """
    Check shapes, finiteness and chances.

    Raises
    ------
    InputError
        Naming the first thing that does not fit.

    """
    check_head(model)
    check_windows(model)
    check_count('most_still', model.most_still)
    live = int(np.count_nonzero(model.channels.live))
    shapes: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
        'lowest': (model.lowest, (live,)),
        'highest': (model.highest, (live,)),
        'still': (model.still, (live,)),
    }
    check_shapes(shapes | route_shapes(model.route, live, len(model.horizons) + 1))
    check_finite([model, *_groups(model.route).values()])
    for count in model.still.tolist():
        check_count('still', count)
    if not (model.lowest <= model.highest).all():
        refuse('its windows have means whose least is above the largest')
    check_route(model.route)


def _reals(numbers: Mapping[str, float]) -> dict[str, Any]:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            msg = f'{name} is no number'
            raise TypeError(msg)
    # Compiled code would take whole numbers for others than they are.
    return {name: value if name in _WHOLE else float(value) for name, value in numbers.items()}


def _groups(route: Route) -> dict[str, Any]:
    return {'route': route} | {name: getattr(route, name) for name in _KINDS}


def _fields(part: object, kind: type | tuple[type, ...]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(part).items() if isinstance(value, kind)]
