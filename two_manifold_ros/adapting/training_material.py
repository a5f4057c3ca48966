# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training data of a stream: the newest laps that count."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import put_in_step
from two_manifold_ros.inspection.motion import laps_of
from two_manifold_ros.inspection.shared_places import group_by_places
from two_manifold_ros.recordings.reading import without_frozen

if TYPE_CHECKING:
    from two_manifold_ros.inspection.motion import Laps
    from two_manifold_ros.model.model import ModelHead, TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.tpsr import LearnedTpsr


NEWEST_LAPS = 16.0
"""Newest laps that a model is trained on: maps of them err about as much as those of all laps."""

MET_ONCE = 'no place of the route was met twice yet: drive another lap'


@dataclass
class Trained:
    """What a training gave: a ``model``, or ``why`` there is none."""

    why: str = ''
    model: TrainedModel | None = None
    learned: LearnedTpsr | None = None  # what goes on learning, of a TPSR
    error_m: float = math.nan  # mean error on parts that were left out
    lag_ns: int = 0  # how late positions were found to be
    laps: Laps | None = None  # what was driven, if that was looked for and found
    alone: bool = False  # whether it is of what came since a change alone


@dataclass(frozen=True)
class Training:
    """One training of a model; it changes nothing and may be run in another process."""

    drives: list[Recording]  # copies of the newest with reference positions, oldest first
    settings: TrainingSettings
    position_lag: str  # how late positions are, see ``put_in_step``
    lap_s: float  # how long a lap takes; NaN before the first model
    longest_step_ns: int  # between two positions, above which there are none
    counts_laps: bool = False  # whether two laps have to be counted, as before the first model
    # Stamp of a change, 0 if there was none. A model of what came since alone is tried first, and
    # used if it errs less than this on parts that were left out of it.
    since_ns: int = 0
    below_m: float = math.inf
    clock: int = 0  # how often the clock had been set back

    def run(self) -> Trained:
        """Train a model from the laps that count, or say what is missing."""
        laps = None
        if self.counts_laps and len(self.drives) == 1:
            # Counting takes far less time than training.
            laps = laps_of(self.drives[0])
            if laps is None or round(laps.count) <= 1:
                return Trained(MET_ONCE, laps=laps)
        counting = self.drives
        if self.lap_s > 0.0:
            counting = newest_part(counting, NEWEST_LAPS * self.lap_s, self.longest_step_ns)
            counting = with_news(counting, self.lap_s / BLOCKS_PER_LAP)
        try:
            if self.since_ns:
                # Too little for a model of its own, perhaps.
                with suppress(InputError):
                    found = self._train(since(counting, self.since_ns))
                    if found.error_m < self.below_m:
                        return replace(found, alone=True)
            return replace(self._train(counting), laps=laps)
        except InputError as error:
            return Trained(str(error), laps=laps)

    def _train(self, recordings: Sequence[Recording]) -> Trained:
        """Return a model whose error on parts that were left out is known."""
        # No process that filters loads what trains.
        from two_manifold_ros.training.train import learn_model  # noqa: PLC0415

        if not recordings:
            raise InputError('no drive with positions is left to learn from')
        if self.settings.method == 'route':
            # Between two drives a vehicle may have been carried to another route.
            groups = group_by_places(recordings)
            recordings = next(each for each in groups if each[-1] is recordings[-1])
        driven = [
            replace(each, positions=without_frozen(each.positions, each.imu)[0])
            for each in recordings
        ]
        stepped = put_in_step(driven, self.position_lag)
        model, learned = learn_model(stepped, self.settings)
        validation = model.summary['validation']
        # Without, no part of the drives could be followed on the model of the others.
        if validation is None or not lap_seconds(model) > 0.0:
            raise InputError(MET_ONCE)
        # Mean errors on parts that were left out, each at most that of a lost filter.
        error_m = min(each['score_m'] for each in validation['compared'])
        lags_s = (each.positions.earlier_s for each in stepped if each.positions is not None)
        return Trained('', model, learned, error_m, round(1e9 * max(lags_s, default=0.0)))


def check_one_route(model: ModelHead, path: str) -> None:
    """Raise `InputError` if a model from ``path`` holds routes that a learned one would lose."""
    if model.is_atlas:
        raise InputError(
            f'{path} holds several routes, and one is learned while driving: record that one, '
            'train a model of it, and put it in with two-manifold atlas add'
        )


def lap_seconds(model: ModelHead) -> float:
    """Return how long a lap of the longest route takes, s; NaN where no lap was driven."""
    # Not the time to visit all of the model once: of one with two ways that is longer.
    return (
        max(float(each.summary.get('lap_s') or 0.0) for each in model.routes.values()) or math.nan
    )


def since(recordings: Sequence[Recording], stamp_ns: int) -> list[Recording]:
    """Return the parts of recordings from a time on that have positions."""
    parts = []
    for each in recordings:
        if each.positions is not None:
            imu = each.imu.select(each.imu.stamps >= stamp_ns)
            positions = each.positions.select(each.positions.stamps >= stamp_ns)
            if len(positions.stamps) and len(imu.stamps):
                parts.append(replace(each, imu=imu, positions=positions))
    return parts


def with_news(recordings: Sequence[Recording], longest_s: float) -> list[Recording]:
    """Return recordings without samples of long times without positions, or of stuck sensors."""
    # Positions stay: laps are counted by them.
    counting = []
    for each in recordings:
        stamps = each.imu.stamps
        fixes = [] if each.positions is None else each.positions.stamps.tolist()
        samples = np.nan_to_num(each.imu.samples)
        changed = stamps[1:][(np.diff(samples, axis=0) != 0.0).any(axis=1)].tolist()
        kept = np.ones(len(stamps), dtype=np.bool_)
        for news in (fixes, changed):
            edges = np.array([stamps[0], *news, stamps[-1]])
            for step in np.flatnonzero(np.diff(edges) > 1e9 * longest_s):
                kept &= (stamps <= edges[step]) | (stamps > edges[step + 1])
        counting.append(replace(each, imu=each.imu.select(kept)))
    return counting


def newest_part(
    recordings: Sequence[Recording], most_s: float, longest_step_ns: int
) -> list[Recording]:
    """Return the newest parts of recordings, oldest first, with so many seconds of positions."""
    # Time between positions that are farther apart does not count: it teaches nothing.
    newest: list[Recording] = []
    for each in reversed(recordings):
        stamps = np.array([]) if each.positions is None else each.positions.stamps
        steps = np.diff(stamps)
        back = np.cumsum(np.where(steps <= longest_step_ns, steps, 0)[::-1]) * 1e-9
        if len(back) and back[-1] >= most_s:
            first = len(stamps) - 2 - int(np.searchsorted(back, most_s))
            return since([each], int(stamps[first])) + newest
        newest.insert(0, each)
        most_s -= float(back[-1]) if len(back) else 0.0
    return newest
