# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Positions for training where there are none: on a ring, or on a route that some fixes show.

A model takes positions: on a ring whose circumference is a lap in seconds, so that its metres are
seconds of a usual lap; or, from five fixes on, on the smoothest closed line through the fixes.
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

REACHES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Harmonics from which on their variances fall."""

NOISES = tuple((10.0 ** np.arange(-6.0, 0.0, 0.5)).tolist())
"""Variances of fixes about the line, in squares of the size of the route."""

HUNDREDTHS = 100
"""Parts of a lap in which it is noted whether there was a fix."""


def on_ring(
    recording: Recording, stamps: Ints, phases: Floats, lap_s: float, topic: str = ''
) -> Recording:
    """
    Return a recording with positions on a ring, of which phase 0 lies at (radius, 0).

    ``phases`` (T,) are in laps, NaN where they are not known; the usual time of a lap is the
    circumference. The topic is ``MARKS`` if phase 0 is a mark.
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
    phases (T,) that all of them count from one place. An `InputError` refuses fewer fixes than
    `LEAST_FIXES`, fixes in several frames, and half of a lap without any.
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
    if problem := _why_no_line(np.concatenate(at)):
        names = ', '.join(recording.name for recording, _, _ in drives)
        msg = f'{names}: {problem}, or leave the topic out for a model without positions'
        raise InputError(msg)
    wanted = [phases[np.isfinite(phases)] for _, _, phases in drives]
    drawn = closed_line(np.concatenate(at), np.concatenate(places), np.concatenate(wanted))
    parts = np.split(drawn, np.cumsum([len(each) for each in wanted])[:-1])
    return [
        replace(
            recording,
            positions=replace(streams[0], stamps=stamps[np.isfinite(phases)], positions=part),
        )
        for (recording, stamps, phases), part in zip(drives, parts, strict=True)
    ]


def _why_no_line(at: Floats) -> str:
    """Return why fixes at these phases show no line, and the cure; empty if they do."""
    if len(at) < LEAST_FIXES:
        return f'{len(at)} fixes in whole laps show no route; give {LEAST_FIXES} or more'
    seen = np.unique((at % 1.0 * HUNDREDTHS).astype(np.int64) % HUNDREDTHS)
    gap = float(np.diff(seen, append=seen[0] + HUNDREDTHS).max()) / HUNDREDTHS
    if gap < WIDEST_GAP:
        return ''
    return f'no fix lies on {gap:.0%} of the lap: no line can be drawn; give fixes all around it'


def closed_line(at: Floats, places: Floats, wanted: Floats) -> Floats:
    """
    Return positions (W, 2) at phases on the closed line through fixes, (n, 2) at phases (n,).

    A Gaussian process on the circle: its harmonics have variances that fall with the fourth power
    of their number, as of a way with continuous directions. How far they reach, and the noise of
    the fixes, are unknown: the line is the mean of the lines of all `REACHES` and `NOISES`, each
    as likely as it makes the fixes.
    """
    # Sums of squares about a far origin would be all that a float holds.
    origin, count = places[0], len(at)
    features, apart = _harmonics(at), places - places[0]
    gram, products = features.T @ features, features.T @ apart
    # The constant is the first feature, and its products with all are the sums of all.
    middle = products[0] / count
    sums = products - np.outer(gram[0], middle)
    squares = max(float(np.square(apart).sum()) - count * float(middle @ middle), 0.0)
    size = math.sqrt(squares / count) or 1.0
    sums, squares = sums / size, squares / size**2
    numbers = np.repeat(np.arange(1, HARMONICS + 1), 2)
    evidences, lines = [], []
    for reach in REACHES:
        shape = 1.0 / (1.0 + (numbers / reach) ** 4)
        roots = np.sqrt(np.concatenate([[1.0], shape / shape.sum()]))
        scaled, targets = roots[:, None] * gram * roots, roots[:, None] * sums
        for noise in NOISES:
            factor = np.linalg.cholesky(scaled + noise * np.eye(len(roots)))
            half = np.linalg.solve(factor, targets)
            # Both coordinates have the same covariance, so its determinant counts twice.
            determinant = (count - len(roots)) * math.log(noise) + 2.0 * float(
                np.log(np.diagonal(factor)).sum()
            )
            left = squares - float(np.square(half).sum())
            evidences.append(-0.5 * left / noise - determinant)
            lines.append(roots[:, None] * np.linalg.solve(factor.T, half))
    chances = np.exp(np.array(evidences) - max(evidences))
    chances /= chances.sum()
    weights = np.einsum('k,kfc->fc', chances, np.array(lines))
    positions: Floats = origin + middle + _harmonics(wanted) @ (size * weights)
    return positions


def _harmonics(phases: Floats) -> Floats:
    """Return the constant, and cosines and sines of the harmonics of a lap: (T, 1 + 2 H)."""
    angles = 2.0 * np.pi * phases[:, None] * np.arange(1, HARMONICS + 1)
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(phases), -1)
    return np.column_stack([np.ones(len(phases)), waves])
