# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of past and future windows: the expensive part of a training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.mkdr_readout import cross_validated, fit_position_map, within_reach
from two_manifold_ros.hse_hmm.tables import build_tables
from two_manifold_ros.hse_hmm.two_manifold import shared_directions
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.selection import make_learner
from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end, WindowSet
from two_manifold_ros.training.settings import estimates_positions
from two_manifold_ros.training.tpsr_structure import learn_tpsr, TPSR_STATES, TpsrStructure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.hse_hmm.two_manifold import SharedDirections
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.ticks.windows import TrainingTicks
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats, Ints


FEWEST_TICKS = 50
PENALTY = 1e-3
"""Of the regression from past coordinates to states, relative to their mean variance."""


@dataclass(frozen=True)
class Structure:
    """
    Two coupled embeddings, from which tables of any number of states follow at once.

    Parameters
    ----------
    series : (d, N), begins : (s + 1,)
        Standardised observations end to end, and where the segments begin.
    training
        The training ticks and their windows.
    past, future, shifted : (n, m)
        Centred coordinates; the shifted futures are centred with the mean of the own ones.
    past_extension
        Coordinates of a past window that was not in the training set.
    coupling
        How the two are coupled.
    notes
        Sentences that have to be said aloud.

    """

    series: Floats
    begins: Ints
    training: TrainingTicks
    past: Floats
    future: Floats
    shifted: Floats
    past_extension: Extension
    coupling: str
    notes: tuple[str, ...]

    @property
    def observations(self) -> Floats:
        """Observation of each training tick: (n, d)."""
        return np.ascontiguousarray(self.series[:, self.training.ticks].T)

    def directions(self, states: int) -> SharedDirections:
        """Return the shared directions for k states; fewer where the spectrum ends."""
        return shared_directions(self.future, self.past, states - 1, self.coupling)

    def tables(self, directions: SharedDirections) -> Tables:
        """Return the tables of the HMM."""
        return build_tables(self.past, self.shifted, directions)

    def warm_start(self, directions: SharedDirections) -> Extension:
        """Return the map from a past window to the state without its constant (section 6.4)."""
        penalty = PENALTY * np.square(self.past).mean() * np.eye(self.past.shape[1])
        normal = self.past.T @ self.past / len(self.past) + penalty
        wanted = self.past.T @ (self.future @ directions.future_map) / len(self.past)
        linear = np.linalg.solve(normal, wanted)
        return self.past_extension.followed_by(linear, np.zeros(linear.shape[1]))


AnyStructure: TypeAlias = 'Structure | TpsrStructure'
"""From which tables of the HMM follow, by embeddings or by features."""


def learn_states(
    observations: Sequence[Floats], window: int, settings: TrainingSettings, neighbours: int
) -> AnyStructure:
    """Learn states in the way of the method, see `learn_structure` and `learn_tpsr`."""
    if settings.method != 'tpsr':
        return learn_structure(observations, window, settings, neighbours)
    series, begins, training = _laid_out(observations, window)
    return learn_tpsr(series, begins, training, settings.states or TPSR_STATES)


def learn_structure(
    observations: Sequence[Floats], window: int, settings: TrainingSettings, neighbours: int
) -> Structure:
    """
    Embed past and future windows of standardised segments (T, d).

    Parameters
    ----------
    observations
        Standardised observations of each segment.
    window
        Ticks in a window.
    settings
        Kernel, dimension and coupling.
    neighbours
        Of a window, for kernels that have a graph of them.

    Raises
    ------
    InputError
        If fewer than ``FEWEST_TICKS`` training ticks are left.

    """
    series, begins, training = _laid_out(observations, window)
    count = len(training.ticks)
    dimension = min(settings.dimension, count // 3)
    learner = make_learner(settings.kernel, dimension, min(neighbours, count // 3))
    past = learner.fit(training.pasts)
    future = learner.fit(training.futures)
    own = future.coordinates[training.own]
    mean = own.mean(axis=0)
    return Structure(
        series,
        begins,
        training,
        past.coordinates,
        own - mean,
        future.coordinates[training.shifted] - mean,
        past.extension,
        settings.coupling,
        tuple(dict.fromkeys(past.notes + future.notes)),
    )


def _laid_out(observations: Sequence[Floats], window: int) -> tuple[Floats, Ints, TrainingTicks]:
    """Return series, begins of segments and training ticks; refuse too few of these."""
    series, begins = lay_end_to_end(observations)
    training = find_training_ticks(series, begins, window)
    count = len(training.ticks)
    if count < FEWEST_TICKS:
        msg = (
            f'only {count} ticks have a whole window of {window} ticks before and after them; '
            f'at least {FEWEST_TICKS} are needed: record longer or shorten --window'
        )
        raise InputError(msg)
    return series, begins, training


WIDTHS = (1, 2)
"""Of the windows, in halves of a past and a future window together."""

NEIGHBOURS = (10, 30)
DIMENSION = 50


def surroundings(structure: Structure) -> Iterator[Floats]:
    r"""
    Embed windows with the training ticks in their middle, in several ways.

    A filter has only the past; here the future is known too, and together they tell places apart
    that either alone confuses. Coordinates are scaled by :math:`1 / \lambda` of the graph
    Laplacian and not by its root, so that position, where little is known of it, follows those
    that vary slowly.

    Yields
    ------
    (n, m)
        Coordinates of the training ticks.

    """
    training = structure.training
    count = len(training.ticks)
    for width in (factor * training.pasts.width for factor in WIDTHS):
        windows = WindowSet(structure.series, training.ticks - width // 2, width)
        for neighbours in NEIGHBOURS:
            learner = LaplacianEigenmap(min(DIMENSION, count // 3), min(neighbours, count // 3))
            coordinates = learner.fit(windows).coordinates
            yield coordinates * np.sqrt(np.square(coordinates).mean(axis=0))


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
