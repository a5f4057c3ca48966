# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Latitudes and longitudes of tables: their hemispheres, and how they are written."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import re
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import plain
from two_manifold_ros.loggers.tables import is_missing, number_of, VBO
from two_manifold_ros.loggers.times import RARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.tables import Table
    from two_manifold_ros.typing import Bools, Floats

HALVES = {'latitude': 'NS', 'longitude': 'EW'}
"""Letters of the hemispheres of a role: the positive one, and the negative one."""
_WORDS = {letters: letters for letters in ('N', 'S', 'E', 'W', 'SW', 'SE', 'NW', 'NE')}
_WORDS |= {word: word[0] for word in ('NORTH', 'SOUTH', 'EAST', 'WEST')}
_SURELY = re.compile('^ns$|^ew$|northsouth|eastwest|hemi')
_NAMED = re.compile('^(lat|lon|lng)|^gps(lat|lon|lng)|ns|ew|hemi|north|south|east|west')
"""How `plain` names of columns for hemispheres look, if the column holds letters alone."""


def degrees_of_cell(cell: str, letters: str) -> float | None:
    """
    Return the degrees in a cell, which may have its hemisphere, minutes and seconds.

    They are NaN where the cell is missing, and ``None`` where it is none of these, or has a minus
    in the positive hemisphere.
    """
    number = number_of(cell)
    if number is not None:
        return number
    word = cell[:60].upper().replace(',', '.')
    signs = set(re.sub(r'[\d.\s:°º\'"\u2032\u2033]', '', word))
    sizes = [number_of(each) for each in re.findall(r'[\d.]+', word)]
    known = [each for each in sizes if each is not None]
    right = word[:1] not in '\'"°' and (signs <= {letters[0]} or signs <= {letters[1], '-'})
    whole = len(known) == len(sizes) and 0 < len(sizes) < 4
    if not (right and whole) or max(known[1:], default=0.0) >= 60.0:
        return None
    size = sum(each / 60.0**power for power, each in enumerate(known))
    return size if signs <= {letters[0]} else -size


def with_hemispheres(table: Table, at: Mapping[str, int], taken: Sequence[int]) -> Table:
    """
    Return a table whose latitudes and longitudes, by their role, have the letters beside them.

    ``InputError`` names a column that looks like a hemisphere, but cannot be one of these.
    """
    others = [index for index in range(len(table.names)) if index not in taken and at]
    found = {index: letters for index in others if (letters := _letters(table, index))}
    for role, place in at.items():
        half, cells = HALVES[role], table.cells(place)
        # Degrees with signs need no letters: others may stand for anything.
        signed = any(cell.startswith('-') for cell in cells)
        of_places = {*taken, *found}
        beside = [
            (abs(index - place - 0.5), index)
            for index, letters in found.items()
            if letters <= {*half}
            if _NAMED.search(plain(table.names[index]))
            or (not signed and {*range(min(index, place), max(index, place))} <= of_places)
        ]
        odd = [index for index in others if index not in found and _odd(table, index)]
        if not beside and not signed:
            odd += [index for index, letters in found.items() if half[1] in letters]
        if odd:
            words = next(cell for cell in table.cells(odd[0]) if number_of(cell) is None)
            msg = (
                f'{table.place}: column {table.names[odd[0]]!r} holds {words!r}, and cannot be '
                f'the hemisphere of the {role} for sure: write {" or ".join(half)} into a column '
                f'{"/".join(half)} beside it, or leave the column out'
            )
            raise InputError(msg)
        head = re.split(r'[\s()\[\]]+', table.heads[place].upper())[1:]
        said = next((_WORDS[word] for word in head if _WORDS.get(word, '-') in half), '')
        own, note = [said] * len(cells), f'the {role} is {said}, as its name says'
        if beside:
            # Of several receivers, each has its own.
            _, index = min(beside)
            own = [_WORDS.get(cell.upper(), '') for cell in table.cells(index)]
            note = f'column {table.names[index]!r} is the hemisphere of the {role}'
        elif not said:
            continue
        # A letter that is missing or damaged is the last one, as no vehicle changes it often.
        last = next(filter(None, own))
        for row, letter in enumerate(own):
            last = letter or last
            cells[row] += '' if is_missing(cells[row]) else f' {last}'
        table = replace(table.with_cells({place: cells}), notes=(*table.notes, note))
    return table


def _letters(table: Table, index: int) -> set[str]:
    """Return the hemispheres that a column holds, none if it holds anything else."""
    words = Counter(map(str.upper, table.cells(index)))
    there = {word: count for word, count in words.items() if not is_missing(word)}
    known = [word for word in there if word in _WORDS]
    letters = {*''.join(_WORDS[word] for word in known)}
    others = sum(there.values()) - sum(there[word] for word in known)
    # One quadrant stays; a course changes.
    one = len(known) == 1 or any(letters <= {*half} for half in HALVES.values())
    return letters if one and RARE * others <= sum(there.values()) else set()


def _odd(table: Table, index: int) -> bool:
    """Return whether a column has the name of a hemisphere, and holds other text."""
    named = _SURELY.search(plain(table.names[index]))
    return bool(named) and any(number_of(cell) is None for cell in table.cells(index))


def as_degrees(
    table: Table, columns: Sequence[int], numbers: Mapping[str, Floats]
) -> tuple[Mapping[str, Floats], list[str]]:
    """
    Return what columns (N,) hold by their role with places in degrees, and notes.

    ``columns`` are the latitude and longitude of the table.
    """
    north, east = (numbers[role] for role in HALVES)
    size = np.abs(np.stack([north, east], axis=1))
    size = size[np.isfinite(size).all(axis=1) & (size > 0.0).any(axis=1)]
    on_earth, whole = size <= _LARGEST, (size == np.rint(size)) & ((size > 180.0) | (size == 0.0))

    def most(good: Bools, rows: int = RARE) -> bool:
        return rows * int((~good).any(axis=1).sum()) <= len(good)

    if table.kind == VBO:
        note = 'latitude and longitude are taken as degrees, east positive, not as minutes'
        # Minutes as small are in the sea, less than three degrees from 0, 0.
        if not most(on_earth, 2) or not len(size):
            north, east = north / 60.0, -east / 60.0
            note = 'latitude and longitude are minutes, and longitudes positive to the west'
        return {**numbers, 'latitude': north, 'longitude': east}, [note]
    if RARE * int(on_earth.all(axis=1).sum()) > len(size) or not len(size):
        return numbers, []
    # Of few degrees as 1e-7 degrees, a place on earth, too.
    if most(whole & (size <= 1e7 * _LARGEST)) and (np.median(size, axis=0) > 1e6 * _LARGEST).any():
        found = {**numbers, 'latitude': north * 1e-7, 'longitude': east * 1e-7}
        height = numbers.get('altitude', np.zeros(1))
        if np.isfinite(height).any() and abs(np.nanmedian(height)) > _HIGHEST_M:
            found['altitude'] = height / 1000.0
            return found, [f'{_MAVLINK}, and the altitude is mm']
        return found, [_MAVLINK]
    stated = any(re.search('(?i)nmea|ddmm', table.heads[each]) for each in columns)
    stated |= any(map(table.holds_text, columns))
    swapped, minutes = most(size <= _LARGEST[::-1]), (size % 100.0 < 60.0) & (size <= 18_000.0)
    if not stated or swapped or not most(minutes):
        return numbers, []
    whole_of = {role: np.trunc(numbers[role] / 100.0) for role in HALVES}
    found = {role: each + (numbers[role] - 100.0 * each) / 60.0 for role, each in whole_of.items()}
    return {**numbers, **found}, ['latitude and longitude are degrees and minutes of NMEA']


_LARGEST = np.array([90.0, 180.0])
_MAVLINK = 'latitude and longitude are 1e-7 degrees, as of MAVLink'
_HIGHEST_M = 9000.0
"""No ground on earth is as high, so that greater altitudes are millimetres of MAVLink."""
NOT_ON_EARTH = (
    'is on earth: name latitude and longitude as they are, and their unit, by --columns '
    "'lat=COLUMN:degE7,lon=COLUMN:degE7' (or deg, rad, min); metres on a map by --columns "
    "'x=COLUMN,y=COLUMN'; degrees and minutes of NMEA (ddmm.mmmm) need columns N/S and E/W"
)
"""The end of the refusal of a file that has none else."""
