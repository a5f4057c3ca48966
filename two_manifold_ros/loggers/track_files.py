# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Write estimates into files that viewers of loggers draw: GPX and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.files import replace_text
from two_manifold_ros.recordings.satellite_fixes import latitude_longitude

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.typing import Bools, Floats, Ints

SUFFIXES = ('.gpx', '.csv')
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Track:
    """Estimates of all N ticks; positions, deviations and velocities are (N, 2), or NaN."""

    stamps: Ints  # nanoseconds
    positions: Floats  # metres
    deviations: Floats  # standard deviations, metres
    velocities: Floats  # metres a second
    published: Bools  # whether the filter publishes it
    statuses: Sequence[str]  # names of the states
    origin: GeodeticOrigin | None  # where positions are zero, if it is known on earth


def check_track_path(path: str, origin: GeodeticOrigin | None, model: str) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        msg = f'{path}: the end of the name decides the format; it can be {", ".join(SUFFIXES)}'
        raise InputError(msg)
    folder = Path(path).parent
    if not folder.is_dir():
        msg = f'{path}: there is no folder {folder}; make it, or name another file'
        raise InputError(msg)
    if suffix != '.csv' and origin is None:
        msg = (
            f'{model}: this model was not trained on satellite fixes, so its positions have no '
            f'latitude and longitude for {path}; name a .csv file'
        )
        raise InputError(msg)


def write_track(path: str, track: Track) -> int:
    """
    Write a track in the format of the name, and return how many ticks are in it.

    CSV has all ticks; GPX has those that are published.
    """
    suffix = Path(path).suffix.lower()
    ticks = np.arange(len(track.stamps))
    if suffix == '.csv' or track.origin is None:
        lines = _csv(track, ticks)
    else:
        ticks = np.flatnonzero(track.published)
        lines = _gpx(track, ticks, track.origin)
    replace_text(path, lines, 'track')
    return len(ticks)


def _csv(track: Track, ticks: Ints) -> Iterator[str]:
    names = ['stamp_ns', 'time_utc', 'status', 'published', 'x_m', 'y_m', 'deviation_x_m']
    names += ['deviation_y_m', 'velocity_x_m_s', 'velocity_y_m_s']
    numbers, places = np.hstack([track.positions, track.deviations, track.velocities]), None
    if track.origin is not None:
        names += ['latitude_deg', 'longitude_deg']
        places = latitude_longitude(track.positions, track.origin)
    yield ','.join(names) + '\n'
    for tick in ticks.tolist():
        stamp = int(track.stamps[tick])
        cells = [str(stamp), _utc(stamp), track.statuses[tick], str(int(track.published[tick]))]
        cells += ['' if np.isnan(each) else f'{each:.4f}' for each in numbers[tick]]
        if places is not None:
            cells += ['' if np.isnan(each) else f'{each:.8f}' for each in places[tick]]
        yield ','.join(cells) + '\n'


def _gpx(track: Track, ticks: Ints, origin: GeodeticOrigin) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield (
        '<gpx version="1.1" creator="two_manifold_ros" '
        'xmlns="http://www.topografix.com/GPX/1/1">\n<trk><trkseg>\n'
    )
    places = latitude_longitude(track.positions[ticks], origin)
    for number, (tick, (north, east)) in enumerate(zip(ticks.tolist(), places, strict=True)):
        if number and tick != ticks[number - 1] + 1:
            # Viewers draw no line over what was not published.
            yield '</trkseg><trkseg>\n'
        yield (
            f'<trkpt lat="{north:.8f}" lon="{east:.8f}"><ele>{origin.altitude_m:.2f}</ele>'
            f'<time>{_utc(int(track.stamps[tick]))}</time></trkpt>\n'
        )
    yield '</trkseg></trk>\n</gpx>\n'


def _utc(stamp: int) -> str:
    """Return a stamp, ns, as the UTC time of GPX, in milliseconds."""
    seconds, rest = divmod(round(stamp / 1e6), 1000)
    return f'{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z'
