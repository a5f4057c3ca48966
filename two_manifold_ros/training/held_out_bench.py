# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run candidates over the blocks that were held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.recollection import Recollection
from two_manifold_ros.readout.sharpened import SharpenedReadout
from two_manifold_ros.readout.targets import segment_targets, training_targets
from two_manifold_ros.training.assembly import assemble, USUAL_NEIGHBOURS
from two_manifold_ros.training.closed_loop import run_closed_loop
from two_manifold_ros.training.completion import complete_positions
from two_manifold_ros.training.settings import estimates_positions
from two_manifold_ros.training.structure import learn_states, Structure
from two_manifold_ros.windows.sliding import SlidingWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.assembly import Assembly, Candidate
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import AnyStructure
    from two_manifold_ros.typing import Floats

MOST_TICKS = 1500
"""Held-out ticks on which candidates are compared; the calibration uses all of them."""

LOST_SHARE = 0.25
"""Of the track's spread: beyond it a position is plainly wrong, and how wrong says nothing."""


def capped_mean(squares: Floats, lost_m: float) -> float:
    """Return the mean root of squared errors, each at most ``lost_m``; NaN if none is known."""
    errors = np.sqrt(squares)
    known = np.minimum(errors[np.isfinite(errors)], lost_m)
    return float(known.mean()) if len(known) else float('nan')


class HeldOutBench:
    """
    The embeddings of the fit part, and the held-out blocks to run candidates over.

    Parameters
    ----------
    fit, held
        From ``hold_out``.
    dataset, settings
        What the segments came from.

    Attributes
    ----------
    windows
        Training ticks of the fit part.
    lost_m
        Largest error that counts, metres.

    """

    def __init__(
        self,
        fit: Sequence[Segment],
        held: Sequence[Segment],
        dataset: Dataset,
        settings: TrainingSettings,
    ) -> None:
        period_s = dataset.period_ns * 1e-9
        standardise = dataset.channels.standardise
        self._settings = settings
        self._window = dataset.window
        self._fit = [standardise(segment.values) for segment in fit]
        self._positions = [segment.positions for segment in fit]
        self._structures: dict[int, AnyStructure] = {}
        structure = self._structure(settings.neighbours or USUAL_NEIGHBOURS)
        if isinstance(structure, Structure) and estimates_positions(settings):
            self._positions = complete_positions(structure, self._positions).positions
        self.windows = len(structure.training.ticks)
        self._targets = training_targets(
            self._positions,
            structure.training.ticks,
            settings.horizons,
            period_s,
        )
        self._blocks = [standardise(segment.values) for segment in held]
        self._truths = [
            segment_targets(segment.positions, settings.horizons, period_s) for segment in held
        ]
        positions = np.concatenate([segment.positions for segment in fit])
        self.lost_m = LOST_SHARE * float(np.sqrt(np.nanvar(positions, axis=0).sum()))

    def _structure(self, neighbours: int) -> AnyStructure:
        if neighbours not in self._structures:
            self._structures[neighbours] = learn_states(
                self._fit, self._window, self._settings, neighbours
            )
        return self._structures[neighbours]

    def _assemble(self, candidate: Candidate) -> Assembly:
        structure = self._structure(candidate.neighbours)
        return assemble(structure, self._targets, candidate, self._settings.readout)

    def _recollection(self, candidate: Candidate, assembly: Assembly) -> Recollection | None:
        """Return that of a filter that has one, with an empty window."""
        if not isinstance(assembly.readout, SharpenedReadout):
            return None
        structure = self._structure(candidate.neighbours)
        pasts = structure.training.pasts
        window = SlidingWindow(pasts.series, pasts.starts, pasts.width)
        return Recollection(window, structure.warm_start(assembly.directions))

    def score(self, candidate: Candidate) -> float:
        """Return the mean error in metres, each error cut at ``LOST_SHARE`` of the spread."""
        most = max(MOST_TICKS // len(self._blocks), 2 * self._window)
        squares = [block[self._window :] for block in self.squared_errors(candidate, most)]
        score_m = capped_mean(np.concatenate(squares), self.lost_m)
        return score_m if np.isfinite(score_m) else self.lost_m

    def squared_errors(self, candidate: Candidate, most: int | None = None) -> list[Floats]:
        """
        Return the squared errors on each block, from a cold start at its first tick.

        Parameters
        ----------
        candidate
            The choices.
        most
            Ticks of each block to run over, by default all.

        Returns
        -------
        list of (T, H)
            Square metres at each tick and horizon; NaN where the position is unknown.

        """
        assembly = self._assemble(candidate)
        belief = assembly.belief()
        squares = []
        for block, truth in zip(self._blocks, self._truths, strict=True):
            recollection = self._recollection(candidate, assembly)
            run = run_closed_loop(belief, assembly.readout, block[:most], recollection)
            errors = run.means[:, :-1] - truth[: len(run.means), :-1]
            squares.append(np.square(errors).sum(axis=2))
        return squares

    @property
    def ticks(self) -> int:
        """Ticks that are scored: all of the blocks but their first window."""
        return sum(max(len(block) - self._window, 0) for block in self._blocks)

    def misses(self, candidate: Candidate) -> tuple[Floats, Floats]:
        """Return all errors (n, c, 2) and their covariances (n, c, 2, 2), not calibrated."""
        assembly = self._assemble(candidate)
        belief = assembly.belief()
        errors, covariances = [], []
        for block, truth in zip(self._blocks, self._truths, strict=True):
            recollection = self._recollection(candidate, assembly)
            run = run_closed_loop(belief, assembly.readout, block, recollection)
            errors.append((run.means - truth)[self._window :])
            covariances.append(run.covariances[self._window :])
        return np.concatenate(errors), np.concatenate(covariances)
