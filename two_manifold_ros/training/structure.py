# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of past and future windows: the dear part of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.tables import build_tables
from two_manifold_ros.kernels.selection import make_learner
from two_manifold_ros.training.tpsr_structure import learn_tpsr, TPSR_STATES, TpsrStructure
from two_manifold_ros.two_manifold.shared_directions import shared_directions
from two_manifold_ros.windows.training_ticks import find_training_ticks
from two_manifold_ros.windows.window_set import lay_end_to_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.kernels.extension import Extension
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.two_manifold.shared_directions import SharedDirections
    from two_manifold_ros.typing import Floats, Ints
    from two_manifold_ros.windows.training_ticks import TrainingTicks

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
