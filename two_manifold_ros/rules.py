# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules of the fields that a model file may hold, one loop that checks them; names of routes."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re
from typing import Any, TypeAlias

import numpy as np

from two_manifold_ros.errors import refuse
from two_manifold_ros.names import NO_ROUTE
from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Limits:
    """
    Bounds of the numbers that a filter accepts; a trained model comes nowhere near.

    Squares of ``number`` and of its inverse, the ``least`` to divide by, are finite; ``buffer`` is
    of an array that the filter allocates; ``work`` products take some seconds at a start, and
    ``step`` products about a second in a tick; ``text`` counts characters.
    """

    number: float = 1e100
    least: float = 1e-100
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


Rules: TypeAlias = 'dict[str, tuple[Any, ...]]'
"""
Of fields, whose names stand in one text: their axes, the least number and the largest one.

An axis is a digit, or a letter for a length that is the same wherever the letter is; the length of
a capital is not zero, and with a ``+`` it is one more. A limit that is a letter is an index's.
"""


def check_fields(
    part: object, rules: Rules, sizes: dict[str, int] | None = None, where: str = ''
) -> None:
    """Refuse the first field that breaks a rule; lengths that are not known are added to sizes."""
    sizes = {} if sizes is None else sizes
    for names, (axes, *limits) in rules.items():
        bounds = [sizes[each] - 1 if isinstance(each, str) else each for each in limits]
        for name in names.split():
            value, wanted = getattr(part, name), []
            shape = np.shape(value)
            for number, axis in enumerate(re.findall(r'\w\+?', axes)):
                letter, more = axis[0].lower(), len(axis) - 1
                if not letter.isdigit() and number < len(shape):
                    sizes.setdefault(letter, max(shape[number] - more, int(axis[0].isupper())))
                size = int(letter) if letter.isdigit() else sizes.get(letter, letter)
                wanted.append(size if isinstance(size, str) else size + more)
            if list(shape) != wanted:
                words = ', '.join(map(str, wanted)) + ',' * (len(wanted) == 1)
                refuse(f'{where}{name} has the shape {shape} instead of ({words})')
            if bounds:
                check_range(f'{where}{name}', value, *bounds)


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
