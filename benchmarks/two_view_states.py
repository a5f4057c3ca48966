# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
States of one or two views of a drive, learned without positions, and read with few of them.

Boots and Gordon (2012), section 3: what two views of the same hidden state share is the state;
the noise of each, independent given the state, averages out. A `State` is learned from the windows
of a training part and computed from the window before any tick; `read` learns positions from the
states of labelled ticks. All learners go through the same two functions.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.tables import shared_directions
from two_manifold_ros.manifold.selection import make_learner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.manifold.learner import Embedding
    from two_manifold_ros.ticks.windows import WindowSet
    from two_manifold_ros.typing import Bools, Floats, Ints

KERNELS = {'manifold': 'laplacian-eigenmap', 'gaussian': 'gaussian', 'linear': 'linear'}
"""Kernels of two views by the names in the tables; linear with whitening is linear CCA."""

ONE_VIEW = 'one view'
"""The eigenmap of the first view alone: what the second view adds shows beside it."""

RAW = 'raw windows'
LEARNERS = (*KERNELS, ONE_VIEW, RAW)

DIMENSION, NEIGHBOURS = 100, 30
"""As `TrainingSettings` and, of the neighbours, the smaller candidate of a training."""

STATES = (10, 20, 40)
"""Coordinates of a state that are tried; those of the papers' experiments are 20 and 40."""


@dataclass(frozen=True)
class Views:
    """Windows of a training part and of what is followed."""

    # Of each training tick, (n) windows each: row i of both shows the same hidden state.
    first: WindowSet
    second: WindowSet
    followed: WindowSet  # first view of each tick that is followed


@dataclass(frozen=True)
class State:
    """States (n, k) of training ticks and (T, k) of those that are followed."""

    training: Floats
    followed: Floats


def learn_state(views: Views, learner: str) -> State:
    """
    Learn a state without positions.

    Of two views it is the regression on the first view of the directions that both share
    (mathematics, section 4), so that of a direction that the first view cannot predict nothing is
    left.
    """
    if learner == RAW:
        return _principal(views)
    part = views.first
    most = len(part) // 3
    kernel = KERNELS.get(learner, KERNELS['manifold'])
    maker = make_learner(kernel, min(DIMENSION, most), min(NEIGHBOURS, most))
    past = maker.fit(part)
    if learner == ONE_VIEW:
        linear = np.eye(past.coordinates.shape[1], max(STATES))
    else:
        future = maker.fit(views.second).coordinates
        coupling = 'canonical' if learner == 'linear' else 'cross-covariance'
        directions = shared_directions(future, past.coordinates, max(STATES), coupling)
        wanted = future @ directions.future_map
        linear = _ridge(past.coordinates, wanted, 1e-3)
    return State(past.coordinates @ linear, _extended(past, part, views.followed) @ linear)


def _principal(views: Views) -> State:
    """Return raw windows in their principal coordinates, which changes no large distance."""
    training = views.first.rows(np.arange(len(views.first)))
    followed = views.followed.rows(np.arange(len(views.followed)))
    mean = training.mean(axis=0)
    covariance = (training - mean).T @ (training - mean)
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :DIMENSION]
    return State((training - mean) @ axes, (followed - mean) @ axes)


def _ridge(rows: Floats, wanted: Floats, share: float) -> Floats:
    """Return the (m, k) map of a ridge regression; the penalty as a share of the mean square."""
    count, width = rows.shape
    penalty = share * count * float(np.square(rows).mean()) or 1.0
    linear: Floats = np.linalg.solve(rows.T @ rows + penalty * np.eye(width), rows.T @ wanted)
    return linear


def _extended(past: Embedding, part: WindowSet, windows: WindowSet) -> Floats:
    """Return coordinates (T, m) of windows; the mean's for one that resembles none."""
    found = np.zeros((len(windows), past.coordinates.shape[1]))
    for begin in range(0, len(windows), 512):
        rows = windows.rows(np.arange(begin, min(begin + 512, len(windows))))
        for at, squared in enumerate(part.distances_from(rows).T):
            coordinates = past.extension.transform(squared)
            if coordinates is not None:
                found[begin + at] = coordinates
    return found


@dataclass(frozen=True)
class Reader:
    """How positions are read from states."""

    states: int  # leading coordinates that are used
    neighbours: int  # labelled states whose positions are averaged; 0 for a ridge regression
    penalty: float  # of the regression, as a share of the mean square

    def read(self, labelled: Floats, positions: Floats, asked: Floats) -> Floats:
        """Return (T, 2) positions at asked states."""
        labelled, asked = labelled[:, : self.states], asked[:, : self.states]
        if not self.neighbours:
            centre, middle = labelled.mean(axis=0), positions.mean(axis=0)
            linear = _ridge(labelled - centre, positions - middle, self.penalty)
            read_off: Floats = (asked - centre) @ linear + middle
            return read_off
        count = min(self.neighbours, len(labelled))
        _, near = cKDTree(labelled).query(asked, range(1, count + 1))
        found: Floats = positions[near].mean(axis=1)
        return found


ENOUGH = 400
"""Labels that a reader is chosen by, at most."""


def readers(width: int) -> Iterator[Reader]:
    """Yield those that are tried for states of a width."""
    for states in dict.fromkeys(min(each, width) for each in (*STATES, DIMENSION)):
        for neighbours in (1, 3):
            yield Reader(states, neighbours, 0.0)
        for penalty in (1e-3, 1e-1, 1.0):
            yield Reader(states, 0, penalty)


def read(
    tried: Sequence[State], labels: Ints, positions: Floats, folds: int = 5
) -> tuple[Floats, int]:
    """
    Read positions with the window and the reader that err least on labels left out.

    Labels, in the order of time, are left out in as many consecutive parts, so that a part has
    its neighbours in time at its edges only.

    ``tried``: states by the window that they were learned with. ``labels`` (l,), ``positions`` (n,
    2): training ticks whose positions are known, and the positions of all. Returned is
    ``followed`` (T, 2), best: positions, and which of the states it was.
    """
    every = labels
    # Of many labels an even sample does to choose.
    labels = every[np.unique(np.linspace(0, len(every) - 1, ENOUGH).astype(np.int64))]
    parts = np.array_split(np.arange(len(labels)), min(folds, len(labels)))
    least, found, best = math.inf, np.empty((0, 2)), 0
    for at, state in enumerate(tried):
        known, places = state.training[labels], positions[labels]
        for reader in readers(known.shape[1]):
            squares = 0.0
            for part in parts:
                kept: Bools = np.ones(len(labels), dtype=np.bool_)
                kept[part] = False
                if not kept.any():
                    return np.tile(places.mean(axis=0), (len(state.followed), 1)), at
                guessed = reader.read(known[kept], places[kept], known[part])
                squares += float(np.square(guessed - places[part]).sum())
            if squares < least:
                least, best = squares, at
                found = reader.read(state.training[every], positions[every], state.followed)
    if not len(found):
        msg = 'no state can be read'
        raise InputError(msg)
    return found, best
