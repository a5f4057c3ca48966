# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Try settings: learn from what is not held out, filter what is, and measure the errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import ArpackError

from two_manifold_ros.errors import InputError
from two_manifold_ros.training.driving_clock import driving_dataset
from two_manifold_ros.training.held_out_bench import capped_mean, HeldOutBench, LOST_SHARE
from two_manifold_ros.training.route_bench import RouteBench
from two_manifold_ros.training.route_training import usual_tuning
from two_manifold_ros.training.validation import usual_candidate
from two_manifold_ros.tuning.trial import Failure, Outcome, Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.tuning.held_time import HeldTime
    from two_manifold_ros.typing import Ints

FAILURES = (InputError, ArithmeticError, np.linalg.LinAlgError, MemoryError, ArpackError)
"""What a choice may meet that another does not: too few ticks, no convergence, no memory."""


class TrialBench:
    """
    Tries settings on the same held-out time.

    Parameters
    ----------
    recordings
        To train on, set apart.
    dataset
        Of them, at the usual rate and window.
    held_time
        From ``hold_time``.

    """

    def __init__(
        self, recordings: Sequence[Recording], dataset: Dataset, held_time: HeldTime
    ) -> None:
        self._recordings = recordings
        self._held_time = held_time
        fit, held = held_time.split(dataset.segments, dataset.period_ns, dataset.window)
        self._blocks = len(held)
        positions = np.concatenate([segment.positions for segment in fit or held])
        self._lost_m = LOST_SHARE * float(np.sqrt(np.nanvar(positions, axis=0).sum()))
        self._bench: tuple[TrainingSettings, HeldOutBench | RouteBench, list[Ints]] | None = None

    def __call__(self, settings: TrainingSettings) -> Outcome:
        """Return the errors of settings that leave nothing to be chosen, or why there are none."""
        try:
            bench, laps = self._prepared(settings)
            if isinstance(bench, RouteBench):
                squares = bench.squared_errors(usual_tuning(settings))
            else:
                squares = bench.squared_errors(usual_candidate(settings))
        except FAILURES as error:
            return Failure(str(error) or type(error).__name__)
        scored = [square[lap >= 0] for square, lap in zip(squares, laps, strict=True)]
        score_m = capped_mean(np.concatenate(scored), self._lost_m)
        if not np.isfinite(score_m):
            return Failure('no position is known in the held-out blocks')
        blocks = tuple(
            tuple(
                capped_mean(square[lap == index], self._lost_m) for index in range(lap.max() + 1)
            )
            for square, lap in zip(squares, laps, strict=True)
        )
        return Trial(score_m, blocks)

    def _prepared(
        self, settings: TrainingSettings
    ) -> tuple[HeldOutBench | RouteBench, list[Ints]]:
        """Return the bench, that of the last trial where only what is cheap differs."""
        dear = replace(
            settings,
            states=None,
            sharpness=None,
            persistence=None,
            bandwidth_factor=None,
            ridge=None,
            observation='raw',
        )
        if self._bench is None or self._bench[0] != dear:
            # Before the next is made: two of them may not fit into memory.
            self._bench = None
            dataset, *_ = driving_dataset(self._recordings, settings)
            fit, held = self._held_time.split(dataset.segments, dataset.period_ns, dataset.window)
            if len(held) != self._blocks or not fit:
                msg = (
                    f'windows of {dataset.window} ticks at {dataset.rate_hz:g} Hz leave too '
                    'little of the recording'
                )
                raise InputError(msg)
            laps = [self._laps(block, dataset.period_ns) for block in held]
            kind = RouteBench if settings.method == 'route' else HeldOutBench
            self._bench = dear, kind(fit, held, dataset, dear), laps
        return self._bench[1:]

    def _laps(self, block: Segment, period_ns: int) -> Ints:
        """Return the lap of each tick of a block from 0 on, -1 where errors do not count yet."""
        times = self._held_time
        elapsed = block.stamps - (block.stamps[0] - period_ns) - times.settle_ns
        count = max(round(int(elapsed[-1]) / times.lap_ns), 1)
        laps = np.minimum(elapsed * count // max(int(elapsed[-1]), 1), count - 1)
        return np.where(elapsed > 0, laps, -1)
