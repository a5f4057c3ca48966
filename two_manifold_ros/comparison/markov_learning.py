# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an HMM learns from a lesson: symbols, and tables that begin as pieces of the track."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.codebook import learn_codebook
from two_manifold_ros.comparison.markov_tables import count_labels, improve
from two_manifold_ros.errors import InputError
from two_manifold_ros.readout.targets import training_targets, velocities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.markov_tables import MarkovTables
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats

SYMBOLS = 400
LEAST_TICKS_PER_SYMBOL = 2

RESTARTS = 3

HEADING_SHARE = 0.5
"""Weight of the velocity beside the position, so that crossing roads become different states."""

TINY = 1e-9
"""Least spread, of a vehicle that stands."""


class Learning:
    """
    A lesson turned into symbols, and the tables learned from them so far.

    Parameters
    ----------
    lesson
        With known positions at some of the ticks.

    Attributes
    ----------
    channels, codebook
        How an observation becomes a symbol.
    stretches
        Symbols of each segment.
    targets : (N, H, 2)
        Of all ticks, NaN where unknown.

    Raises
    ------
    InputError
        If no velocity is known at any tick.

    """

    def __init__(self, lesson: Lesson) -> None:
        self.channels = lesson.dataset.channels
        observations = [
            self.channels.standardise(segment.values) for segment in lesson.dataset.segments
        ]
        rows = np.concatenate(observations)
        most = min(SYMBOLS, len(rows) // LEAST_TICKS_PER_SYMBOL)
        self.codebook = learn_codebook(rows, most, seed=0)
        self.stretches = [self.codebook.symbols(each) for each in observations]
        self.targets = training_targets(
            [segment.positions for segment in lesson.dataset.segments],
            np.arange(len(rows)),
            lesson.horizons,
            lesson.period_s,
        )[:, :-1]
        self._motion = _motion(lesson.dataset.segments, lesson.period_s)
        self._ends = np.cumsum([len(each) for each in observations])
        self._tables: dict[tuple[int, int], MarkovTables] = {}

    def tables(self, states: int, passes: int) -> MarkovTables:
        """Return the tables of the restart that makes the symbols likeliest."""
        key = (states, passes)
        if key not in self._tables:
            found = [self._learn(states, passes, seed) for seed in range(RESTARTS)]
            likelihoods = [tables.filter_all(self.stretches)[1] for tables in found]
            self._tables[key] = found[int(np.argmax(likelihoods))]
        return self._tables[key]

    def _learn(self, states: int, passes: int, seed: int) -> MarkovTables:
        known: Bools = np.all(np.isfinite(self._motion), axis=1)
        places = learn_codebook(self._motion[known], states, seed)
        labels = np.full(len(known), -1, dtype=np.int64)
        labels[known] = places.symbols(self._motion[known])
        parts = np.split(labels, self._ends[:-1])
        counted = count_labels(parts, self.stretches, len(places), len(self.codebook))
        return improve(counted, self.stretches, passes)


def _motion(segments: Sequence[Segment], period_s: float) -> Floats:
    """Return position and velocity of each tick (N, 4), both in units of their spread."""
    places = np.concatenate([segment.positions for segment in segments])
    moves = np.concatenate([velocities(segment.positions, period_s) for segment in segments])
    if not np.isfinite(moves).all(axis=1).any():
        msg = 'no velocity is known at any training tick; record positions without holes'
        raise InputError(msg)
    spread = np.sqrt(np.nanvar(places, axis=0).sum())
    speed = np.sqrt(np.nanmean(np.square(moves), axis=0).sum())
    scales = (max(spread, TINY), max(speed, TINY) / HEADING_SHARE)
    return np.hstack([places / scales[0], moves / scales[1]])
