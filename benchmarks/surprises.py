# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How much a drive surprises, tick by tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tracker import Tracker

if TYPE_CHECKING:
    from kidnappings import Case

    from two_manifold_ros.filtering.step import Step
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.typing import Floats


class Recorder(Tracker):
    """
    A tracker that keeps how much each tick surprised.

    Attributes
    ----------
    surprises
        Means over the memories after each tick, see ``Surprise``.

    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.surprises: list[list[float]] = []

    def update(self, values: Floats) -> Step:
        step = super().update(values)
        self.surprises.append(list(self.belief.surprise.means))
        return step


def surprises(model: Model, case: Case) -> Floats:
    """Return the (T, m) means of surprise over the memories, the quickest first."""
    recorder = Recorder(model)
    live = Filter(model, tick_filter=recorder)
    for stamp, sample in zip(case.stamps.tolist(), case.samples, strict=True):
        live.push(stamp, sample)
    return np.array(recorder.surprises)
