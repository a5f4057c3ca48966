# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Positions for training where there are none: on a ring, or on a route that some fixes show.

Where laps were aligned the phase is known at each tick. A model takes positions: those of a ring
whose circumference is a lap in seconds, so that its metres are seconds of a usual lap; or, from
five fixes on, those of the smoothest closed line through the fixes.
"""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.recording import check_one_plane, PositionStream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

LEAST_FIXES = 5
"""Fixes from which on a closed line is known: an affine image of the ring takes three."""

WIDEST_GAP = 0.5
"""Share of a lap without a fix from which on nothing is known of the way there."""

HARMONICS = 40
"""Waves around a lap, at most, that fixes may show: chosen, not measured."""


def on_ring(
    recording: Recording, stamps: Ints, phases: Floats, lap_s: float, topic: str = ''
) -> Recording:
    """
    Return a recording with positions on a ring, of which phase 0 lies at (radius, 0).

    Parameters
    ----------
    recording
        Whose positions are replaced.
    stamps, phases : (T,)
        When the phase is known, ns, and in laps, NaN where it is not.
    lap_s
        Usual time of a lap, the circumference.
    topic
        ``MARKS`` where phase 0 is a mark.

    """
    known = np.isfinite(phases)
    angles = 2.0 * np.pi * phases[known]
    radius = lap_s / (2.0 * math.pi)
    around = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    stream = PositionStream(topic, LAP_FRAME, '', stamps[known], around)
    return replace(recording, positions=stream)


def on_route(drives: Sequence[tuple[Recording, Ints, Floats]]) -> list[Recording]:
    """
    Return recordings with positions on one line through the fixes of all of them.

    ``drives`` are recordings, of which some may have no fixes, and as in `on_ring` stamps (T,) and
    phases (T,) that all of them count from one place.

    Raises
    ------
    InputError
        If there are fewer than `LEAST_FIXES`, half of the lap or more is without, or they are in
        several frames.

    """
    check_one_plane([recording for recording, _, _ in drives])
    streams, at, places = [], [np.empty(0)], [np.empty((0, 2))]
    for recording, stamps, phases in drives:
        fixes, known = recording.positions, np.isfinite(phases)
        if fixes is None or not known.any():
            continue
        first, last = stamps[known][[0, -1]]
        usable = fixes.usable & (fixes.stamps >= first) & (fixes.stamps <= last)
        elapsed = (fixes.stamps[usable] - first).astype(np.float64)
        at.append(np.interp(elapsed, (stamps[known] - first).astype(np.float64), phases[known]))
        places.append(fixes.positions[usable])
        streams.append(fixes)
    every = np.concatenate(at)
    names = ', '.join(recording.name for recording, _, _ in drives)
    if len(every) < LEAST_FIXES:
        msg = (
            f'{names}: {len(every)} fixes in whole laps show no route; give {LEAST_FIXES} or '
            'more, or leave the topic out for a model without positions'
        )
        raise InputError(msg)
    round_it = np.sort(every % 1.0)
    gap = float(np.diff(round_it, append=round_it[0] + 1.0).max())
    if gap >= WIDEST_GAP:
        msg = (
            f'{names}: no fix lies on {gap:.0%} of the lap, where no line can be drawn; give '
            'fixes all around it, or leave the topic out for a model without positions'
        )
        raise InputError(msg)
    wanted = [phases[np.isfinite(phases)] for _, _, phases in drives]
    line = closed_line(every, np.concatenate(places), np.concatenate(wanted))
    parts = np.split(line, np.cumsum([len(each) for each in wanted])[:-1])
    return [
        replace(
            recording,
            positions=replace(streams[0], stamps=stamps[np.isfinite(phases)], positions=part),
        )
        for (recording, stamps, phases), part in zip(drives, parts, strict=True)
    ]


def closed_line(at: Floats, places: Floats, wanted: Floats) -> Floats:
    """
    Return where a closed line through fixes is at other phases: (T, 2).

    A Gaussian process on the circle: its harmonics have variances that fall with the fourth power
    of their number, as of a way with continuous directions. How far they reach, and the noise of
    the fixes, are those by which the fixes are most likely.

    Parameters
    ----------
    at : (n,), places : (n, 2)
        Phases, in laps, and positions of the fixes.
    wanted : (T,)
        Phases asked for.

    """
    middle = places.mean(axis=0)
    size = float(np.sqrt(places.var(axis=0).sum())) or 1.0
    features, targets = _harmonics(at), (places - middle) / size
    numbers = np.repeat(np.arange(1, HARMONICS + 1), 2)
    best, found = -math.inf, np.zeros((1 + 2 * HARMONICS, 2))
    for reach in (1.0, 2.0, 4.0, 8.0, 16.0):
        shape = 1.0 / (1.0 + (numbers / reach) ** 4)
        variances = np.concatenate([[1.0], shape / shape.sum()])
        gram = (features * variances) @ features.T
        for noise in 10.0 ** np.arange(-6.0, 0.0):
            matrix = gram + noise * np.eye(len(at))
            root = np.linalg.cholesky(matrix)
            solved = np.linalg.solve(matrix, targets)
            evidence = -0.5 * float((targets * solved).sum()) - 2.0 * float(
                np.log(np.diagonal(root)).sum()
            )
            if evidence > best:
                best, found = evidence, variances[:, None] * (features.T @ solved)
    line: Floats = middle + size * (_harmonics(wanted) @ found)
    return line


def _harmonics(phases: Floats) -> Floats:
    """Return the constant, and cosines and sines of the harmonics of a lap: (T, 1 + 2 H)."""
    angles = 2.0 * np.pi * phases[:, None] * np.arange(1, HARMONICS + 1)
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(phases), -1)
    return np.column_stack([np.ones(len(phases)), waves])
