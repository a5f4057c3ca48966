# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions of the training ticks that have none, for the read-out ``mkdr``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.mkdr import cross_validated, fit_position_map, within_reach
from two_manifold_ros.training.settings import estimates_positions
from two_manifold_ros.training.surroundings import surroundings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.typing import Bools, Floats

PENALTIES = (1e-4, 1e-3, 1e-2)

FEWEST = 10
"""Known positions from which a map is learned: with less, none could be left out to judge it."""


@dataclass(frozen=True)
class Completion:
    """
    Positions of every tick of the training segments, as far as they can be told.

    Parameters
    ----------
    positions
        Of each segment (T, 2), metres: those that are known, and estimates of the training ticks
        that had none; NaN at what is no training tick, and where an estimate would be a guess.
    note
        What has to be said aloud about it.

    """

    positions: list[Floats]
    note: str | None


def complete_positions(structure: Structure, positions: Sequence[Floats]) -> Completion:
    """
    Estimate positions from the windows around the training ticks.

    The manifold and the penalty are those with the least error on known positions left out.

    Parameters
    ----------
    structure
        Of the same segments.
    positions
        Of each segment (T, 2), metres, NaN where unknown.

    """
    every = np.concatenate(positions)
    ticks = structure.training.ticks
    wanted = every[ticks]
    known: Bools = np.asarray(np.isfinite(wanted).all(axis=1))
    if known.all():
        return Completion(list(positions), None)
    if np.count_nonzero(known) < FEWEST:
        note = (
            f'only {np.count_nonzero(known)} training ticks have a position, too few to estimate '
            'those of the others; let the vehicle be seen more often'
        )
        return Completion(list(positions), note)
    estimates, error_m = _best_estimates(structure, wanted, known)
    every[ticks[~known]] = estimates
    ends = np.cumsum([len(segment) for segment in positions])[:-1]
    return Completion(np.split(every, ends), _note(estimates, len(ticks), error_m))


def _note(estimates: Floats, count: int, error_m: float) -> str:
    note = (
        f'{len(estimates)} of {count} training ticks have no position; it was estimated with an '
        f'error of about {error_m:.2g} m'
    )
    left = np.count_nonzero(np.isnan(estimates[:, 0]))
    if not left:
        return note
    return (
        f'{note}, but {left} of them are unlike all that have one and stay without: let the '
        'vehicle be seen all along the track'
    )


def _best_estimates(structure: Structure, wanted: Floats, known: Bools) -> tuple[Floats, float]:
    """Return the unknown positions, NaN out of reach, and the error of known ones left out."""
    best_m, best = np.inf, (wanted, wanted[~known])
    for coordinates in surroundings(structure):
        for penalty in PENALTIES:
            error_m = cross_validated(coordinates[known], wanted[known], penalty)
            if error_m < best_m:
                found = fit_position_map(coordinates[known], wanted[known], penalty)
                best_m, best = error_m, (coordinates, found.positions(coordinates[~known]))
    coordinates, estimates = best
    inside = within_reach(coordinates[known], coordinates[~known])
    return np.where(inside[:, None], estimates, np.nan), best_m


def with_completed_positions(
    dataset: Dataset, structure: Structure, settings: TrainingSettings
) -> tuple[Dataset, Structure]:
    """Return both for reading out; the notes of the structure say what was estimated."""
    if not estimates_positions(settings):
        return dataset, structure
    completion = complete_positions(structure, [each.positions for each in dataset.segments])
    segments = tuple(
        replace(segment, positions=positions)
        for segment, positions in zip(dataset.segments, completion.positions, strict=True)
    )
    notes = structure.notes if completion.note is None else (*structure.notes, completion.note)
    return replace(dataset, segments=segments), replace(structure, notes=notes)
