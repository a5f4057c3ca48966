# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make positions of wrong clocks, frames and origins out of those of a clean drive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import numpy as np
from position_changes import streams, with_positions

from two_manifold_ros.recordings.reading import MessageColumns
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import east_north, positions_of_fixes

if TYPE_CHECKING:
    from position_fault import Change

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

DAY_S = 86_400.0
ORIGIN = GeodeticOrigin(48.0, 11.0, 0.0)


def stamped(where: slice | int, by_s: float) -> Change:
    """Stamp some positions later."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        stamps[where] += round(1e9 * by_s)
        return with_positions(recording, stamps, places)

    return change


def unstamped(where: slice) -> Change:
    """Stamp some positions with zero."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        stamps[where] = 0
        return with_positions(recording, stamps, places)

    return change


def wild(count: int) -> Change:
    """Stamp single positions with any time within a day before or after."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        # Never two in a row.
        chosen = 2 * rng.choice(len(stamps) // 2, count, replace=False)
        off_s = np.exp(rng.uniform(np.log(1.0), np.log(DAY_S), count))
        stamps[chosen] += np.round(1e9 * off_s * rng.choice([-1.0, 1.0], count)).astype(np.int64)
        return with_positions(recording, stamps, places)

    return change


def delivered_late(every: int, by: int) -> Change:
    """Deliver every so many positions after others that came later, with the right stamps."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        rows = np.arange(len(stamps))
        order = np.argsort(np.where(rows % every == 0, rows + by + 0.5, rows), kind='stable')
        return with_positions(recording, stamps[order], places[order])

    return change


def clock_set(share: float, by_s: float, *, both: bool = True) -> Change:
    """Set the clock after a share of the drive: of all, or of the positions alone."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        imu = recording.imu
        stamps, places = streams(recording)
        at, by = stamps[int(share * len(stamps))], round(1e9 * by_s)
        stamps[stamps >= at] += by
        if both:
            moved = np.where(imu.stamps >= at, imu.stamps + by, imu.stamps)
            imu = replace(imu, stamps=moved, receive_stamps=moved)
        return with_positions(replace(recording, imu=imu), stamps, places)

    return change


def renamed(**fields: object) -> Change:
    """Name another frame, or another origin, of all positions."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        assert recording.positions is not None
        positions = replace(recording.positions, **fields)  # type: ignore[arg-type]  # any field
        return replace(recording, name='the faulty drive', positions=positions)

    return change


def mixed_frames(every: int, metres: float) -> Change:
    """Read a topic on which every so many positions are in a frame that is metres away."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        assert recording.positions is not None
        stamps, places = streams(recording)
        rows = [
            (stamp, 'map', (x, y)) if index % every else (stamp, 'odom', (x + metres, y))
            for index, (stamp, (x, y)) in enumerate(
                zip(stamps.tolist(), places.tolist(), strict=True)
            )
        ]
        topic: Any = SimpleNamespace(name='/reference', msgtype=recording.positions.msgtype)
        decode: Any = rows.__getitem__
        collected = MessageColumns(Path('bag'), topic, decode)
        for index, (stamp, _, _) in enumerate(rows):
            collected.add(stamp, index)  # type: ignore[arg-type]  # in place of bytes
        positions, _ = collected.positions(stamps, None)
        return replace(recording, positions=positions)

    return change


def fixes(first: list[tuple[float, float]]) -> Change:
    """Measure with a satellite receiver, whose first fixes are wrong: latitude, longitude."""

    def change(recording: Recording, _: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        measured = np.zeros((len(places), 4))
        measured[:, :2] = _fixes_at(places)
        measured[: len(first), :2] = np.reshape(first, (-1, 2))
        positions, _ = positions_of_fixes(measured, '/fix', '/fix in the drive', stamps, None)
        # In the frame of the clean drive, so that a clean model can be compared.
        assert positions.origin is not None
        here = positions.origin.latitude_deg, positions.origin.longitude_deg
        begin = east_north(*(np.array([each]) for each in (*here, 0.0)), ORIGIN)
        return with_positions(recording, positions.stamps, positions.positions + begin)

    return change


def _fixes_at(places: Floats) -> Floats:
    """Return latitude and longitude (M, 2), degrees, of places in the plane of the origin."""
    degrees = np.tile([ORIGIN.latitude_deg, ORIGIN.longitude_deg], (len(places), 1))
    per_metre = np.array([1.0 / 111_000.0, 1.0 / (111_000.0 * np.cos(np.radians(48.0)))])
    for _ in range(10):
        missed = places - east_north(*degrees.T, np.zeros(len(places)), ORIGIN)
        degrees += missed[:, ::-1] * per_metre
    return degrees
