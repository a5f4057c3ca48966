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
from two_manifold_ros.recordings.recording import PositionStream

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

LEAST_FIXES = 5
"""Fixes from which on a closed line is known: an affine image of the ring takes three."""

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


def on_route(recording: Recording, stamps: Ints, phases: Floats) -> Recording:
    """
    Return a recording with positions on the line through its fixes, at each (T,) stamp.

    Raises
    ------
    InputError
        If there are fewer than `LEAST_FIXES`, or they are all of one part of the lap.

    """
    fixes = recording.positions
    known = np.isfinite(phases)
    if fixes is None:
        msg = f'{recording.name}: there are no fixes'
        raise InputError(msg)
    usable = fixes.usable & (fixes.stamps >= stamps[0]) & (fixes.stamps <= stamps[-1])
    at = np.interp(
        (fixes.stamps[usable] - stamps[0]).astype(np.float64),
        (stamps[known] - stamps[0]).astype(np.float64),
        phases[known],
    )
    places = fixes.positions[usable]
    if len(places) < LEAST_FIXES:
        msg = (
            f'{recording.name}: {len(places)} fixes on {fixes.topic} show no route; give '
            f'{LEAST_FIXES} or more, or leave the topic out for a model without positions'
        )
        raise InputError(msg)
    line = closed_line(at, places, phases[known])
    return replace(recording, positions=replace(fixes, stamps=stamps[known], positions=line))


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
