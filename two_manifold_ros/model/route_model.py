# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A route with its head: what `train` makes by default, and its form in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.array_checks import check_finite, check_shapes
from two_manifold_ros.model.bounds import check_count
from two_manifold_ros.model.head import TrainedModel
from two_manifold_ros.model.head_checks import check_head, check_windows
from two_manifold_ros.model.head_form import group, head_from
from two_manifold_ros.model.refusing import refuse
from two_manifold_ros.model.route_checks import check_route, route_shapes
from two_manifold_ros.route.route import Density, Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats, Ints


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
