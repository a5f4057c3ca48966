# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One row of the matrix of position faults: what is done to a drive, and what has to hold."""

from collections.abc import Callable
from dataclasses import dataclass, replace
import math
from typing import Any, TypeAlias

from fault import with_options
import numpy as np

from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.typing import Floats, Ints

Change: TypeAlias = Callable[[Recording, np.random.Generator], Recording]
Streams: TypeAlias = tuple[Ints, Floats]

ALIKE = 1.1
"""Ratio to the clean drive up to which a size, a limit or an error counts as the same."""

LEAST_ERROR_M = 0.05
"""Errors are compared as if they were at least this: the car drives 0.2 m in a tick."""

WRONG_M = 0.5
"""Distance from the true position from which a position is wrong; rows move theirs by a metre."""


def of_positions(function: Callable[..., Streams]) -> Callable[..., Change]:
    """Let a function change copies of stamps (M,) and places (M, 2) of the positions alone."""

    @with_options
    def change(recording: Recording, rng: np.random.Generator, *options: Any) -> Recording:  # noqa: ANN401
        positions = recording.positions
        streams = positions.stamps.copy(), positions.positions.copy()
        stamps, places = function(*streams, rng, *options)
        return replace(recording, positions=replace(positions, stamps=stamps, positions=places))

    return change


@dataclass(frozen=True)
class Limits:
    """Limits of a faulty drive beside the clean one."""

    places: float = ALIKE  # ratio of the places of the route
    ellipse: float = ALIKE  # ratio of the limits of the ellipse
    valid: float = 0.02  # share of valid ticks that may be lost
    error: float = ALIKE  # ratio of the RMSE over all ticks, valid or not


ANY = Limits(math.inf, math.inf, math.inf, math.inf)
"""It trains, and that is all that can be asked for."""


@dataclass(frozen=True)
class PositionFault:
    """A fault of the positions of a drive, and what has to hold."""

    name: str  # what goes wrong
    # Makes the faulty drive of the clean one; the generator has a seed of its own.
    change: Change
    # Codes of findings of `inspect` that it has to give beside those of the clean drive, and of
    # nothing else may it warn; those that are warnings are what `train` prints as well.
    says: tuple[str, ...] = ()
    # Wrong positions that may stay in the drive; infinite where all are by their stamps.
    wrong: float = 0
    right: float = 0.0  # largest share of right positions that may be left out
    # Limits of a model that is trained on the faulty drive and scored on a clean one, and of the
    # scores of a clean model on a faulty drive; None where this is not tried.
    trained: Limits | None = Limits()
    evaluated: Limits | None = Limits()
    # Wrong positions that an updater may use; of right ones it may refuse one in fifty, or the
    # share `right`. None where not tried.
    updater: int | None = 0
    # Whether the route is odd and not its positions: all are right, and a model that is trained
    # on it follows the like.
    of_route: bool = False
    refused: str = ''  # part of the sentence by which training refuses; empty where it trains


class Measured(Limits):
    """Figures of a model or a score, relative to the clean drive."""

    def complaints(self, limits: Limits, of: str) -> list[str]:
        """Return which limits do not hold."""
        return [
            f'{of}: {name} {getattr(self, name):.3g} exceeds {getattr(limits, name):.3g}'
            for name in ('places', 'ellipse', 'valid', 'error')
            if not getattr(self, name) <= getattr(limits, name)
        ]
