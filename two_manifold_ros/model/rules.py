# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds and rules of what a model file may hold, and names of routes."""

from __future__ import annotations

from dataclasses import dataclass
import math
from types import MappingProxyType
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import refuse
from two_manifold_ros.names import NO_ROUTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Limits:
    """
    Bounds of the numbers that a filter accepts; a trained model comes nowhere near.

    Squares of ``number`` and of its inverse are finite; ``buffer`` is of an array that the filter
    allocates; ``work`` products compare a window with all of the training in some seconds, and
    ``step`` products are summed in a tick in about a second; ``text`` counts characters.
    """

    number: float = 1e100
    count: int = 2**31 - 1
    buffer: int = 20_000_000
    work: int = 10**10
    step: int = 10**9
    states: int = 1000
    features: int = 5000
    horizons: int = 1000
    text: int = 1000
    tick_ns: int = 1000 * 10**9
    horizon_ns: int = 86_400 * 10**9

    @property
    def least(self) -> float:
        """Smallest positive number to divide by."""
        return 1.0 / self.number


BOUNDS = Limits()

LONGEST_NAME = 100
"""Characters in the name of a route: it goes into topics, tables and file names of users."""


def trouble_with(name: str) -> str:
    """Return why that cannot be the name of a route; empty if it can."""
    if name == NO_ROUTE:
        return f'{name!r} is no name of a route: it stands for none of them; take another'
    blanks = name != name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or ',' in name or blanks:
        return (
            f'{ascii(name)[:40]} is no name of a route: take up to {LONGEST_NAME} characters '
            'that can be printed, without commas, and without blanks at the ends'
        )
    return ''


def check_size(name: str, *lengths: int, most: int = BOUNDS.buffer) -> None:
    """Refuse lengths whose product is above the limit of a filter."""
    product = math.prod(map(int, lengths))
    if product > most:
        refuse(f'{name} would take {product} numbers, more than {most}')


def check_range(
    name: str, values: Floats | Ints | float, least: float, most: float = BOUNDS.number
) -> None:
    """Refuse a number, or the first of an array, that lies outside ``least`` to ``most``."""
    numbers = np.atleast_1d(values)
    outside = numbers[~((numbers >= least) & (numbers <= most))]
    if outside.size:
        refuse(f'{name} holds {outside[0]:g}, which is not within {least:g} to {most:g}')


Rules: TypeAlias = 'Mapping[str, tuple[Any, ...]]'
"""Of fields, whose names stand in one text: their axes, the least number and the largest one."""


def check_fields(
    part: object, rules: Rules, sizes: Mapping[str, int] = MappingProxyType({}), where: str = ''
) -> None:
    """Refuse the first field that breaks a rule: its axes are letters of the sizes, or digits."""
    for names, (axes, *limits) in rules.items():
        shape = tuple(int(each) if each.isdigit() else sizes[each] for each in axes)
        for name in names.split():
            value = getattr(part, name)
            if np.shape(value) != shape:
                refuse(f'{where}{name} has the shape {np.shape(value)} instead of {shape}')
            if limits:
                check_range(f'{where}{name}', value, *limits)


def check_channels(channels: Channels, where: str = 'channels.') -> None:
    """Refuse channels of which one has no name, or no scale."""
    check_fields(channels, {'mean scale limit live': ('c',)}, {'c': len(channels.names)}, where)
    check_range(f'{where}scale', channels.scale[channels.live], BOUNDS.least)


def check_covariances(name: str, matrices: Floats) -> None:
    """Refuse (..., 2, 2) matrices that are not symmetric and positive but for rounding."""
    matrices = matrices.reshape(-1, 2, 2)
    rounding = 1e-9 * np.abs(matrices).max(axis=(1, 2))
    skewness = np.abs(matrices[:, 0, 1] - matrices[:, 1, 0])
    smallest = np.linalg.eigvalsh(matrices).min(axis=1)
    if not ((skewness <= rounding).all() and (smallest >= -rounding).all()):
        refuse(f'{name} are no covariances')


def check_invertible(name: str, matrix: Floats) -> None:
    """Refuse a matrix (n, n) that is singular, or whose inverse is out of bounds."""
    try:
        # The inverse of what is singular but for rounding may be infinite, or not a number.
        inverts = bool((np.abs(np.linalg.inv(matrix)) <= BOUNDS.number).all())
    except np.linalg.LinAlgError:
        inverts = False
    if not inverts:
        refuse(f'{name} is singular: it has no inverse')
