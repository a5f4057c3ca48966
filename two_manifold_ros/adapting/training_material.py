# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training data of a stream: the newest laps that count."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import put_in_step
from two_manifold_ros.inspection.motion import laps_of
from two_manifold_ros.inspection.shared_places import group_by_places, SAME_ROUTE, shared_places
from two_manifold_ros.model.atlas import atlas_of
from two_manifold_ros.model.line_learning import carry_lines
from two_manifold_ros.recordings.reading import without_frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.inspection.motion import Laps
    from two_manifold_ros.model.model import ModelHead, TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.tpsr import LearnedTpsr


NEWEST_LAPS = 16.0
"""Newest laps that a model is trained on, so that later trainings of a route cost the same. Maps
of the newest 16 err by 0.7 to 1.15 times as much as those of all of 20 to 27 laps; of 12 laps up
to 1.4 times (one recording and four worlds with two seeds each)."""


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
    outliers: list[tuple[int, int]]  # start and end of what is not learned, ns
    counts_laps: bool = False  # whether two laps have to be counted, as before the first model
    # Stamp of a change, 0 if there was none. A model of what came since alone is tried first, and
    # used if it errs less than this on parts that were left out of it.
    since_ns: int = 0
    below_m: float = math.inf

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
            counting = without(counting, self.outliers, self.lap_s / BLOCKS_PER_LAP)
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
            msg = 'no drive with positions is left to learn from'
            raise InputError(msg)
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
        # Without, no part of the drives could be followed on the model of the others.
        if model.summary['validation'] is None or not lap_seconds(model) > 0.0:
            raise InputError(MET_ONCE)
        lags_s = [each.positions.earlier_s for each in stepped if each.positions is not None]
        # Mean errors on parts that were left out, each at most that of a lost filter.
        error_m = min(each['score_m'] for each in model.summary['validation']['compared'])
        lag_ns = round(1e9 * max(lags_s, default=0.0))
        return Trained('', model, learned, error_m, lag_ns)


MET_ONCE = 'no place of the route was met twice yet: drive another lap'


def with_route(known: ModelHead, model: TrainedModel, named: str | None) -> ModelHead:
    """
    Return the known routes with a newly learned one: in place of that which it is of, or beside.

    Only maps of routes go together; any other model replaces the one before. In an atlas, a route
    that was learned from more laps stays. ``named`` is the route on which ``known`` follows the
    newest laps: what it follows by the IMU is no other road, but the same one at new positions.
    """
    routes = dict(known.routes)
    learned = model.route_model
    if learned is None or not known.holds_maps:
        return model
    same = next((name for name, each in routes.items() if of_one_route(each, model)), None)
    replaced = named if same is None else same
    if replaced is None:
        if '' in routes:
            routes = {'route 1': routes['']}
        number = len(routes) + 1
        while f'route {number}' in {*routes, *known.route_names}:
            number += 1
        return atlas_of({**routes, f'route {number}': model})
    old = routes[replaced]
    if (before := old.route_model) is not None and before.lines is not None:
        # Names are not learned while driving.
        model = replace(learned, lines=carry_lines(before, learned))
    if not replaced:
        # The only route, without a name.
        return model
    if same is not None:
        laps, now = (each.summary.get('laps', 0.0) for each in (old, model))
        if now < min(laps, NEWEST_LAPS):
            return known
    return atlas_of({**routes, replaced: model})


def holds_all(model: ModelHead, known: ModelHead) -> bool:
    """Return whether a model holds all known routes as they are, and others."""
    held = list(model.routes.values())
    return len(held) > len(known.routes) and all(
        any(each is other for other in held) for each in known.routes.values()
    )


def of_one_route(one: ModelHead, other: ModelHead) -> bool:
    """Return whether two models are of one route, by their tracks; see `shared_places`."""
    if (one.frame_id, one.origin) != (other.frame_id, other.origin):
        return False
    shared = shared_places([one.track, other.track], 1.0 / other.rate_hz)
    return bool(max(shared[0, 1], shared[1, 0]) >= SAME_ROUTE)


def lap_seconds(model: ModelHead) -> float:
    """Return how long a lap of the longest route takes, s; NaN where no lap was driven."""
    # Not the time to visit all of the model once: of one with two ways that is longer.
    laps_s = [float(each.summary.get('lap_s') or 0.0) for each in model.routes.values()]
    return max(laps_s) or math.nan


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


def without(
    recordings: Sequence[Recording], outliers: Sequence[tuple[int, int]], longest_s: float
) -> list[Recording]:
    """
    Return recordings without the samples of outliers (ns), and of longer times without news.

    These are without positions, or with a sensor that repeats itself to the last bit. Positions
    stay: laps are counted by them.
    """
    counting = []
    for each in recordings:
        stamps = each.imu.stamps
        fixes = [] if each.positions is None else each.positions.stamps.tolist()
        samples = np.nan_to_num(each.imu.samples)
        changed = stamps[1:][(np.diff(samples, axis=0) != 0.0).any(axis=1)].tolist()
        kept = np.ones(len(stamps), dtype=np.bool_)
        spans = list(outliers)
        for news in (fixes, changed):
            edges = np.array([stamps[0], *news, stamps[-1]])
            steps = np.flatnonzero(np.diff(edges) > 1e9 * longest_s)
            spans += zip(edges[steps].tolist(), edges[steps + 1].tolist(), strict=True)
        for begin_ns, end_ns in spans:
            kept &= (stamps <= begin_ns) | (stamps > end_ns)
        counting.append(replace(each, imu=each.imu.select(kept)))
    return counting


def newest_part(
    recordings: Sequence[Recording], most_s: float, longest_step_ns: int
) -> list[Recording]:
    """
    Return the newest parts of recordings, oldest first, with so many seconds of positions.

    Time between positions that are farther apart does not count: it teaches nothing.
    """
    newest: list[Recording] = []
    for each in reversed(recordings):
        if each.positions is None:
            continue
        stamps = each.positions.stamps
        steps = np.diff(stamps)
        back = np.cumsum(np.where(steps <= longest_step_ns, steps, 0)[::-1]) * 1e-9
        if not len(back) or back[-1] < most_s:
            newest.insert(0, each)
            most_s -= float(back[-1]) if len(back) else 0.0
            continue
        first = len(stamps) - 2 - int(np.searchsorted(back, most_s))
        return since([each], int(stamps[first])) + newest
    return newest
