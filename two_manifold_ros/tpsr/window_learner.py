# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR of a sensor: windows are tests and histories, and ticks are remembered."""

from __future__ import annotations

import itertools
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner, Triples
from two_manifold_ros.tpsr.thin_svd import Move

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.features import FeatureMap
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats, Ints

SEAM = 1_000_000_000
"""Ticks by which numbers of ticks jump where a stretch ends: more than any horizon."""

AT_ONCE = 256
"""Ticks whose windows become features together, in 2 MB of 1,000 features."""


class RememberedTicks(NamedTuple):
    r"""Ticks of which a state says how much it is like what came before each of them."""

    numbers: Ints  # (n,) int64, of the ticks, ascending; with a jump between two stretches
    histories: Floats  # (n, r), coordinates of their histories in the right basis, V' varphi^H_t
    features: Floats  # (n, p), of their observations, varphi^O_t


class WindowLearner:
    r"""
    Learn a TPSR from a stream of observations and remember ticks, both in bounded memory.

    The test of a tick is the window of ``width`` observations that starts with it, the next test
    the window a tick later, and the history the window that ends just before it: each is learned
    when its next test is whole, by Boots & Gordon 2011, eq. 8 and 9, never over the end of a
    stretch. Of the ticks ``most`` of the newest are remembered. A state b gives tick t the weight
    :math:`b^\top\hat S^{-1}\hat V^\top\varphi^H_t`: the mean under these weights is to any
    quantity what eq. 6d and 7c are to the next test. By it positions are read. Features of windows
    (width d,) are channel by channel, with the constant last. ``begin`` is the number of the next
    tick.
    """

    def __init__(
        self,
        windows: FeatureMap,
        observations: FeatureMap,
        width: int,
        settings: LearnerSettings,
        most: int,
    ) -> None:
        self.windows, self.observations, self.width = windows, observations, width
        self._most = most
        constant = np.zeros(windows.size)
        constant[-1] = 1.0
        self.learner = OnlineLearner(settings, constant, windows.size, observations.size)
        none = np.zeros(0, dtype=np.int64)
        self.remembered = RememberedTicks(none, np.zeros((0, 0)), np.zeros((0, observations.size)))
        # The last window of observations, and features of windows of the next histories and tests.
        self._seen = np.zeros((0, observations.inputs))
        self._features = np.zeros((0, windows.size))
        self.begin = 0

    def end_stretch(self) -> None:
        """Let no window reach from what came to what comes next."""
        self._seen, self._features = self._seen[:0], self._features[:0]
        self.begin += SEAM

    def learn(self, seen: Floats) -> Move:
        """Go on with the observations (T, d) that come next; return the move of the bases."""
        whole = Move.none(len(self.learner.svd.values))
        for first in range(0, len(seen), AT_ONCE):
            whole = self._learn(seen[first : first + AT_ONCE]).after(whole)
        return whole

    def _learn(self, new: Floats) -> Move:
        width, seen = self.width, np.concatenate([self._seen, new])
        whole_windows = max(min(len(new), len(seen) - width + 1), 0)
        features = self._features
        if whole_windows:
            rows = sliding_window_view(seen, width, axis=0)[-whole_windows:]
            newest = self.windows.transform(rows.reshape(whole_windows, -1))
            features = np.concatenate([features, newest])
        self._seen, self._features = seen[-width:], features[-width - 1 :]
        self.begin += len(new)
        # Ticks whose next test is a new window, and whose history is there.
        count = min(whole_windows, len(features) - width - 1)
        if count <= 0:
            return Move.none(len(self.learner.svd.values))
        last = len(features) - 1
        observed = self.observations.transform(seen[-width - count : -width])
        histories = features[last - width - count : last - width]
        tests, next_tests = features[last - count : last], features[-count:]
        move = self.learner.add_all(
            Triples(tests, next_tests, histories, observed, np.ones(count))
        )
        old = self.remembered
        parts = (
            (old.numbers, self.begin - width - count + np.arange(count)),
            (old.histories @ move.right.T, self.learner.svd.down.coordinates(histories)),
            (old.features, observed),
        )
        self.remembered = RememberedTicks(*(np.concatenate(each)[-self._most :] for each in parts))
        return move

    def parameters(self) -> tuple[Tpsr, Floats]:
        """Return the parameters of now, and the table (n, k) from a state to weights."""
        tpsr = self.learner.parameters()
        values = self.learner.svd.values[: tpsr.states]
        histories = self.remembered.histories[:, : tpsr.states]
        ages = np.arange(len(histories))[::-1, None]
        return tpsr, np.exp(-ages / self.learner.settings.memory) * histories / values


def stretches_of(numbers: Ints) -> list[tuple[int, int]]:
    """Return where each stretch of ascending numbers of ticks begins and ends, as indices."""
    seams = 1 + np.flatnonzero(np.diff(numbers) != 1)
    return list(itertools.pairwise([0, *seams.tolist(), len(numbers)]))
