# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Embed past and future windows, and estimate positions from the windows around a tick."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.mkdr import cross_validated, fit_position_map, within_reach
from two_manifold_ros.hse_hmm.tables import build_tables, Tables
from two_manifold_ros.hse_hmm.two_manifold import (
    shared_directions,
    SharedDirections,
)
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.selection import make_learner
from two_manifold_ros.ticks.novelty import contrast, NoveltyAnchors
from two_manifold_ros.ticks.rest import longest_stuck
from two_manifold_ros.ticks.windows import (
    find_training_ticks,
    lay_end_to_end,
    TrainingTicks,
    WindowSet,
)
from two_manifold_ros.training.summary import TWICE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import EmbeddedSettings
    from two_manifold_ros.typing import Bools, Floats, Ints


@dataclass(frozen=True)
class Embeddings:
    """
    Two coupled manifolds of windows, from which tables of any number of states follow.

    The series (d, N) are standardised observations end to end, and segments start at ``begins`` (s
    + 1,). Coordinates (n, m) of past, future and shifted windows are centred, the shifted ones
    with the mean of the future ones. If not ``guarded``, growing modes stay as they are.
    """

    series: Floats
    begins: Ints
    training: TrainingTicks
    notes: tuple[str, ...]
    past: Floats
    future: Floats
    shifted: Floats
    past_extension: Extension
    coupling: str
    guarded: bool

    @property
    def observations(self) -> Floats:
        """Observation of each training tick: (n, d)."""
        return np.ascontiguousarray(self.series[:, self.training.ticks].T)

    def directions(self, states: int) -> SharedDirections:
        """Return the directions that both manifolds share for k states; fewer if they end."""
        return shared_directions(self.future, self.past, states - 1, self.coupling)

    def tables(self, directions: SharedDirections) -> Tables:
        """Return the tables of the HMM."""
        return build_tables(self.past, self.shifted, directions, stable=self.guarded)

    def warm_start(self, directions: SharedDirections) -> Extension:
        """Return the map by ridge regression from the past to states, mathematics (6.4)."""
        penalty = 1e-3 * np.square(self.past).mean() * np.eye(self.past.shape[1])
        normal = self.past.T @ self.past / len(self.past) + penalty
        wanted = self.past.T @ (self.future @ directions.future_map) / len(self.past)
        linear = np.linalg.solve(normal, wanted)
        known = self.past_extension
        return replace(known, table=known.table @ linear, offset=known.offset @ linear)


NEIGHBOURS = (30, 100)
"""
Nearest neighbours of a window in a graph: few, and many for many laps that are alike, of which few
follow the speed first. With fewer than ten windows each, many join places far apart.
"""


def embed(observations: Sequence[Floats], window: int, settings: EmbeddedSettings) -> Embeddings:
    """Embed the windows of standardised segments (T, d); ``InputError`` of fewer than 50 ticks."""
    series, begins = lay_end_to_end(observations)
    training = find_training_ticks(series, begins, window)
    check_count(training)
    most = len(training.ticks) // 3
    neighbours = min(settings.neighbours or NEIGHBOURS[0], most)
    learner = make_learner(settings.kernel, min(settings.dimension, most), neighbours)
    past, future = learner.fit(training.pasts), learner.fit(training.futures)
    own = future.coordinates[training.own]
    mean = own.mean(axis=0)
    return Embeddings(
        series,
        begins,
        training,
        tuple(dict.fromkeys(past.notes + future.notes)),
        past.coordinates,
        own - mean,
        future.coordinates[training.shifted] - mean,
        past.extension,
        settings.coupling,
        settings.guarded,
    )


def check_count(training: TrainingTicks) -> None:
    """Refuse training ticks that are too few to learn anything from."""
    count, fewest, window = len(training.ticks), 50, training.pasts.width
    if count < fewest:
        msg = (
            f'only {count} ticks have a whole window of {window} ticks before and after them; '
            f'at least {fewest} are needed: record longer or shorten --window'
        )
        raise InputError(msg)


def novelty_anchors(windows: WindowSet, *, spliced: bool = False) -> NoveltyAnchors:
    """
    Return the novelty that is typical for unseen windows of the route, and of another route.

    Each window of an even sample is compared with those that start at least two windows before or
    after it. The same windows with their halves swapped stand for another route: bends that occur,
    in an order that does not. ``spliced`` ones, whose second half is of any other window, stand
    for it too, if they are less alike: of nearly a lap swapped halves are the route itself.
    """
    # More windows change the medians by less than one lap differs from the next.
    count = min(len(windows), 200)
    chosen = np.linspace(0, len(windows) - 1, count).astype(np.int64)
    rows = windows.rows(chosen)
    half = windows.width // 2 * len(windows.series)
    swapped = np.concatenate([rows[:, half:], rows[:, :half]], axis=1)
    squared, own = _nearest_and_contrast(windows, chosen, rows)
    _, other = _nearest_and_contrast(windows, chosen, swapped)
    if spliced:
        drawn = np.random.default_rng(0).permutation(count)
        mixed = np.concatenate([rows[:, :half], rows[drawn, half:]], axis=1)
        other = max(other, _nearest_and_contrast(windows, chosen, mixed)[1])
    return NoveltyAnchors(squared, own, other, longest_stuck(windows.series))


def anchors_of(dataset: Dataset, pasts: WindowSet, *, spliced: bool = True) -> NoveltyAnchors:
    """Return `novelty_anchors` of the past windows of a dataset; refuse windows that recur."""
    novelty = novelty_anchors(pasts, spliced=spliced)
    # Mean square differences, in standard deviations, below 1e-9 are rounding.
    if not novelty.squared > 1e-9 * pasts.width * len(pasts.series):
        raise InputError(TWICE)
    return replace(novelty, still=max(novelty.still, dataset.still))


def _nearest_and_contrast(windows: WindowSet, chosen: Ints, rows: Floats) -> tuple[float, float]:
    """Return the medians over the rows, which are made of the chosen windows."""
    distances = windows.distances_from(rows)
    nearest, contrasts = [], []
    for index, row in zip(chosen, distances.T, strict=True):
        away = np.abs(windows.starts - windows.starts[index])
        # Where the drive is too short for two windows, the farthest is all there is.
        kept = row[away >= min(2 * windows.width, int(away.max()))]
        nearest.append(float(kept.min()))
        contrasts.append(contrast(nearest[-1], float(kept.mean())))
    return float(np.median(nearest)), float(np.median(contrasts))


def impute_dataset(dataset: Dataset, embeddings: Embeddings) -> tuple[Dataset, Embeddings]:
    """Return both with positions imputed; the notes of the embeddings say what was estimated."""
    tracks, note = impute_positions(embeddings, dataset.tracks)
    segments = tuple(
        replace(segment, positions=positions)
        for segment, positions in zip(dataset.segments, tracks, strict=True)
    )
    notes = (*embeddings.notes, note) if note else embeddings.notes
    return replace(dataset, segments=segments), replace(embeddings, notes=notes)


def impute_positions(
    embeddings: Embeddings, tracks: Sequence[Floats]
) -> tuple[list[Floats], str | None]:
    """
    Estimate unknown positions of training ticks from the windows around them.

    The manifold and the penalty are those with the least error on known positions left out.
    Returned are the tracks (T, 2), still NaN where an estimate would be a guess, and a sentence.
    """
    every = np.concatenate(tracks)
    ticks = embeddings.training.ticks
    wanted = every[ticks]
    known: Bools = np.asarray(np.isfinite(wanted).all(axis=1))
    if known.all():
        return list(tracks), None
    # With fewer none could be left out to judge the map by.
    if np.count_nonzero(known) < 10:
        note = (
            f'only {np.count_nonzero(known)} training ticks have a position, too few to estimate '
            'the positions of the others; let the vehicle be seen more often'
        )
        return list(tracks), note
    estimates, error_m = _best_estimates(embeddings, wanted, known)
    every[ticks[~known]] = estimates
    note = (
        f'{len(estimates)} of {len(ticks)} training ticks have no position; it was estimated '
        f'with an error of about {error_m:.2g} m'
    )
    left = np.count_nonzero(np.isnan(estimates[:, 0]))
    if left:
        note += (
            f', but {left} of them are unlike all that have one and stay without: let the '
            'vehicle be seen all along the track'
        )
    ends = np.cumsum([len(segment) for segment in tracks])[:-1]
    return np.split(every, ends), note


def _best_estimates(embeddings: Embeddings, wanted: Floats, known: Bools) -> tuple[Floats, float]:
    """Return the unknown positions, NaN out of reach, and the error of known ones left out."""
    best_m, best = np.inf, (wanted, wanted[~known])
    for coordinates in embed_surroundings(embeddings):
        for penalty in (1e-4, 1e-3, 1e-2):
            error_m = cross_validated(coordinates[known], wanted[known], penalty)
            if error_m < best_m:
                found = fit_position_map(coordinates[known], wanted[known], penalty)
                best_m, best = error_m, (coordinates, found.positions(coordinates[~known]))
    coordinates, estimates = best
    inside = within_reach(coordinates[known], coordinates[~known])
    return np.where(inside[:, None], estimates, np.nan), best_m


def embed_surroundings(embeddings: Embeddings) -> Iterator[Floats]:
    r"""
    Embed windows with the training ticks in their middle, in several ways: (n, m) each.

    Past and future together distinguish places that either alone confuses. Coordinates are scaled
    by :math:`1 / \lambda` of the graph Laplacian, so that position follows those that vary slowly.
    """
    training = embeddings.training
    count = len(training.ticks)
    # As wide as a past window, and as a past and a future one together.
    for width in (training.pasts.width, 2 * training.pasts.width):
        windows = WindowSet(embeddings.series, training.ticks - width // 2, width)
        for neighbours in (10, 30):
            learner = LaplacianEigenmap(min(50, count // 3), min(neighbours, count // 3))
            coordinates = learner.fit(windows).coordinates
            yield coordinates * np.sqrt(np.square(coordinates).mean(axis=0))
