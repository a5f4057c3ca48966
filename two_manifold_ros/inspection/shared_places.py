# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which recordings share places, and so are of one route or of one network of roads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording, usual_gap_ns
from two_manifold_ros.route.merging import FINENESS, merge_passes, Places, SAME_COURSE
from two_manifold_ros.rules import LONGEST_NAME, trouble_with
from two_manifold_ros.ticks.rest import stretches_of
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.ticks.stamps import judge_stamps
from two_manifold_ros.typing import Bools, Floats

SHARED = 0.1
"""Share of the places of one recording on which another one drives, if one map holds both."""

SHARED_LAPS = 0.5
"""The same where laps close, on average of both recordings: more of the places than not."""

SAME_ROUTE = 0.75
"""The same, if both are of one and the same route: days of one share nine tenths and more."""

LOOK_S = 0.1
"""Seconds between positions that are compared: roads up to 16 steps apart fall together."""

PAUSE_NS = 10 * 10**9
"""Shorter steps of the stamps do not part what is compared: messages are lost on the way."""


def sort_by_route(
    recordings: Sequence[Recording], names: Sequence[str] = ()
) -> dict[str, list[Recording]]:
    """
    Return recordings by the map that they go onto, whatever their order, each with its line.

    Those that share places in the same direction go onto one map, of a route or of a network.
    There those that drive on most of the same places are of one line. Without names routes are
    found out, and named after the first recording of each. Recordings of one name are of one line,
    and in a name ``MAP/LINE`` the map is named as well. An ``InputError`` says that names are
    unfit, see `check_names`, or that recordings of one map are in several frames.
    """
    if names:
        check_names(names, len(recordings))
    by_name = sorted(range(len(recordings)), key=lambda each: (recordings[each].name, each))
    planes: dict[object, list[Recording]] = {}
    for number in by_name:
        each, name = recordings[number], names[number] if names else ''
        stream = each.positions
        plane: object = None if stream is None else (stream.frame_id, stream.origin)
        if '/' in name:
            plane = name.partition('/')[0]
        planes.setdefault(plane, []).append(replace(each, line=name) if names else each)
    groups: list[list[Recording]] = []
    for which, those in planes.items():
        if isinstance(which, str):
            frames = sorted({each.positions.frame_id for each in those if each.positions})
            if len(frames) > 1:
                raise InputError(
                    f'bags of the map {which} are in several frames ({", ".join(frames)}): give '
                    'the bags of each frame a map of their own'
                )
            groups.append(those)
        else:
            groups += _with_lines(those)
    if not names:
        return dict(zip(_names_of([group[0].name for group in groups]), groups, strict=True))
    maps: dict[str, list[Recording]] = {}
    for group in groups:
        lines = sorted({each.line for each in group})
        # Of the only line, or given, or of the first line.
        name = lines[0] if len(lines) == 1 else lines[0].partition('/')[0]
        if name in maps:
            raise InputError(
                f'bags of the name {name} are in several frames, or a map has the name of a line: '
                'give the bags of each frame names of their own'
            )
        maps[name] = group
    return {name: maps[name] for name in sorted(maps)}


def check_names(names: Sequence[str], count: int) -> None:
    """Refuse names that are not as many as recordings, or none of a route or a line on a map."""
    if len(names) != count:
        raise InputError(
            f'there are {len(names)} names of routes for {count} bags: name the route '
            'of each bag, in the order of the bags'
        )
    for name in names:
        empty = '/' in name and not all(name.split('/'))
        trouble = f'{name!r} names no map, or no line: write MAP/LINE' if empty else ''
        if trouble or trouble_with(name):
            raise InputError(trouble or trouble_with(name))


def bag_name(path: str) -> str:
    """Return the name of a bag, without the suffix of a file: a dot in a folder's name is none."""
    return Path(path).name if Path(path).is_dir() else Path(path).stem


def _names_of(paths: Sequence[str]) -> list[str]:
    """Return a name for each path, another one each: of the bag, or a folder that differs."""
    places = [(*Path(each).parent.parts, bag_name(each)) for each in paths]
    places = [tuple(part for part in place if part not in '/.') for place in places]
    names: list[str] = []
    for path, place in zip(paths, places, strict=True):
        alike = [each for each in places if each[-1:] == place[-1:]]
        # Of several bags of one name the innermost folder that differs, or as many as are needed.
        ups = range(1, min(map(len, alike)) + 1)
        alone = [up for up in ups if len({each[-up] for each in alike}) == len(alike)]
        parts = 1
        while parts < len(place) and len({each[-parts:] for each in alike}) < len(alike):
            parts += 1
        whole = place[-alone[0]] if alone else '_'.join(place[-parts:]) or path
        kept = ''.join(each if each.isprintable() and each not in ',/' else '_' for each in whole)
        # The end of a path says more than its beginning.
        name = kept = kept[-LONGEST_NAME:]
        number = 1
        while name in names or trouble_with(name):
            number += 1
            name = f'{kept[: LONGEST_NAME - 10]}_{number}'
        names.append(name)
    return names


def group_by_places(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """Return groups of recordings, of one plane, that share places or have the same line."""
    tracks = [positions_apart(each, LOOK_S) for each in recordings]
    alone = [merge_passes([each], LOOK_S, network=True) for each in tracks]

    def joined(one: int, other: int) -> bool:
        """Return whether both go onto one map, whatever else there is and in any order."""
        if recordings[one].line and recordings[one].line == recordings[other].line:
            return True
        first, second = alone[one], alone[other]
        if first is None or second is None:
            return False
        # Laps that close, with most visits at places of several, show how far apart laps lie.
        laps_m = [
            each.radius_m
            for each in (first, second)
            if np.mean(np.bincount(each.visited)[each.visited] > 1) >= 0.5
        ]
        if laps_m:
            # Most places are shared, or a stretch, on roads as wide as the laps.
            both = first, second
            extents_m = [float(np.linalg.norm(np.ptp(each.positions, axis=0))) for each in both]
            # By such a share of their extent laps of two days or calibrations may lie apart.
            beside_m = 0.05 * min(extents_m)
            near = [_near(*each, beside_m) for each in (both, both[::-1])]
            if near[0].mean() + near[1].mean() >= 2.0 * SHARED_LAPS:
                return True
            near = [_near(*each, min(beside_m, *laps_m)) for each in (both, both[::-1])]
            steps = [
                max([end - begin for begin, end in stretches_of(each)], default=0) for each in near
            ]
            # Lines of one map drive on one road for so many seconds: a usual window.
            return min(steps) * LOOK_S / FINENESS >= 3.0
        shared = shared_places([tracks[one], tracks[other]], LOOK_S)
        return bool(max(shared[0, 1], shared[1, 0]) >= SHARED)

    groups = _parts(len(recordings), joined)
    return [[recordings[each] for each in group] for group in groups]


def _with_lines(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """Return groups as of `group_by_places`; the drives of several routes in one get lines."""
    groups = group_by_places(recordings)
    for found in groups:
        visits = _visits([positions_apart(each, LOOK_S) for each in found], LOOK_S)
        # Whoever slides or goes around something is on a way of its own once, a line each time.
        own = np.where(visits > 1.0, visits, 0.0) @ (visits == 0.0).T
        # What drives on a part of another one alone is no line of its own.
        alike = own <= (1.0 - SAME_ROUTE) * visits.sum(axis=1)[:, None]
        lines = _parts(len(found), (alike | alike.T).item)
        if not any(each.line for each in recordings) and len(lines) > 1:
            named = _names_of([found[line[0]].name for line in lines])
            for line, name in zip(lines, named, strict=True):
                for each in line:
                    found[each] = replace(found[each], line=name)
    return groups


def _near(places: Places, others: Places, radius_m: float) -> Bools:
    """Return which visits (V,) are within a radius of other places, on the same course."""
    # A course that differs by as much as it may is as far away as the radius.
    a_course_m = radius_m / np.sqrt(2.0 - 2.0 * SAME_COURSE)
    one, other = (
        np.hstack([each.positions, a_course_m * each.headings]) for each in (places, others)
    )
    gaps, _ = cKDTree(other).query(one, distance_upper_bound=radius_m)
    near: Bools = np.isfinite(gaps)[places.visited]
    return near


def _parts(count: int, joined: Callable[[int, int], bool]) -> list[list[int]]:
    """Return the groups of so many that are joined, directly or by others, in order."""
    part_of = np.arange(count)
    for one, other in combinations(range(count), 2):
        # What is joined by others need not be asked for.
        if part_of[one] != part_of[other] and joined(one, other):
            part_of[part_of == part_of[other]] = part_of[one]
    return [np.flatnonzero(part_of == part).tolist() for part in dict.fromkeys(part_of.tolist())]


def positions_apart(recording: Recording, period_s: float) -> Floats:
    """Return the positions (T, 2) of a recording a period apart, NaN between its parts."""
    stamps = recording.imu.stamps
    # A clock that was set on the way, by years too, or a pause: nothing was driven meanwhile.
    judged = judge_stamps(stamps, max(usual_gap_ns(stamps), PAUSE_NS))
    looks, seam = [], np.full((1, 2), np.nan)
    for part in np.split(stamps[judged.kept], judged.begins[1:]):
        at = np.arange(part[0], max(part[-1], part[0] + 1), round(period_s * 1e9))
        looks += [positions_at(recording.positions, at), seam]
    return np.concatenate(looks[:-1])


def shared_places(tracks: Sequence[Floats], period_s: float) -> Floats:
    """Return the share of visits of tracks (T, 2), a period apart, at places of others (n, n)."""
    visits = _visits(tracks, period_s)
    shared: Floats = visits @ (visits > 0.0).T / np.maximum(visits.sum(axis=1), 1.0)[:, None]
    return shared


def _visits(tracks: Sequence[Floats], period_s: float) -> Floats:
    """Return how often each of n tracks visits each of P places (n, P); no place if none moves."""
    # The first visit makes the place: whatever the order of the tracks, it is the same one.
    order = sorted(range(len(tracks)), key=lambda each: tracks[each].tobytes())
    places = merge_passes([tracks[each] for each in order], period_s)
    if places is None:
        # Nothing is shared then.
        return np.eye(len(tracks))
    visits = np.zeros((len(tracks), len(places)))
    np.add.at(visits, (np.array(order)[places.segments], places.visited), 1.0)
    return visits
