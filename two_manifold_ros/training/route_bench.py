# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Follow blocks that were held out on the map of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route
from two_manifold_ros.training.assembly import USUAL_NEIGHBOURS
from two_manifold_ros.training.completion import complete_positions
from two_manifold_ros.training.route_training import lay_out_drives
from two_manifold_ros.training.settings import estimates_positions
from two_manifold_ros.training.structure import learn_structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.learning import Tuning
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats


class RouteBench:
    """
    The passes of the fit part, and the held-out blocks to follow.

    Parameters
    ----------
    fit, held
        From ``hold_out``.
    dataset, settings
        What the segments came from.

    Attributes
    ----------
    drives
        The fit part, laid out along the route.

    Raises
    ------
    InputError
        If the fit part cannot be learned from.

    """

    def __init__(
        self,
        fit: Sequence[Segment],
        held: Sequence[Segment],
        dataset: Dataset,
        settings: TrainingSettings,
    ) -> None:
        standardise, horizons = dataset.channels.standardise, settings.horizons
        observations = [standardise(segment.values) for segment in fit]
        tracks = [segment.positions for segment in fit]
        if estimates_positions(settings):
            neighbours = settings.neighbours or USUAL_NEIGHBOURS
            structure = learn_structure(observations, dataset.window, settings, neighbours)
            tracks = complete_positions(structure, tracks).positions
        self.drives = lay_out_drives(observations, tracks, dataset, horizons)
        self._blocks = [standardise(segment.values) for segment in held]
        period_s = dataset.period_ns * 1e-9
        self._truths = [segment_targets(each.positions, horizons, period_s) for each in held]

    def squared_errors(self, tuning: Tuning) -> list[Floats]:
        """
        Return the squared errors on each block, from a cold start at its first tick.

        Parameters
        ----------
        tuning
            Of the likelihood.

        Returns
        -------
        list of (T, H)
            Square metres at each tick and horizon; NaN where the position is unknown.

        """
        kept = np.ones(self.drives.visits, dtype=np.bool_)
        belief = RouteBelief(learn_route(self.drives.passes, kept, tuning))
        squares = []
        for block, truth in zip(self._blocks, self._truths, strict=True):
            belief.start()
            means = np.empty_like(truth)
            for tick, observation in enumerate(block):
                belief.update(observation)
                means[tick] = belief.read()[0]
            squares.append(np.square(means - truth)[:, :-1].sum(axis=2))
        return squares
