# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which recordings share places, and so are of one route or of one network of roads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import connected_components

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.head import LONGEST_NAME, trouble_with
from two_manifold_ros.recordings.recording import usual_gap_ns
from two_manifold_ros.route.merging import FINENESS, merge_passes
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.ticks.stamps import judge_stamps
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats, Ints

SHARED = 0.1
"""
Share of the places of one recording on which another one drives as well, if one map holds both.

Tram lines with a common trunk share six tenths and errands in a yard four fifths; roads that cross
share a few places. On maps of their own the lines of ``benchmarks/worlds/network.py`` are lost
after each change of the line until the window has filled again.
"""

SHARED_LAPS = 0.5
"""
The same where laps close, on average of both if they close on both.

Tracks of one room that cross, or go along each other for a bend, share .45 at most of those of
f1tenth_ipz8, 17, 19 and 20; runs of one track share .72 and more.
"""

LONG_STRETCH = 40.0
"""
Spreads of the laps along which lines of one map drive on one road, whatever they share in all.

Lines of a fork and of trams do so for 57, tracks that cross for 32 at most.
"""

LINE_SHARE = 0.05
"""
Share of its extent that a lap may lie beside another one, on another day and by another receiver.

From .035 to .1 the tracks in one room are sorted alike.
"""

SAME_ROUTE = 0.75
"""The same, if both are of one and the same route: days of one share nine tenths and more."""

LOOK_S = 0.1
"""
Seconds between positions that are compared to find what recordings share.

Roads beside each other fall together up to 16 steps apart, see `merge_passes`: at 20 m/s up to
32 m. With twice as many seconds these are 64 m; with half of it, two to three times as slow, the
tram lines and the yard of ``benchmarks/worlds/network.py`` are sorted alike.
"""

PAUSE_NS = 10 * 10**9
"""Shorter steps of the stamps do not part what is compared: messages are lost on the way."""


def sort_by_route(
    recordings: Sequence[Recording], names: Sequence[str] = ()
) -> dict[str, list[Recording]]:
    """
    Return recordings by the map that they go onto, whatever their order, each with its line.

    What shares places goes onto one map, a route and a network of roads alike: places where one
    drives as the other, in the same direction, see `merge_passes`. On the map of a network each
    recording has the name of its line: those that drive on most of the same places are of one.

    Parameters
    ----------
    recordings
        With positions.
    names
        Of the route of each; without them found out, and named after the first recording of each.
        Those of one name are of one line, whatever they share. In a name ``MAP/LINE`` the map is
        named as well: recordings of another map, or of none, never go onto it.

    Raises
    ------
    InputError
        If the names are unfit, see `check_names`, or one of a map is given in several frames.

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
            _check_one_frame(which, those)
            groups.append(those)
        else:
            groups += _with_lines(those)
    if names:
        return _by_map(groups)
    return dict(zip(_names_of([group[0].name for group in groups]), groups, strict=True))


def check_names(names: Sequence[str], count: int) -> None:
    """
    Check the names of the routes of so many recordings, which need not be read for it.

    Raises
    ------
    InputError
        If there are not as many names, or one is no name of a route or of a line on a map.

    """
    if len(names) != count:
        msg = (
            f'there are {len(names)} names of routes for {count} bags: name the route '
            'of each bag, in the order of the bags'
        )
        raise InputError(msg)
    for name in names:
        empty = '/' in name and not all(name.split('/'))
        trouble = f'{name!r} names no map, or no line: write MAP/LINE' if empty else ''
        if trouble or trouble_with(name):
            raise InputError(trouble or trouble_with(name))


def _check_one_frame(name: str, recordings: Sequence[Recording]) -> None:
    streams = [each.positions for each in recordings]
    frames = sorted({stream.frame_id for stream in streams if stream is not None})
    if len(frames) > 1:
        msg = (
            f'bags of the map {name} are in several frames ({", ".join(frames)}): give the bags '
            'of each frame a map of their own'
        )
        raise InputError(msg)


def _by_map(groups: Sequence[list[Recording]]) -> dict[str, list[Recording]]:
    """Return groups by the name of the map: that of the only line, or given, or the first line."""
    maps: dict[str, list[Recording]] = {}
    for group in groups:
        lines = sorted({each.line for each in group})
        name = lines[0] if len(lines) == 1 else lines[0].partition('/')[0]
        if name in maps:
            msg = (
                f'bags of the name {name} are in several frames, or a map has the name of a line: '
                'give the bags of each frame names of their own'
            )
            raise InputError(msg)
        maps[name] = group
    return {name: maps[name] for name in sorted(maps)}


def _names_of(paths: Sequence[str]) -> list[str]:
    """
    Return names of routes, each another one, by the paths of bags.

    A name is the name of the bag or, if several bags have it, of the innermost folder that is
    another one for each; if there is none, of the bag behind as many folders as are needed.
    """
    places = [(*Path(each).parent.parts, Path(each).stem) for each in paths]
    places = [tuple(part for part in place if part not in '/.') for place in places]
    names: list[str] = []
    for path, place in zip(paths, places, strict=True):
        alike = [each for each in places if each[-1:] == place[-1:]]
        whole = '_'.join(place[_difference(alike)]) or path
        kept = ''.join(each if each.isprintable() and each not in ',/' else '_' for each in whole)
        # The end of a path says more than its beginning.
        name = kept = kept[-LONGEST_NAME:]
        number = 1
        while name in names or trouble_with(name):
            number += 1
            name = f'{kept[: LONGEST_NAME - 10]}_{number}'
        names.append(name)
    return names


def _difference(places: Sequence[tuple[str, ...]]) -> slice:
    """Return which parts of paths are other ones for each, the last one or as few as can be."""
    ups = range(max(map(len, places)))
    one, more = [slice(-1 - up, -up or None) for up in ups], [slice(-1 - up, None) for up in ups]
    for span in (*one, *more):
        found = {each[span] for each in places}
        if len(found) == len(places) and () not in found:
            return span
    return slice(None)


def group_by_places(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """Return groups of recordings, of one plane, that share places."""
    return [[recordings[each] for each in group] for group in _parts(_on_one_map(recordings))]


def _with_lines(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """
    Return groups of recordings, of one plane, that share places or have the same line.

    Where they have no lines, those of a group that are of several routes are named.
    """
    given = [each.line for each in recordings]
    same = np.array([[bool(one) and one == other for other in given] for one in given])
    groups = []
    for group in _parts(_on_one_map(recordings) | same):
        found = [recordings[each] for each in group]
        visits = _visits([positions_apart(each, LOOK_S) for each in found], LOOK_S)
        # Whoever slides or goes around something is on a way of its own once, a line each time.
        alike = 1.0 - _missing(np.where(visits > 1.0, visits, 0.0), visits)
        # What drives on a part of another one alone is no line of its own.
        lines = _parts(alike >= SAME_ROUTE)
        if not any(given) and len(lines) > 1:
            named = _names_of([found[line[0]].name for line in lines])
            for line, name in zip(lines, named, strict=True):
                for each in line:
                    found[each] = replace(found[each], line=name)
        groups.append(found)
    return groups


def _on_one_map(recordings: Sequence[Recording]) -> Bools:
    """
    Return which recordings (n, n) go onto one map, each because of the places that it shares.

    Laps that close show how far apart laps lie. Whatever else is there, such a track is on one map
    with what shares most of its places, or a stretch that is long beside the spread of its laps.
    """
    if len(recordings) == 1:
        return np.ones((1, 1), dtype=np.bool_)
    tracks = [positions_apart(each, LOOK_S) for each in recordings]
    joined: Bools = shared_places(tracks, LOOK_S) >= SHARED
    alone = [merge_passes([each], LOOK_S, network=True) for each in tracks]
    again = [0.0 if each is None else _again(each.visited) for each in alone]
    closes = np.array(again) >= 0.5
    if not closes.any():
        return joined
    sizes = [np.linalg.norm(np.ptp(each[np.isfinite(each[:, 0])], axis=0)) for each in tracks]
    near_m = np.array([0.0 if each is None else each.radius_m for each in alone])
    wide_m = np.maximum(near_m, LINE_SHARE * np.array(sizes))
    visits = _visits(tracks, LOOK_S, network=True, widest_m=float(np.median(wide_m[closes])))
    shared = 1.0 - _missing(visits, visits)
    shared = np.where(closes[:, None], (shared + shared.T) / 2.0, shared)
    radius_m = float(np.median(near_m[closes]))
    longest_m = _longest_shared(tracks, radius_m)
    enough = (shared >= SHARED_LAPS) | (longest_m >= LONG_STRETCH * radius_m)
    joined &= enough | ~(closes[:, None] | closes)
    return joined


def _again(visited: Ints) -> float:
    """Return the share of the visits of a track (V,) at places that it visits again."""
    return float(np.mean(np.bincount(visited)[visited] > 1))


def _longest_shared(tracks: Sequence[Floats], radius_m: float) -> Floats:
    """Return how long each track drives on each other one (n, n), without a break, metres."""
    longest_m = np.zeros((len(tracks), len(tracks)))
    places = merge_passes(tracks, LOOK_S, network=True, widest_m=radius_m)
    if places is None:
        return longest_m
    step_m = places.usual_mps * LOOK_S / FINENESS
    ways = [places.visited[places.segments == each] for each in range(len(tracks))]
    for other, theirs in enumerate(ways):
        there = np.bincount(theirs, minlength=len(places)) > 0
        for each, way in enumerate(ways):
            steps = [end - begin for begin, end in stretches_of(there[way])]
            longest_m[each, other] = step_m * max(steps, default=0)
    return longest_m


def _parts(joined: Bools) -> list[list[int]]:
    """Return the groups of what is joined (n, n), one way or both, in order."""
    count, part_of = connected_components(joined, directed=False)
    return [np.flatnonzero(part_of == part).tolist() for part in range(count)]


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
    """
    Return the share of the visits of each track (n, n) that are at places of each other one.

    ``tracks`` are positions (T, 2), metres, a period apart, NaN where unknown. See `merge_passes`.
    """
    visits = _visits(tracks, period_s)
    return 1.0 - _missing(visits, visits)


def _visits(tracks: Sequence[Floats], period_s: float, **options: Any) -> Floats:  # noqa: ANN401
    """
    Return how often each of n tracks visits each of P places (n, P); no place if none moves.

    The options are those of `merge_passes`.
    """
    places = merge_passes(tracks, period_s, **options)
    if places is None:
        # Nothing is shared then.
        return np.eye(len(tracks))
    visits = np.zeros((len(tracks), len(places)))
    np.add.at(visits, (places.segments, places.visited), 1.0)
    return visits


def _missing(some: Floats, visits: Floats) -> Floats:
    """Return the share of the ``visits`` (n, P) that are ``some`` (n, P) others have none of."""
    whole = np.maximum(visits.sum(axis=1), 1.0)[:, None]
    missing: Floats = some @ (visits == 0.0).T / whole
    return missing
