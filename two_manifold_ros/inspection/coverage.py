# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which of many bags are enough to learn a route from: each place as often as the time allows.

A `Survey` is what is known of a bag, in a kilobyte or two. The bags of each cell are drawn by
their digests, those with the smallest ones first (bottom-k sampling, Cohen & Kaplan 2007), which
is a random draw that is the same for the same bags in any order, whichever worker surveyed them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
import hashlib
import math
from pathlib import Path
from statistics import median_low
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import ItemJournal, spread
from two_manifold_ros.inspection.positions import check_units
from two_manifold_ros.inspection.shared_places import LOOK_S, positions_apart, SHARED
from two_manifold_ros.recordings.reading import open_bag, read_recording, ReadingOptions
from two_manifold_ros.recordings.satellite_fixes import mercator
from two_manifold_ros.sources import identity, is_remote, public, remote_state
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording

MOST_TRAINED_S = 3600.0
"""Time of the bags that are trained on, if all last longer; as many others are tried."""

BAGS_SUFFIX = '.bags.jsonl'
"""End of the name of the journal of surveys, beside the model."""

MOST_CELLS = 256
"""Cells of a survey: on a lap some hundred, so that a bend has several."""

SECTORS = 4
"""Directions of travel in a cell, each of its own: a route driven backwards is another one."""

FARTHEST = 3
"""Doublings by which a bag may reach farther than usual; one beyond is of another route."""

FEWEST_BAGS = 3
"""Bags of a route: a drive of fewer, of many, is an excursion."""


@dataclass(frozen=True)
class Survey:
    """What is known of a bag before it is trained on."""

    path: str
    trouble: str = ''  # why it cannot be read; then nothing else is known
    digest: str = ''  # of its stamps and samples
    frame_id: str = ''
    lasts_s: float = 0.0
    level: int = 0  # of squares with sides of ``2 ** level`` metres
    cells: frozenset[tuple[int, int, int]] = frozenset()  # column, row, direction of travel

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return vars(self) | {'cells': sorted(self.cells)}

    @classmethod
    def of_json(cls, content: Any) -> Survey | None:  # noqa: ANN401 - of a journal
        """Return the survey of `to_json`; ``None`` if the value is none."""
        try:
            cells = frozenset((x, y, way) for x, y, way in content['cells'])
            found = cls(**{**content, 'cells': cells})
            kinds = [type(content[each.name]) for each in fields(cls)]
        except (KeyError, TypeError, ValueError):
            return None
        is_sound = kinds == [str, str, str, str, float, int, list] and math.isfinite(found.lasts_s)
        return found if is_sound and {type(n) for each in cells for n in each} <= {int} else None


def survey_recording(recording: Recording) -> Survey:
    """Return the survey of a recording, of the places where it moves in what plane it has."""
    imu = recording.imu
    digest = hashlib.blake2b(np.ascontiguousarray(imu.stamps).tobytes(), digest_size=16)
    digest.update(np.ascontiguousarray(imu.samples).tobytes())
    lasts_s = imu.span_ns * 1e-9 if len(imu.stamps) else 0.0
    stream = recording.positions
    found = Survey(recording.name, '', digest.hexdigest(), lasts_s=lasts_s)
    if stream is None or not lasts_s:
        return found
    track = positions_apart(recording, LOOK_S)
    if stream.origin is not None:
        track = mercator(track, stream.origin)
    known = track[np.isfinite(track).all(axis=1)]
    # A wild fix or two is not what a drive reaches to.
    box = np.quantile(known, [0.01, 0.99], axis=0) if len(known) else np.zeros((2, 2))
    extent_m = float(np.ptp(box, axis=0).max())
    if not extent_m > 0.0:
        return replace(found, frame_id=stream.frame_id)
    # Many more cells along the longer side are below the noise of positions.
    level = math.ceil(math.log2(extent_m / 64))
    while len(cells := _cells_along(track, 2.0**level)) > MOST_CELLS:
        level += 1
    return replace(found, frame_id=stream.frame_id, level=level, cells=cells)


def _cells_along(track: Floats, side_m: float) -> frozenset[tuple[int, int, int]]:
    """Return the cells of a track (T, 2), m, NaN where unknown, in steps of a side or more."""
    cells = set()
    last: tuple[float, float] | None = None
    for x, y in track.tolist():
        if math.isnan(x + y) or last is None:
            last = None if math.isnan(x + y) else (x, y)
        elif math.hypot(x - last[0], y - last[1]) >= side_m:
            # Less than a side is noise as well: a vehicle that stands drives nowhere.
            turned = math.atan2(y - last[1], x - last[0]) / (2.0 * math.pi)
            way = math.floor(turned * SECTORS + 0.5) % SECTORS
            cells.add((math.floor(x / side_m), math.floor(y / side_m), way))
            last = x, y
    return frozenset(cells)


def survey_bags(
    paths: Sequence[str],
    options: ReadingOptions,
    until_s: float | None,
    journal: ItemJournal,
    client: Any = None,  # noqa: ANN401 - of an extra
    done: Callable[[float], None] = lambda _: None,
) -> list[Survey]:
    """Survey the first ``until_s`` of bags where they are read, unless a journal knows them."""
    own = {identity(path): path for path in paths}
    keys = {
        each: f'{__version__} {options} {until_s} {public(path)} {state_of(path)}'
        for each, path in own.items()
    }
    # Addresses that differ in what is secret alone, as in a query, are alike in a journal.
    alike = Counter(keys.values())
    known = {
        each: Survey.of_json(journal.get(key)) for each, key in keys.items() if alike[key] == 1
    }
    left = [path for each, path in own.items() if known.get(each) is None]

    def keep(path: str, survey: Survey) -> None:
        each = identity(path)
        known[each] = survey
        # What could not be read may be there the next time.
        if not survey.trouble and alike[keys[each]] == 1:
            journal.keep(keys[each], survey.to_json())

    spread(partial(survey_bag, options, until_s), left, client, done, keep)
    surveys = map(known.get, map(identity, paths))
    return [each for each in surveys if each is not None]


def survey_bag(options: ReadingOptions, until_s: float | None, path: str) -> Survey:
    """Read a bag and survey it, or state in a survey why it cannot be read."""
    try:
        recording = read_recording(path, options).between(None, until_s)
        check_units([recording])
        return replace(survey_recording(recording), path=public(path))
    except InputError as error:
        return Survey(public(path), str(error))


def state_of(path: str) -> str:
    """Return size and time of the files of a bag, by which it is known to be the same one."""
    if is_remote(path):
        return remote_state(path)
    place = Path(path)
    # Reading it says why there is none.
    with suppress(OSError):
        states = [each.stat() for each in (place, *sorted(place.glob('*')))]
        return ' '.join(f'{each.st_size} {each.st_mtime_ns}' for each in states)
    return ''


def recorded_s(paths: Sequence[str], enough_s: float, until_s: float | None = None) -> float:
    """Return how long bags last by their own account, s, at most about ``enough_s``."""
    total_s = 0.0
    for path in paths:
        if total_s > enough_s:
            break
        try:
            with open_bag(path) as bag:
                total_s += bag.seconds if until_s is None else min(bag.seconds, until_s)
        except InputError:
            continue
    return total_s


@dataclass(frozen=True)
class Choice:
    """Numbers of bags in the order of their digests, in which they are learned."""

    trained: tuple[int, ...]
    tried: tuple[int, ...]  # what the model is tried on, drawn next
    rest: tuple[int, ...]  # of the same routes, of no further use
    times: int  # bags trained on at each place, or as many as there are
    troubles: dict[int, str] = field(default_factory=dict)  # of these nothing is used


def choose(
    surveys: Sequence[Survey], most_s: float = MOST_TRAINED_S, fewest: int = FEWEST_BAGS
) -> Choice:
    """
    Choose the bags to train on, which last ``most_s`` seconds at most where three drives fit.

    For each cell so many bags are taken, those with the smallest digests, as fit, whatever their
    order. A route that less than ``fewest`` of them drive is left out, where another one is driven
    by more. An ``InputError`` says that nothing is left of the bags.
    """
    cells, troubles = _cells_of_use(surveys)
    routes = _routes_of(cells)
    fewest = min(fewest, max(map(len, routes), default=0))
    for number in [each for route in routes if len(route) < fewest for each in route]:
        del cells[number]
        troubles[number] = (
            f'{surveys[number].path} shares less than a tenth of its places with other bags, '
            'driven in the same direction: it is of another route and left out'
        )
    if not cells:
        sentence = next(iter(troubles.values()), 'there is none')
        raise InputError(f'no bag can be trained on; of the first: {sentence}')
    # Of each bag how many earlier ones drove at the tenth of its cells with the fewest.
    counts: Counter[_Cell] = Counter()
    ranks = {}
    for number, own in cells.items():
        ranks[number] = sorted(counts[each] for each in own)[math.floor(SHARED * len(own))]
        counts.update(own)
    lasting_s = np.zeros(max(ranks.values()) + 1)
    for number, rank in ranks.items():
        lasting_s[rank] += surveys[number].lasts_s
    times = int(np.searchsorted(np.cumsum(lasting_s), most_s, side='right'))
    times = max(times, min(FEWEST_BAGS, len(lasting_s)))
    lasting_s = np.cumsum(lasting_s[times:])
    # The next rank that has bags, however long they are.
    least = int(np.count_nonzero(lasting_s == 0.0)) + 1
    again = times + max(int(np.searchsorted(lasting_s, most_s, side='right')), least)
    return Choice(
        tuple(each for each, rank in ranks.items() if rank < times),
        tuple(each for each, rank in ranks.items() if times <= rank < again),
        tuple(each for each, rank in ranks.items() if rank >= again),
        times,
        dict(sorted(troubles.items())),
    )


_Cell: TypeAlias = tuple[str, int, int, int]
"""Frame, column, row and direction, in a grid as coarse as that of the coarsest bag of a frame."""


def _cells_of_use(surveys: Sequence[Survey]) -> tuple[dict[int, set[_Cell]], dict[int, str]]:
    """Return the cells of bags that move, in the order of digests, and the trouble with others."""
    reaches: dict[str, list[int]] = {}
    for each in surveys:
        if each.cells:
            reaches.setdefault(each.frame_id, []).append(each.level)
    # Of each frame: one may have fixes and another one the positions of a camera.
    farthest = {name: median_low(levels) + FARTHEST for name, levels in reaches.items()}
    coarsest = {
        name: max(each for each in levels if each <= farthest[name])
        for name, levels in reaches.items()
    }
    found: dict[int, set[_Cell]] = {}
    troubles: dict[int, str] = {}
    first: dict[str, int] = {}
    for number in sorted(range(len(surveys)), key=lambda each: (surveys[each].digest, each)):
        each, name = surveys[number], surveys[number].frame_id
        halved = max(coarsest.get(name, 0) - each.level, 0)
        cells = {(name, x >> halved, y >> halved, way) for x, y, way in each.cells}
        places = np.array([(x, y) for _, x, y, _ in cells]).reshape(-1, 2)
        if each.trouble:
            troubles[number] = each.trouble
        elif cells and each.level > farthest[name]:
            troubles[number] = (
                f'{each.path} reaches {2**FARTHEST} times as far as others, or more: it is of '
                'another route and left out'
            )
        # From one cell into the next is no drive.
        elif not cells or np.ptp(places, axis=0).max() <= 1:
            troubles[number] = f'{each.path}: no position moves in it, so nothing is learned of it'
        elif (other := first.setdefault(each.digest, number)) != number:
            same = surveys[other].path
            troubles[number] = f'{each.path} has the samples of {same}: it counts once'
        else:
            found[number] = cells
    return found, troubles


def _routes_of(cells: Mapping[int, set[_Cell]]) -> list[list[int]]:
    """Return the bags of each route: a bag shares a tenth of the cells of either with it."""
    routes: list[tuple[list[int], set[_Cell]]] = []
    for number, own in cells.items():
        apart, members, places = [], [number], own
        for route in routes:
            if len(own & route[1]) >= SHARED * min(len(own), len(route[1])):
                members, places = route[0] + members, route[1] | places
            else:
                apart.append(route)
        routes = [*apart, (members, places)]
    return [members for members, _ in routes]
