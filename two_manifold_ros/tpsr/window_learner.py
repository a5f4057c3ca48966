# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR of a sensor: windows are tests and histories, and ticks are remembered."""

from __future__ import annotations

import itertools
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.tpsr.learner import OnlineLearner, Triples
from two_manifold_ros.tpsr.thin_svd import Move

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.features import FeatureMap
    from two_manifold_ros.tpsr.learner import LearnerSettings
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats, Ints

SEAM = 1_000_000_000
"""Ticks by which numbers of ticks jump where a stretch ends: more than any horizon."""

AT_ONCE = 256
"""
New ticks whose windows become features together: 2 MB of 1,000 features.

With fewer, the two windows before them, which are needed once more, take longer than they do.
"""


class RememberedTicks(NamedTuple):
    r"""
    Ticks of which a state says how much it is like what came before each of them.

    Parameters
    ----------
    numbers : (n,) int64
        Of the ticks, ascending; with a jump between two stretches.
    histories : (n, r)
        Coordinates of their histories in the right basis, :math:`\hat V^\top\varphi^H_t`.
    features : (n, p)
        Of their observations, :math:`\varphi^O_t`.

    """

    numbers: Ints
    histories: Floats
    features: Floats


class WindowLearner:
    r"""
    Learn a TPSR from a stream of observations and remember ticks, both in bounded memory.

    The test of a tick is the window of observations that starts with it, the next test that which
    starts a tick later, and the history that which ends just before it: each is learned when its
    next test is whole, by Boots & Gordon 2011, eq. 8 and 9. Windows never reach over the end of a
    stretch.

    A state b gives the remembered tick t the weight
    :math:`b^\top\hat S^{-1}\hat V^\top\varphi^H_t`: the mean over the ticks with these weights
    is to any quantity what Boots & Gordon 2011, eq. 6d and 7c, is to the next test. By it
    positions are read.

    Parameters
    ----------
    windows
        Features of windows (width d,) channel by channel, with the constant as the last one.
    observations
        Features of observations.
    width
        Ticks in a window.
    settings
        How the operators are learned.
    most
        Newest ticks that are remembered.

    Attributes
    ----------
    learner
        What the stream has been learned by.
    remembered
        The ticks that are remembered, in the present bases.
    begin
        Number of the next tick that comes.

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
        self._before = np.zeros((0, observations.inputs))
        self.begin = 0

    def end_stretch(self) -> None:
        """Let no window reach from what came to what comes next."""
        self._before = self._before[:0]
        self.begin += SEAM

    def learn(self, seen: Floats) -> Move:
        """Go on with the observations (T, d) that come next; return the move of the bases."""
        whole = Move.none(len(self.learner.svd.values))
        for first in range(0, len(seen), AT_ONCE):
            whole = self._learn(seen[first : first + AT_ONCE]).after(whole)
        return whole

    def _learn(self, new: Floats) -> Move:
        seen = np.concatenate([self._before, new])
        first_number = self.begin - len(self._before)
        width, last = self.width, len(seen) - self.width  # the ticks from width to last, excluded
        self._before = seen[max(len(seen) - 2 * width, 0) :]
        self.begin += len(new)
        if last <= width:
            return Move.none(len(self.learner.svd.values))
        rows = sliding_window_view(seen, width, axis=0).reshape(last + 1, -1)
        features = self.windows.transform(rows)
        observed = self.observations.transform(seen[width:last])
        histories = features[: last - width]
        move = self.learner.add_all(
            Triples(
                features[width:last],
                features[width + 1 :],
                histories,
                observed,
                np.ones(len(observed)),
            )
        )
        old = self.remembered
        parts = (
            (old.numbers, first_number + np.arange(width, last)),
            (old.histories @ move.right.T, self.learner.svd.right_coordinates(histories)),
            (old.features, observed),
        )
        self.remembered = RememberedTicks(*(np.concatenate(each)[-self._most :] for each in parts))
        return move

    def parameters(self) -> tuple[Tpsr, Floats]:
        """
        Return the parameters as of now, and the table (n, k) of weights of remembered ticks.

        The product of the table and a state is the weight of each tick.
        """
        tpsr = self.learner.parameters()
        values = self.learner.svd.values[: tpsr.states]
        return tpsr, self.remembered.histories[:, : tpsr.states] / values


def stretches_of(numbers: Ints) -> list[tuple[int, int]]:
    """Return where each stretch of ascending numbers of ticks begins and ends, as indices."""
    seams = 1 + np.flatnonzero(np.diff(numbers) != 1)
    return list(itertools.pairwise([0, *seams.tolist(), len(numbers)]))
