# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Latitudes and longitudes of tables: their hemispheres, and how they are written."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
import re
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import is_missing, number_of, plain, Row
from two_manifold_ros.loggers.times import RARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.log import Table
    from two_manifold_ros.typing import Bools, Floats

HALVES = {'latitude': 'NS', 'longitude': 'EW'}
"""Letters of the hemispheres of a role: the positive one, and the negative one."""
_WORDS = {letter: letter for letter in 'NSEW'}
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
    right = signs <= {letters[0]} or signs <= {letters[1], '-'}
    whole = len(known) == len(sizes) and 0 < len(sizes) < 4
    if not (right and whole) or max(known[1:], default=0.0) >= 60.0:
        return None
    size = sum(each / 60.0**power for power, each in enumerate(known))
    return size if signs <= {letters[0]} else -size


def with_hemispheres(table: Table, at: Mapping[str, int], taken: Sequence[int]) -> Table:
    """
    Return a table whose latitudes and longitudes have the letters of columns beside them.

    Parameters
    ----------
    table
        Any.
    at
        Columns of the latitude and longitude.
    taken
        Columns that have a role.

    Raises
    ------
    InputError
        If a column looks like a hemisphere, but cannot be one of these.

    """
    if not at:
        return table
    others = {*range(len(table.names))} - {*taken}
    found = {index: letters for index in others if (letters := _letters(table, index))}
    for index in others - {*found}:
        named = _SURELY.search(plain(table.names[index])) and _text_of(table, index)
        if named or (not found and _one_quadrant(table, index)):
            msg = (
                f'{table.place}: column {table.names[index]!r} holds {_text_of(table, index)!r}, '
                'which is no hemisphere: write N, S, E or W there, or leave the column out'
            )
            raise InputError(msg)
    of_places, rows, notes = {*taken, *found}, table.rows, table.notes
    for role, place in at.items():
        own = [index for index, letters in found.items() if letters <= {*HALVES[role]}]
        # Degrees with signs need no letters: others may stand for anything.
        signed = any(row.cells[place].startswith('-') for row in rows)
        beside = [
            index
            for index in own
            if _NAMED.search(plain(table.names[index]))
            or (not signed and {*range(min(index, place), max(index, place))} <= of_places)
        ]
        turned = [index for index in own if HALVES[role][1] in found[index]]
        if turned and not beside and not signed:
            msg = (
                f'{table.place}: column {table.names[turned[0]]!r} holds '
                f'{" and ".join(sorted(found[turned[0]]))}, as the hemisphere of the {role} does, '
                f'but is not beside it: name the column {"/".join(HALVES[role])}, or leave it out'
            )
            raise InputError(msg)
        if beside:
            # Of several receivers, each has its own.
            _, index = min((abs(index - place - 0.5), index) for index in beside)
            rows = _joined(rows, place, [_WORDS.get(row.cells[index].upper(), '') for row in rows])
            notes = (*notes, f'column {table.names[index]!r} is the hemisphere of the {role}')
        elif (said := _of_head(table, place)) in {*HALVES[role]}:
            rows = _joined(rows, place, [said] * len(rows))
            notes = (*notes, f'the {role} is {said}, as its name says')
    return replace(table, rows=rows, notes=notes)


def _joined(rows: Sequence[Row], place: int, letters: Sequence[str]) -> list[Row]:
    """Return rows with letters of hemispheres behind the numbers of a column."""
    letter = next(filter(None, letters))
    joined = []
    for row, own in zip(rows, letters, strict=True):
        # A letter that is missing or damaged is the last one, as no vehicle changes it often.
        letter, cells = own or letter, list(row.cells)
        cells[place] += '' if is_missing(cells[place]) else f' {letter}'
        joined.append(Row(row.line, cells))
    return joined


def _letters(table: Table, index: int) -> set[str]:
    """Return the hemispheres that a column holds, none if it holds anything else."""
    if not any(cell in _WORDS for cell in _first_cells(table, index)):
        return set()
    words = Counter(row.cells[index].upper() for row in table.rows)
    there = {word: count for word, count in words.items() if not is_missing(word)}
    letters = {_WORDS[word] for word in there if word in _WORDS}
    others = sum(count for word, count in there.items() if word not in _WORDS)
    one = any(letters <= {*half} for half in HALVES.values())
    return letters if one and RARE * others <= sum(there.values()) else set()


def _one_quadrant(table: Table, index: int) -> bool:
    """Return whether a column holds one of SW, SE, NW throughout; a course changes."""
    first = _first_cells(table, index)[:1]
    return first in (['SW'], ['SE'], ['NW']) and all(
        row.cells[index].upper() in (first[0], '') for row in table.rows
    )


def _first_cells(table: Table, index: int) -> list[str]:
    """Return the first cells of a column that are not missing: they show what it holds."""
    there = (row.cells[index].upper() for row in table.rows if not is_missing(row.cells[index]))
    return list(islice(there, RARE))


def _of_head(table: Table, index: int) -> str:
    """Return the hemisphere in brackets behind a name, such as `Longitude (deg W)`."""
    words = re.split(r'[\s()\[\]]+', ' '.join(table.heads[index : index + 1]).upper())
    return next((_WORDS[word] for word in words[1:] if word in _WORDS), '')


def _text_of(table: Table, index: int) -> str:
    """Return the first cell of a column that is no number, empty if there is none."""
    return next((cell for cell in _first_cells(table, index) if number_of(cell) is None), '')


def as_degrees(
    table: Table, columns: Sequence[int], numbers: Mapping[str, Floats]
) -> tuple[Mapping[str, Floats], list[str]]:
    """
    Return what columns hold with latitude and longitude in degrees, and notes.

    Parameters
    ----------
    table
        The table.
    columns
        Its latitude and longitude.
    numbers
        What columns (N,) hold, by their role.

    """
    places = {role: numbers[role] for role in HALVES}
    form = form_of(*places.values())
    if form == 'NMEA' and any(_says_nmea(table, index) for index in columns):
        whole = {role: np.trunc(each / 100.0) for role, each in places.items()}
        places = {
            role: whole[role] + (each - 100.0 * whole[role]) / 60.0
            for role, each in places.items()
        }
        return {**numbers, **places}, ['latitude and longitude are degrees and minutes of NMEA']
    if form != 'degE7':
        return numbers, []
    places = {role: each * 1e-7 for role, each in places.items()}
    notes = ['latitude and longitude are 1e-7 degrees, as of MAVLink']
    height = numbers.get('altitude', np.zeros(1))
    if np.isfinite(height).any() and abs(np.nanmedian(height)) > _HIGHEST_M:
        places['altitude'], notes = height / 1000.0, [f'{notes[0]}, and the altitude is mm']
    return {**numbers, **places}, notes


def _says_nmea(table: Table, index: int) -> bool:
    """Return whether a column has the name of such degrees, or the letters of hemispheres."""
    texts = sum(number_of(row.cells[index]) is None for row in table.rows)
    return bool(re.search('(?i)nmea|ddmm', ' '.join(table.heads[index : index + 1]))) or (
        2 * texts > len(table.rows)
    )


_HIGHEST_M = 9000.0
"""No ground on earth is as high, so that greater altitudes are millimetres of MAVLink."""


def form_of(north: Floats, east: Floats) -> str:
    """Return a key of `FORMS` that latitudes and longitudes (N,) look like, empty for degrees."""
    size = np.abs(np.stack([north, east], axis=1))
    size = size[np.isfinite(size).all(axis=1) & (size > 0.0).any(axis=1)]

    def most(good: Bools) -> bool:
        return RARE * int((~good).any(axis=1).sum()) <= len(good)

    if RARE * int((size <= _LARGEST).all(axis=1).sum()) > len(size) or not len(size):
        return ''
    whole = (size == np.rint(size)) & ((size > 180.0) | (size == 0.0)) & (size <= 1.8e9)
    if most(size <= _LARGEST[::-1]) or (most(whole) and not most(size <= 1e7 * _LARGEST)):
        return 'swapped'
    if most(whole):
        return 'degE7' if (np.median(size, axis=0) > 1e6 * _LARGEST).any() else 'parts'
    if most((size % 100.0 < 60.0) & (size <= 18_000.0)):
        return 'NMEA'
    return 'metres' if most(size > 180.0) else 'unknown'


_LARGEST = np.array([90.0, 180.0])

FORMS = {
    'swapped': 'latitude and longitude look swapped; name them as they are by --columns '
    "'lat=COLUMN,lon=COLUMN'",
    'degE7': "they look like 1e-7 degrees; name the unit, --columns 'lat=COLUMN:degE7,"
    "lon=COLUMN:degE7'",
    'parts': 'they look like millionths of degrees or less; if they are 1e-7 degrees, name the '
    "unit, --columns 'lat=COLUMN:degE7,lon=COLUMN:degE7'",
    'NMEA': 'they look like degrees and minutes of NMEA (ddmm.mmmm); add columns N/S and E/W, or '
    'export degrees',
    'metres': "they look like metres on a map; name them by --columns 'x=COLUMN,y=COLUMN'",
    'unknown': 'export them as degrees',
}
"""What places that are not on earth look like, and what the user can do."""
