# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The form of a `Route` in the model file: numbers for the header, and arrays by name."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.localisation.pace import Paces
from two_manifold_ros.localisation.pace_signs import PaceSigns
from two_manifold_ros.localisation.route import Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_KINDS: dict[str, type[Any]] = {'paces': Paces, 'signs': PaceSigns}
"""Parts of a route that are kept as groups of their own, by the field's name."""


def route_numbers(route: Route) -> dict[str, dict[str, float] | None]:
    """Return the numbers of a route and of each of its parts, ``None`` for one that is not."""
    return {
        group: None if part is None else dict(_fields(part, (int, float)))
        for group, part in _groups(route).items()
    }


def route_arrays(route: Route) -> dict[str, NDArray[Any]]:
    """Return the arrays of a route and of its parts, named ``group.field``."""
    return {
        f'{group}.{name}': value
        for group, part in _groups(route).items()
        if part is not None
        for name, value in _fields(part, np.ndarray)
    }


def route_from(
    numbers: Mapping[str, Mapping[str, float] | None], arrays: Mapping[str, Mapping[str, Any]]
) -> Route:
    """
    Return the route of its numbers and of its arrays, both by group.

    Raises
    ------
    KeyError, TypeError
        If anything is missing or too much.

    """
    fields: dict[str, Any] = {**(numbers['route'] or {}), **arrays['route']}
    for group, kind in _KINDS.items():
        own = numbers[group]
        fields[group] = None if own is None else kind(**own, **arrays[group])
    return Route(**fields)


def _groups(route: Route) -> dict[str, Any]:
    return {'route': route} | {group: getattr(route, group) for group in _KINDS}


def _fields(part: object, kind: type | tuple[type, ...]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(part).items() if isinstance(value, kind)]
