# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train the belief about the place on a route."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import Calibration, calibration_factors, segment_targets
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.route.visits import lay_out, memory_of, motionless
from two_manifold_ros.ticks.rest import longest_runs, longest_stuck
from two_manifold_ros.training.cross_validation import NEIGHBOURS
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.embeddings import embed, impute_dataset, impute_positions
from two_manifold_ros.training.held_out import (
    begins_of,
    beside_mean_position,
    capped_mean,
    FOLDS,
    follow_held_out,
    LOST_SHARE,
    squared_distances,
    Stretch,
    stretches_between,
    Validation,
)
from two_manifold_ros.training.summary import (
    check_horizons,
    head_fields,
    join_tracks,
    summarise,
    TWICE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats, Ints


SHIFTS = np.array([0.17, 0.17, 0.17, 0.01, 0.01, 0.01])
"""
What an IMU may be off from one day to another: standard deviations, m/s^2 and rad/s.

One degree of mounting turns so much of gravity into a level axis, and cheap gyroscopes drift by
half a degree a second. At 0 the simulated AGV, whose mounting turns by two degrees between days,
is lost on 98 % of its way; at twice as much two runs on another track pass for the trained one.
"""


EXPONENTS = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
"""
Powers of the speed with which what an IMU reads on a path grows: acceleration, rate of turning.
"""

MOST_TICKS = 3_000
"""
Ticks that a model of a route keeps, and whose windows are embedded, however long the recordings.

Of a window above a sixth of them six windows, of which some have to be whole.
"""

MOST_FOLLOWED = 8_000
"""Ticks that are followed, in all; longer drives are followed in stretches of each part."""

MOST_DRIVEN = 1.5
"""
Times its share of the visits that a part may have.

At 1 no parts of a drive would be of equal time, and at the number of folds one may be all of it.
"""


def train_route(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None],
    drives: Sequence[PositionReport],
) -> RouteModel:
    """
    Train the belief about the place on a route, see `train_model`.

    Following each part of the drives on the map of the others calibrates the covariances; then
    everything is learned from all of the recordings.
    """
    dataset = build_dataset(recordings, settings)
    observations, window = dataset.observations, dataset.window
    neighbours = settings.neighbours or NEIGHBOURS[0]
    low, high = _range_of_means(observations, window)
    notes: tuple[str, ...] = ()
    if settings.imputes_positions:
        progress('estimating positions', 0.1)
        whole = embed(observations, window, settings, neighbours)
        dataset, whole = impute_dataset(dataset, whole)
        notes = whole.notes
    progress('merging the passes into places', 0.2)
    tracks = dataset.tracks
    passes = lay_out_drives(observations, tracks, dataset, settings.horizons)
    places = passes.places
    check_horizons(passes.targets, settings)
    progress('embedding windows', 0.3)
    lengths = [len(each) for each in observations]
    stretches = choose_stretches(lengths, places, window)
    kept = [observations[segment][begin:end] for segment, begin, end in stretches]
    embeddings = embed(kept, window, settings, neighbours)
    embeddings = replace(embeddings, notes=notes + embeddings.notes)
    directions = embeddings.directions(20 if settings.states is None else settings.states)
    states = embeddings.tables(directions).states
    progress('following each part of the drives on the map of the others', 0.4)
    tuning = usual_tuning(settings)
    everything = np.ones(len(places.visited), dtype=np.bool_)
    mean_states = states_at_places(places, stretches, embeddings.training.ticks, states)
    route = learn_route(passes, everything, tuning, mean_states)
    likelihood: dict[str, float | None]
    usual = route.likelihood
    likelihood = {'sharpness': usual.sharpness, 'persistence': usual.persistence}
    validation: Validation | str = (
        'no part of the drives could be followed on the map of the others; record more laps of '
        'one route'
    )
    calibrated = None
    # A place visited once cannot be validated.
    if np.mean(np.bincount(places.visited)[places.visited] > 1) >= 0.5:
        calibrated = calibrate(passes, observations, tracks, window, tuning)
    if calibrated is not None:
        route = replace(
            route, readout=replace(route.readout, factors=calibrated.calibration.factors)
        )
        row = likelihood | {'score_m': calibrated.score_m}
        validation = replace(calibrated, table=(row,))
    chosen = {**likelihood, 'states': states.shape[1], 'neighbours': neighbours}
    summary = summarise(
        recordings,
        dataset,
        settings,
        embeddings.notes,
        len(embeddings.training.ticks),
        directions.singular_values,
        chosen,
        validation,
        drives,
    )
    progress('following each part of the drives on the map of the others', 1.0)
    fields = head_fields(recordings, dataset, settings)
    # Some laps of all of the route, so that the file does not grow with the recordings: four, as
    # places are half a tick apart.
    drawn = choose_stretches(lengths, places, 0, max(MOST_TICKS, 2 * len(places)))
    fields['track'] = join_tracks([tracks[each][begin:end] for each, begin, end in drawn])
    return RouteModel(
        **fields,
        summary=summary | {'places': route.places},
        series=embeddings.series,
        starts=embeddings.training.pasts.starts,
        route=route,
        lowest=low,
        highest=high,
        still=np.max([longest_runs(each.T) for each in observations], axis=0),
        most_still=max(longest_stuck(each.T) for each in observations),
    )


def lay_out_drives(
    observations: list[Floats], tracks: list[Floats], dataset: Dataset, horizons: Sequence[int]
) -> Passes:
    """Merge the passes of segments into places; ``InputError`` if the vehicle never moves."""
    channels, period_s = dataset.channels, dataset.period_s
    live = channels.live
    still = motionless(channels.mean) if channels.of_imu else np.zeros(len(channels.mean))
    passes = lay_out(
        observations,
        tracks,
        horizons,
        period_s,
        channels.standardise(still[None])[0],
        # Only of the channels of an IMU is known how they drift.
        (SHIFTS[live] if channels.of_imu else 0.0) / channels.scale[live],
        memory_of(observations, period_s),
        EXPONENTS[live] if channels.of_imu else np.zeros(1),
    )
    if passes is None:
        msg = 'the vehicle never moves where its position is known; record while it drives'
        raise InputError(msg)
    return passes


def usual_tuning(settings: TrainingSettings) -> Tuning:
    """Return the numbers of the likelihood: those given, and the usual ones for the rest."""
    return Tuning(settings.sharpness or Tuning.sharpness, settings.persistence)


def _range_of_means(observations: Sequence[Floats], window: int) -> tuple[Floats, Floats]:
    """
    Return the least and the largest mean of a window of each channel: (d,) each.

    Refused is what holds most windows twice: whatever is left out would not be unseen.
    """
    means = []
    for each in observations:
        sums = np.cumsum(np.pad(each, ((1, 0), (0, 0))), axis=0)
        means.append((sums[window:] - sums[:-window]) / window)
    every = np.concatenate(means)
    # Means that differ by less, in standard deviations, do so by rounding.
    if len(np.unique(np.rint(every / 1e-7), axis=0)) <= 0.5 * len(every):
        raise InputError(TWICE)
    return every.min(axis=0), every.max(axis=0)


def choose_stretches(
    lengths: Sequence[int], places: Places, window: int, ticks: int = MOST_TICKS
) -> list[Stretch]:
    """
    Choose stretches of segments that visit as many places as they can, then all once more, ...

    They are in order, none beside another, and together so many ticks long, or six windows where
    those are longer; all of the drives where those are short.
    """
    most = max(ticks, 6 * window)
    if sum(lengths) <= most:
        return [Stretch(segment, 0, length) for segment, length in enumerate(lengths)]
    # Ten, unless six windows are longer: what is next to a seam is in no window.
    length = max(most // 10, 6 * window)
    parts = []
    for segment, total in enumerate(lengths):
        edges = np.linspace(0, total, 1 + max(-(-total // length), 1)).round().astype(int)
        parts += [Stretch(segment, *pair) for pair in itertools.pairwise(edges.tolist())]
    visits = [_visited(part, places, window) for part in parts]
    chosen: list[int] = []
    left = most
    seen: set[int] = set()

    def fits(index: int) -> bool:
        return index not in chosen and parts[index].end - parts[index].begin <= left

    while open_ := [index for index in range(len(parts)) if fits(index)]:
        best = max(open_, key=lambda index: len(visits[index] - seen))
        if not visits[best] - seen:
            # All that can be seen was: start another round.
            seen = set()
            best = max(open_, key=lambda index: len(visits[index]))
        chosen.append(best)
        seen |= visits[best]
        left -= parts[best].end - parts[best].begin
    joined: list[Stretch] = []
    for part in sorted(parts[index] for index in chosen):
        if joined and joined[-1].segment == part.segment and joined[-1].end == part.begin:
            joined[-1] = joined[-1]._replace(end=part.end)
        else:
            joined.append(part)
    return joined


def _visited(part: Stretch, places: Places, window: int) -> set[int]:
    """Return which places are visited where there is a window before and after."""
    inside: Ints = np.flatnonzero(
        (places.segments == part.segment)
        & (places.times >= part.begin + window)
        & (places.times < part.end - window)
    )
    return set(places.visited[inside].tolist())


def states_at_places(
    places: Places, stretches: Sequence[Stretch], ticks: Ints, states: Floats
) -> Floats:
    """
    Average states (n, k), the constant first, over the visits of each place: (P, k).

    The ticks (n,) count through the stretches end to end. Where no visit has a state it is that of
    the nearest place that has one.
    """
    sums = np.zeros((len(places), states.shape[1]))
    counts = np.zeros(len(places))
    row_of = np.full(sum(each.end - each.begin for each in stretches), -1)
    row_of[ticks] = np.arange(len(ticks))
    when = np.rint(places.times).astype(np.int64)
    first = 0
    for segment, begin, end in stretches:
        own = row_of[first : first + end - begin]
        first += end - begin
        visits = np.flatnonzero((places.segments == segment) & (when >= begin) & (when < end))
        rows = own[when[visits] - begin]
        visits, rows = visits[rows >= 0], rows[rows >= 0]
        np.add.at(sums, places.visited[visits], states[rows])
        np.add.at(counts, places.visited[visits], 1.0)
    known = counts > 0.0
    means = np.zeros_like(sums)
    means[known] = sums[known] / counts[known, None]
    if known.any():
        _, nearest = cKDTree(places.positions[known]).query(places.positions[~known])
        means[~known] = means[known][nearest]
    means[:, 0] = 1.0
    return means


def calibrate(
    passes: Passes,
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    lead: int,
    tuning: Tuning,
) -> Validation | None:
    """
    Follow each part of the drives on the map of all others, and calibrate the covariances.

    None where the drives are too short to leave a part out, or no position of them is known. The
    ``observations`` and ``tracks`` are those of the `passes`. The position is not known yet in
    the first ticks of each stretch, ``lead``, which are not scored.
    """
    parts = parts_to_follow(passes, observations, tracks, lead)
    if not parts:
        return None
    runs = []
    for blocks, kept in parts:
        route = learn_route(passes, kept, tuning)
        runs += follow_held_out(partial(follow, route), blocks, lead)
    errors, covariances, driving = (np.concatenate(each) for each in zip(*runs, strict=True))
    if not np.isfinite(errors[:, 0]).any():
        return None
    factors = calibration_factors(errors[driving], covariances[driving])
    # As the maps know it, in the weights of their places.
    lost_m = LOST_SHARE * float(np.sqrt(route.readout.targets[:, 0].var(axis=0).sum()))
    score_m = capped_mean(squared_distances(errors[:, :2])[:, 0], lost_m)
    calibration = Calibration(np.zeros(len(factors)), factors)
    truths = np.concatenate([truth[lead:] for blocks, _ in parts for _, truth in blocks])
    middle = np.nanmean(np.concatenate(tracks), axis=0)
    beside = beside_mean_position(errors, truths, middle, lost_m)
    return Validation((), len(errors), score_m, lost_m, *beside, calibration)


def parts_to_follow(
    passes: Passes, observations: Sequence[Floats], tracks: Sequence[Floats], lead: int
) -> list[tuple[list[tuple[Floats, Floats]], Bools]]:
    """Return observations and truth of stretches to follow, and the visits to follow them with."""
    places = passes.places
    lengths = [len(each) for each in observations]
    begins = begins_of(lengths)
    total = begins[-1]
    # As few as two of a drive so short that a part would not be twice a window.
    folds = min(max(total // (2 * lead + 1), 2), FOLDS)
    when = np.array(begins)[places.segments] + places.times
    edges = np.linspace(0, total, folds + 1)
    if np.histogram(when, edges)[0].max() > MOST_DRIVEN / folds * len(when):
        # It stands for most of the time: parts of equal time would leave out nearly all driving.
        edges[1:-1] = np.quantile(when, np.arange(1, folds) / folds)
    truths = [segment_targets(each, passes.horizons, passes.period_s) for each in tracks]
    parts = []
    for low, high in itertools.pairwise(edges.tolist()):
        kept = (when < low) | (when >= high)
        if not kept.any() or kept.all():
            continue
        left, blocks = max(MOST_FOLLOWED // FOLDS, 3 * lead), []
        for index, first, last in stretches_between(lengths, int(low), int(high), 2 * lead + 1):
            chosen = slice(first, min(last, first + left))
            if chosen.stop - first > 2 * lead and not np.isnan(tracks[index]).all():
                blocks.append((observations[index][chosen], truths[index][chosen]))
                left -= chosen.stop - first
        parts.append((blocks, kept))
    return [part for part in parts if part[0]]


def follow(route: Route, observations: Floats) -> tuple[Floats, Floats, Bools]:
    """
    Follow a stretch (T, d) on a map.

    Returns means (T, H + 1, 2) and covariances (T, H + 1, 2, 2) as read, not calibrated, and
    whether the vehicle drives on the route as in training (T,). Where it crashed its position is
    wrong by as much as it slid, which says nothing of a drive: that calibrates no ellipse.
    """
    belief = RouteBelief(route)
    read = []
    for observation in observations:
        belief.update(observation)
        read.append((*belief.read(), belief.driving > 0.5))
    means, covariances, driving = (np.array(each) for each in zip(*read, strict=True))
    return means, covariances, driving


class RouteFold:
    """The passes of a part to fit, and held-out blocks to follow, as those of a `Fold`."""

    def __init__(
        self,
        fit: Sequence[Segment],
        held: Sequence[Segment],
        dataset: Dataset,
        settings: TrainingSettings,
    ) -> None:
        observations, tracks = dataset.standardise(fit), [each.positions for each in fit]
        if settings.imputes_positions:
            neighbours = settings.neighbours or NEIGHBOURS[0]
            embeddings = embed(observations, dataset.window, settings, neighbours)
            tracks, _ = impute_positions(embeddings, tracks)
        self.passes = lay_out_drives(observations, tracks, dataset, settings.horizons)
        self._blocks = dataset.blocks_of(held, settings.horizons)

    def squared_errors(self, settings: TrainingSettings) -> list[Floats]:
        """Return the squares (T, H) on each block from a cold start, m^2; NaN where unknown."""
        kept = np.ones(len(self.passes.places.visited), dtype=np.bool_)
        route = learn_route(self.passes, kept, usual_tuning(settings))
        runs = follow_held_out(partial(follow, route), self._blocks, 0)
        return [squared_distances(errors) for errors, *_ in runs]
