# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of which the right scores are known, and a plan for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from two_manifold_ros.comparison.method import Predictions, TrainSplit
from two_manifold_ros.ticks.segments import Segment


@dataclass
class Fixed:
    """Always the same place; late by some ticks, and with the IMU as its state if asked."""

    name: str
    place: tuple[float, float] = (0.0, 0.0)
    late: int = 0
    states: bool = False
    sees_positions: bool = False
    chosen: dict[str, Any] = field(default_factory=dict)
    horizons: int = 0

    @property
    def title(self) -> str:
        return f'the {self.name}'

    def fit(self, train: TrainSplit) -> Fixed:
        return replace(self, horizons=len(train.horizons))

    def predict(self, segment: Segment) -> Predictions:
        positions = np.tile(np.array(self.place), (len(segment), self.horizons, 1))
        positions[: self.late] = np.nan
        return Predictions(positions, segment.values.copy() if self.states else None)


@dataclass
class Repeater(Fixed):
    """Positions that a method sees of the segment: none unless it is given them."""

    def predict(self, segment: Segment) -> Predictions:
        return Predictions(np.repeat(segment.positions[:, None], self.horizons, axis=1))


@dataclass
class Failing(Fixed):
    """Ends in an error."""

    error: BaseException = field(default_factory=lambda: ValueError('a bug'))

    def fit(self, train: TrainSplit) -> Fixed:  # noqa: ARG002 - as every method
        raise self.error
