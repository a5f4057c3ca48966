# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions for training where there are none: on a ring, or on a line that some fixes show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.recording import check_one_plane, PositionStream, Recording
from two_manifold_ros.typing import Floats, Ints

LEAST_FIXES = 5
"""Fixes from which on a closed line is known: an affine image of the ring takes three."""

HARMONICS = 40
"""Waves around a lap, at most, that fixes may show: chosen, not measured."""

REACHES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Harmonics from which on their variances fall."""

NOISES = tuple((10.0 ** np.arange(-6.0, 0.0, 0.5)).tolist())
"""Variances of fixes about the line, in squares of the size of the route."""

HUNDREDTHS = 100
"""Parts of a lap in which it is noted whether there was a fix."""


def on_line(
    drives: Sequence[tuple[Recording, Ints, Floats]], lap_s: float, topic: str = ''
) -> list[Recording]:
    """
    Return drives with positions on one line through the fixes of all of them, or on a ring.

    At stamps (T,) of each so many laps are gone (T,), all from one place. Without fixes phase 0 is
    at (radius, 0) of a ring, and ``topic`` is the topic of the positions.
    """
    placed = []
    if all(recording.positions is None for recording, _, _ in drives):
        radius = lap_s / (2.0 * math.pi)
        for recording, stamps, phases in drives:
            known = np.isfinite(phases)
            angles = 2.0 * np.pi * phases[known]
            around = radius * np.column_stack([np.cos(angles), np.sin(angles)])
            stream = PositionStream(topic, LAP_FRAME, '', stamps[known], around)
            placed.append(replace(recording, positions=stream))
        return placed
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
    line = ClosedLine()
    line.add(np.concatenate(at), np.concatenate(places))
    if line.problem:
        names = ', '.join(recording.name for recording, _, _ in drives)
        msg = f'{names}: {line.problem}, or leave the topic out for a model without positions'
        raise InputError(msg)
    drawn = line.draw()
    for recording, stamps, phases in drives:
        known = np.isfinite(phases)
        stream = replace(streams[0], stamps=stamps[known], positions=drawn.at(phases[known]))
        placed.append(replace(recording, positions=stream))
    return placed


class ClosedLine:
    """
    The line through fixes of a lap, which may come one by one.

    A Gaussian process on the circle: the variances of its harmonics fall with the fourth power of
    their number, as of a way with continuous directions. It is the mean over all `REACHES` and
    `NOISES`, each as likely as it makes the fixes, by sums of the fixes.
    """

    def __init__(self) -> None:
        size = 1 + 2 * HARMONICS
        self.fixes = 0
        self._gram, self._sums = np.zeros((size, size)), np.zeros((size, 2))
        self._squares, self._origin = 0.0, np.zeros(2)
        self._seen = np.zeros(HUNDREDTHS, dtype=np.bool_)

    def add(self, at: Floats, places: Floats) -> None:
        """Take fixes: their phases (n,), in laps, and positions (n, 2), m."""
        if not self.fixes and len(places):
            # Sums of squares about a far origin would be all that a float holds.
            self._origin = places[0].copy()
        features, apart = _harmonics(at), places - self._origin
        self.fixes += len(at)
        self._gram += features.T @ features
        self._sums += features.T @ apart
        self._squares += float(np.square(apart).sum())
        self._seen[(at % 1.0 * HUNDREDTHS).astype(np.int64) % HUNDREDTHS] = True

    @property
    def problem(self) -> str:
        """Why no line can be drawn, and the cure; empty if one can."""
        if self.fixes < LEAST_FIXES:
            return f'{self.fixes} fixes in whole laps show no route; give {LEAST_FIXES} or more'
        seen = np.flatnonzero(self._seen)
        gap = float(np.diff(seen, append=seen[0] + HUNDREDTHS).max()) / HUNDREDTHS
        # Nothing is known of the way there.
        if gap >= 0.5:
            return (
                f'no fix lies on {gap:.0%} of the lap, where no line can be drawn; give fixes all '
                'around it'
            )
        return ''

    def draw(self) -> DrawnLine:
        """Return the line through all fixes so far."""
        count = self.fixes
        # The constant is the first feature, and its products with all are the sums of all.
        middle = self._sums[0] / count
        sums = self._sums - np.outer(self._gram[0], middle)
        squares = max(self._squares - count * float(middle @ middle), 0.0)
        size = math.sqrt(squares / count) or 1.0
        sums, squares = sums / size, squares / size**2
        numbers = np.repeat(np.arange(1, HARMONICS + 1), 2)
        evidences, lines, spreads, noises = [], [], [], []
        for reach in REACHES:
            shape = 1.0 / (1.0 + (numbers / reach) ** 4)
            roots = np.sqrt(np.concatenate([[1.0], shape / shape.sum()]))
            scaled, targets = roots[:, None] * self._gram * roots, roots[:, None] * sums
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
                spread = np.linalg.solve(factor, np.diag(roots))
                spreads.append(noise * spread.T @ spread)
                noises.append(noise)
        chances = np.exp(np.array(evidences) - max(evidences))
        chances /= chances.sum()
        weights = np.einsum('k,kfc->fc', chances, np.array(lines))
        apart = np.array(lines) - weights
        covariance = np.einsum('k,kfg->fg', chances, np.array(spreads))
        covariance += 0.5 * np.einsum('k,kfc,kgc->fg', chances, apart, apart)
        return DrawnLine(
            self._origin + middle,
            size * weights,
            size**2 * covariance,
            size**2 * float(chances @ noises),
        )


@dataclass(frozen=True)
class DrawnLine:
    """
    A closed line by the ``weights`` (1 + 2 H, 2) of a constant and of cosines and sines, m.

    They are about the mean of the fixes, with the covariance (1 + 2 H, 1 + 2 H) of the weights,
    the mean of both coordinates. Fixes lie about the line with a variance ``noise_m2`` of a
    coordinate.
    """

    middle: Floats
    weights: Floats
    covariance: Floats
    noise_m2: float

    def at(self, phases: Floats) -> Floats:
        """Return the positions at phases (T,), in laps: (T, 2)."""
        positions: Floats = self.middle + _harmonics(phases) @ self.weights
        return positions

    def variances(self, phases: Floats) -> Floats:
        """Return the variance of each coordinate of the line, m^2: (T,)."""
        return self._variances(_harmonics(phases))

    def tangents(self, phases: Floats) -> tuple[Floats, Floats]:
        """Return how positions change with the phase, m in a lap (T, 2), and variances (T,)."""
        waves = _harmonics(phases)[:, 1:].reshape(len(phases), HARMONICS, 2)
        rates = 2.0 * np.pi * np.arange(1, HARMONICS + 1)
        turned = np.stack([-rates * waves[:, :, 1], rates * waves[:, :, 0]], axis=2)
        slopes = np.column_stack([np.zeros(len(phases)), turned.reshape(len(phases), -1)])
        return slopes @ self.weights, self._variances(slopes)

    def _variances(self, features: Floats) -> Floats:
        """Return the variances of (T, F) features of the weights: (T,)."""
        found = np.einsum('tf,fg,tg->t', features, self.covariance, features, optimize=True)
        return np.asarray(np.maximum(found, 0.0))


def _harmonics(phases: Floats) -> Floats:
    """Return the constant, and cosines and sines of the harmonics of a lap: (T, 1 + 2 H)."""
    angles = 2.0 * np.pi * phases[:, None] * np.arange(1, HARMONICS + 1)
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(phases), -1)
    return np.column_stack([np.ones(len(phases)), waves])
