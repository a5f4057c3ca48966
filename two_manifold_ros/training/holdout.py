# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of the training segments that are held out, and candidates run over them."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.belief import Recollection
from two_manifold_ros.hse_hmm.readout import segment_targets, training_targets
from two_manifold_ros.hse_hmm.sharpened import SharpenedReadout
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.training.assembly import assemble, run_closed_loop, USUAL_NEIGHBOURS
from two_manifold_ros.training.settings import estimates_positions
from two_manifold_ros.training.structure import complete_positions, learn_states, Structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.assembly import Assembly, Candidate
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import AnyStructure
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class HeldOut:
    """
    Errors on what was left out of the training.

    Parameters
    ----------
    table
        Choices that were compared, each with its score, metres.
    ticks
        Left out and scored.
    score_m, lost_m
        Score of the best choices, and the error that counts as lost.

    """

    table: tuple[dict[str, float | None], ...]
    ticks: int
    score_m: float
    lost_m: float


SHARE = 0.25
MOST_BLOCKS = 4
LEAST_WINDOWS = 2.5
"""A block needs a window to fill, and as much again and more to be scored."""


def hold_out(segments: Sequence[Segment], window: int) -> tuple[list[Segment], list[Segment]]:
    """
    Split segments into a part to fit and blocks to validate on.

    One block at the end of the longest segment of a short recording; up to four, evenly spread,
    where each is still long enough. What is left on either side of a block is kept where it is
    longer than two windows.

    Returns
    -------
    fit, held
        ``held`` is empty if no segment is long enough to spare a block.

    """
    total = sum(len(segment) for segment in segments)
    least = round(LEAST_WINDOWS * window)
    blocks = min(MOST_BLOCKS, int(SHARE * total) // (2 * least) or 1)
    length = int(SHARE * total / blocks)
    if length < least:
        return list(segments), []
    begins = _begins(segments)
    ends = _block_ends(segments, begins, blocks, length)
    fit: list[Segment] = []
    held: list[Segment] = []
    for segment, begin in zip(segments, begins, strict=True):
        position = 0
        for end in ends:
            start, stop = max(end - length - begin, position), min(end - begin, len(segment))
            if stop - start >= least:
                fit.append(segment.part(position, start))
                held.append(segment.part(start, stop))
                position = stop
        fit.append(segment.part(position, len(segment)))
    return [part for part in fit if len(part) > 2 * window], held


def hold_out_in_turn(
    segments: Sequence[Segment], window: int
) -> list[tuple[list[Segment], list[Segment]]]:
    """
    Split segments again and again, each time with another quarter held out.

    Of a recording that can spare no more than a block at a time, all of it is seen as unseen.

    Returns
    -------
    list of (fit, held)
        As of `hold_out`; fewer than ``MOST_BLOCKS`` where some quarter holds no block that is long
        enough, or leaves nothing to fit.

    """
    total = sum(len(segment) for segment in segments)
    least = round(LEAST_WINDOWS * window)
    edges = [total * block // MOST_BLOCKS for block in range(MOST_BLOCKS + 1)]
    turns = []
    for first, last in itertools.pairwise(edges):
        fit: list[Segment] = []
        held: list[Segment] = []
        for segment, begin in zip(segments, _begins(segments), strict=True):
            start = min(max(first - begin, 0), len(segment))
            stop = min(max(last - begin, 0), len(segment))
            if stop - start < least:
                fit.append(segment)
                continue
            held.append(segment.part(start, stop))
            fit += [segment.part(0, start), segment.part(stop, len(segment))]
        fit = [part for part in fit if len(part) > 2 * window]
        if fit and held:
            turns.append((fit, held))
    return turns


def _block_ends(
    segments: Sequence[Segment], begins: Sequence[int], blocks: int, length: int
) -> list[int]:
    if blocks == 1:
        # Anywhere else a seam could cut the only block in two that are both too short.
        longest = max(range(len(segments)), key=lambda index: len(segments[index]))
        return [begins[longest] + len(segments[longest])]
    total = begins[-1] + len(segments[-1])
    return [int((block + 0.5) * total / blocks + length / 2) for block in range(blocks)]


def any_position(segments: Sequence[Segment]) -> bool:
    """Return whether the position is known at some tick."""
    return any(bool(np.isfinite(segment.positions).any()) for segment in segments)


def _begins(segments: Sequence[Segment]) -> list[int]:
    begins = [0]
    for segment in segments[:-1]:
        begins.append(begins[-1] + len(segment))
    return begins


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
