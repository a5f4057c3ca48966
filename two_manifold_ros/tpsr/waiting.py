# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples that wait to be learned together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.triples import Triples

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


LARGEST_SQUARE = 1e12
"""Squared length of features above which they are a fault: they should be about one long."""

LARGEST_IMPORTANCE = 1e60
"""Importance above which products with it might not be finite."""


class Waiting:
    """
    Room for a few samples.

    Parameters
    ----------
    room
        Samples until it is full.
    tests, histories, observations
        Number of features of each.

    """

    def __init__(self, room: int, tests: int, histories: int, observations: int) -> None:
        self._room = Triples(
            np.zeros((room, tests)),
            np.zeros((room, tests)),
            np.zeros((room, histories)),
            np.zeros((room, observations)),
            np.zeros(room),
        )
        self._sizes = (tests, tests, histories, observations)
        self.count = 0

    @property
    def full(self) -> bool:
        """Whether there is no room left."""
        return self.count == len(self._room)

    def take(
        self,
        test: Floats,
        next_test: Floats,
        history: Floats,
        observation: Floats,
        importance: float,
    ) -> bool:
        """
        Take one sample, and return whether its numbers can be computed with.

        Raises
        ------
        InputError
            If it has another number of features than was said at the start.

        """
        sizes = (len(test), len(next_test), len(history), len(observation))
        if sizes != self._sizes:
            names = ('test', 'next_test', 'history', 'observation')
            index = next(i for i in range(4) if sizes[i] != self._sizes[i])
            msg = (
                f'{names[index]} has {sizes[index]} features, but the learner was made for '
                f'{self._sizes[index]}: use the same feature maps all along'
            )
            raise InputError(msg)
        # The sum and not the largest: that of NaN and a number may be the number.
        squares = sum(squared_length(each) for each in (test, next_test, history, observation))
        if not (squares < LARGEST_SQUARE and 0.0 <= float(importance) < LARGEST_IMPORTANCE):
            return False
        room, index = self._room, self.count
        room.tests[index] = test
        room.next_tests[index] = next_test
        room.histories[index] = history
        room.observations[index] = observation
        room.importance[index] = importance
        self.count += 1
        return True

    def peek(self) -> Triples:
        """Return what waits, in buffers that the next samples overwrite."""
        room, count = self._room, self.count
        return Triples(
            room.tests[:count],
            room.next_tests[:count],
            room.histories[:count],
            room.observations[:count],
            room.importance[:count],
        )

    def empty(self) -> Triples:
        """Return the same, and let nothing wait any longer."""
        triples = self.peek()
        self.count = 0
        return triples


def squared_length(features: Floats) -> float:
    """Return the squared length of (d,) features, not finite if it cannot be told."""
    with np.errstate(over='ignore', invalid='ignore'):
        return float(features @ features)
