# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train the belief about the place on a route, see docs/route.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import segment_targets
from two_manifold_ros.model.route_model import RouteModel
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.fitting import fit
from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.route.passes import lay_out, memory_of, motionless
from two_manifold_ros.ticks.rest import longest_runs, longest_stillness
from two_manifold_ros.training.assembly import USUAL_NEIGHBOURS
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.driving_clock import choose_stretches, MOST_TICKS
from two_manifold_ros.training.holdout import HeldOut
from two_manifold_ros.training.settings import estimates_positions
from two_manifold_ros.training.structure import (
    complete_positions,
    learn_structure,
    with_completed_positions,
)
from two_manifold_ros.training.summary import (
    check_horizons,
    check_streams,
    head_fields,
    joined_track,
    Learned,
    summarise,
)
from two_manifold_ros.training.time_scales import with_time_scales

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.fitting import Fitted
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.route.passes import Passes
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.driving_clock import Stretch
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats, Ints


def states_at_places(
    places: Places, stretches: Sequence[Stretch], ticks: Ints, states: Floats
) -> Floats:
    """
    Average states over the visits of each place.

    Parameters
    ----------
    places
        Of the route, with the visits of all drives.
    stretches
        Of the drives, which were embedded end to end.
    ticks : (n,) int64
        Those that have a state, in these stretches end to end.
    states : (n, k)
        Of them, the constant first.

    Returns
    -------
    (P, k)
        Where no visit has a state that of the nearest place that has one.

    """
    sums = np.zeros((len(places), states.shape[1]))
    counts = np.zeros(len(places))
    row_of = np.full(sum(each.end - each.begin for each in stretches), -1)
    row_of[ticks] = np.arange(len(ticks))
    first = 0
    for segment, begin, end in stretches:
        own = row_of[first : first + end - begin]
        first += end - begin
        when = np.rint(places.times).astype(np.int64)
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


SHIFTS = np.array([0.17, 0.17, 0.17, 0.01, 0.01, 0.01])
"""
What an IMU may be off from one day to another: standard deviations, m/s^2 and rad/s.

One degree of mounting turns so much of gravity into a level axis, and cheap gyroscopes drift by
half a degree a second. At 0 the simulated AGV, whose mounting turns by two degrees between days,
is lost on 98 % of its way; at twice as much two runs on another track pass for the trained one.
"""

LEAST_MET_AGAIN = 0.5
"""Share of the steps of the drives at places met more than once, below which nothing is fitted."""

USUAL_STATES = 20

TRACK_PLACES = 2
"""Ticks of the track that is kept, for each place: four laps, as places are half a tick apart."""

SAME = 1e-7
"""Difference of the means of two windows, in standard deviations, that is rounding."""


@dataclass(frozen=True)
class Drives:
    """
    Segments of the training, laid out along the route.

    Parameters
    ----------
    observations, tracks
        Of each segment (T, d), standardised, and (T, 2), metres.
    passes
        Through the places of the route.

    """

    observations: list[Floats]
    tracks: list[Floats]
    passes: Passes

    @property
    def visits(self) -> int:
        """Visits of places."""
        return len(self.passes.places.visited)

    def fitted(self, settings: TrainingSettings, window: int) -> Fitted | None:
        """Return what following each part of the drives without it gave, if any can be."""
        visited = self.passes.places.visited
        # Of a place that nothing else has seen no map can tell.
        if np.mean(np.bincount(visited)[visited] > 1) < LEAST_MET_AGAIN:
            return None
        tuning = usual_tuning(settings)
        return fit(self.passes, self.observations, self.tracks, window, tuning)


def lay_out_drives(
    observations: list[Floats], tracks: list[Floats], dataset: Dataset, horizons: Sequence[int]
) -> Drives:
    """
    Merge the passes of segments into places.

    Parameters
    ----------
    observations, tracks
        See `Drives`.
    dataset
        That they come from.
    horizons
        Ticks ahead.

    Raises
    ------
    InputError
        If the vehicle never moves.

    """
    channels, period_s = dataset.channels, dataset.period_ns * 1e-9
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
    )
    if passes is None:
        msg = 'the vehicle never moves where its position is known; record while it drives'
        raise InputError(msg)
    return Drives(observations, tracks, passes)


def usual_tuning(settings: TrainingSettings) -> Tuning:
    """Return what is given of the numbers of the likelihood, and the usual ones."""
    return Tuning(settings.sharpness or Tuning.sharpness, settings.persistence)


def train_route(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    tell: Callable[[str, float], None],
) -> RouteModel:
    """
    Train the belief about the place on a route, see `train_model`.

    Following each part of the drives on the map of the others calibrates the covariances; then
    everything is learned from all of the recordings.
    """
    check_streams(recordings)
    tell('averaging samples over ticks', 0.0)
    dataset = build_dataset(recordings, with_time_scales(recordings, settings))
    neighbours = settings.neighbours or USUAL_NEIGHBOURS
    observations = [dataset.channels.standardise(each.values) for each in dataset.segments]
    low, high = _window_means(observations, dataset.window)
    notes: tuple[str, ...] = ()
    if estimates_positions(settings):
        tell('estimating positions', 0.1)
        whole = learn_structure(observations, dataset.window, settings, neighbours)
        dataset, whole = with_completed_positions(dataset, whole, settings)
        notes = whole.notes
    tell('merging the passes into places', 0.2)
    tracks = [each.positions for each in dataset.segments]
    drives = lay_out_drives(observations, tracks, dataset, settings.horizons)
    check_horizons(drives.passes.targets, settings)
    tell('embedding windows', 0.3)
    places = drives.passes.places
    stretches = choose_stretches([len(each) for each in observations], places, dataset.window)
    structure = learn_structure(
        [observations[segment][begin:end] for segment, begin, end in stretches],
        dataset.window,
        settings,
        neighbours,
    )
    structure = replace(structure, notes=tuple(dict.fromkeys(notes + structure.notes)))
    directions = structure.directions(settings.states or USUAL_STATES)
    states = structure.tables(directions).states
    tell('following each part of the drives on the map of the others', 0.4)
    # Estimates of positions are learned from, but nothing is judged by them.
    truths = [each.truths for each in dataset.segments]
    fitted = replace(drives, tracks=truths).fitted(settings, dataset.window)
    tuning = usual_tuning(settings)
    route = learn_route(
        drives.passes,
        np.ones(drives.visits, dtype=np.bool_),
        tuning,
        states_at_places(places, stretches, structure.training.ticks, states),
    )
    if fitted is not None:
        route = replace(route, factors=fitted.factors)
    chosen: dict[str, float | None] = {
        'sharpness': route.sharpness,
        'persistence': route.persistence,
        'states': states.shape[1],
        'neighbours': neighbours,
    }
    factors = None if fitted is None else fitted.factors
    learned = Learned(
        structure, directions, chosen, settings.states, _held(fitted, route), factors
    )
    summary = summarise(recordings, dataset, settings, learned) | {'places': len(route.noise)}
    tell('following each part of the drives on the map of the others', 1.0)
    fields = head_fields(recordings, dataset, settings)
    # Some laps of all of the route, so that the file does not grow with the recordings.
    most = max(MOST_TICKS, TRACK_PLACES * len(places))
    drawn = choose_stretches([len(each) for each in observations], places, 0, most)
    fields['track'] = joined_track([tracks[each.segment][each.begin : each.end] for each in drawn])
    return RouteModel(
        **fields,
        summary=summary,
        series=structure.series,
        starts=structure.training.pasts.starts,
        route=route,
        lowest=low,
        highest=high,
        still=np.max([longest_runs(each.T) for each in observations], axis=0),
        most_still=max(longest_stillness(each.T) for each in observations),
    )


def _held(fitted: Fitted | None, route: Route) -> HeldOut | str:
    if fitted is None:
        return (
            'no part of the drives could be followed on the map of the others; record more laps '
            'of one route'
        )
    row: dict[str, float | None] = {
        'sharpness': route.sharpness,
        'persistence': route.persistence,
        'log_score': round(fitted.log_score, 4),
        'score_m': fitted.score_m,
    }
    return HeldOut((row,), fitted.ticks, fitted.score_m, fitted.lost_m)


def _window_means(observations: Sequence[Floats], window: int) -> tuple[Floats, Floats]:
    """
    Return the least and the largest mean of a window of each channel: (d,) each.

    Raises
    ------
    InputError
        If most windows are there twice: whatever is left out would not be unseen.

    """
    means = []
    for each in observations:
        sums = np.cumsum(np.pad(each, ((1, 0), (0, 0))), axis=0)
        means.append((sums[window:] - sums[:-window]) / window)
    every = np.concatenate(means)
    if len(np.unique(np.rint(every / SAME), axis=0)) <= 0.5 * len(every):
        msg = (
            'most windows occur twice with the same samples, so nothing can be validated; name '
            'each recording once, and leave out where the vehicle is parked'
        )
        raise InputError(msg)
    return every.min(axis=0), every.max(axis=0)


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
