# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train the belief about the place on a route."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.circuit import learn_circuit
from two_manifold_ros.model.line_learning import learn_lines
from two_manifold_ros.model.model import RouteModel, SensedRouteModel
from two_manifold_ros.network.learning import learn_network
from two_manifold_ros.recordings.recording import HeldStream, median_interval_ns, Recording
from two_manifold_ros.route.belief import Sensor
from two_manifold_ros.route.learning import (
    density,
    learn_features,
    learn_likelihood,
    learn_route,
    OTHER_TAIL,
    shared,
    Tuning,
    UsualFeatures,
)
from two_manifold_ros.route.route import LIMITS, MEMORIES, RouteLikelihood
from two_manifold_ros.route.visits import observe, Passes
from two_manifold_ros.ticks.rest import longest_runs, longest_stuck
from two_manifold_ros.ticks.segments import largest_believable, measure_channels, NO_LIMIT
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.following import (
    choose_by_parts,
    choose_network,
    compared_row,
    Drives,
    lay_out_drives,
    validate,
)
from two_manifold_ros.training.held_out import Stretch, Validation
from two_manifold_ros.training.spectral import embed, impute_dataset, NEIGHBOURS
from two_manifold_ros.training.summary import check_horizons, head_fields, join_tracks, TWICE
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.training.settings import RouteSettings


MOST_TICKS = 3_000
"""Ticks that a model of a route keeps, and whose windows are embedded, or six windows."""

USUAL_SHIFT = 0.1
"""
What a further channel is off from one drive to the next, as a share of its spread on the route, as
a magnetometer beside what is carried. Of several drives it is learned, see `_shifts_between`.
"""

SHIFT_DRIVES = 2
"""Drives between which a shift has to be seen until it counts as much as `USUAL_SHIFT`."""


def train_route(
    recordings: Sequence[Recording],
    settings: RouteSettings,
    progress: Callable[[str, float], None],
    reports: Sequence[PositionReport],
    client: Any = None,  # noqa: ANN401 - of an extra
) -> RouteModel:
    """Train the belief about the place on a route: choose by parts, then learn from all."""
    native_hz = 1e9 / max(median_interval_ns(each.imu.stamps) for each in recordings)
    progress('merging the passes into places', 0.1)
    usual = lay_out_recordings(recordings, settings)

    def faster(drives: Drives) -> Drives | None:
        twice = drives.settings.times_the_rate(2.0, native_hz)
        return None if twice is None else lay_out_recordings(recordings, twice)

    drives, followed, compared = choose_by_parts(
        usual,
        faster,
        settings.max_step_load,
        progress=lambda what, share: progress(what, 0.2 + 0.5 * share),
        client=client,
    )
    settings, dataset, passes, notes = drives
    places, roads = passes.places, None
    if followed is not None and not recordings[0].sensors:
        trying = partial(progress, 'following drives on the network of the others', 0.7)
        chosen_roads = choose_network(drives, followed, recordings, trying)
        if chosen_roads is not None:
            roads, followed, said = chosen_roads
            passes, notes = roads.passes, (*notes, *said)
            own = compared_row(drives._replace(passes=passes), followed)
            compared = [*(e | {'network': False} for e in compared), own | {'network': True}]
    observations, tracks, window = dataset.observations, dataset.tracks, dataset.window
    low, high = _range_of_means(observations, window)
    progress('embedding windows', 0.7)
    lengths = [len(each) for each in observations]
    stretches = choose_stretches(lengths, places, window)
    kept = [observations[segment][begin:end] for segment, begin, end in stretches]
    embeddings = embed(kept, window, settings)
    embeddings = replace(embeddings, notes=notes + embeddings.notes)
    directions = embeddings.directions(20 if settings.states is None else settings.states)
    states = embeddings.tables(directions).states
    progress('learning the map', 0.85)
    tuning = Tuning(settings.sharpness or Tuning.sharpness, settings.persistence)
    tuning = tuning if followed is None else followed.tuning
    everything = np.ones(len(passes.places.visited), dtype=np.bool_)
    mean_states = states_at_places(passes.places, stretches, embeddings.training.ticks, states)
    route = learn_route(passes, everything, tuning, mean_states)
    sensors, heard = learn_sensors(drives, recordings, tuning)
    validation: Validation | str = (
        'no part of the drives could be followed on the map of the others; record more laps of '
        'each route'
    )
    if followed is not None:
        route = replace(route, readout=replace(route.readout, factors=followed.factors))
        validation = validate(drives, followed, client, again=roads is None)
        validation = replace(validation, table=tuple(compared))
    chosen = {
        'sharpness': route.likelihood.sharpness,
        'persistence': route.likelihood.persistence,
        'rate_hz': dataset.rate_hz,
        'states': states.shape[1],
        'neighbours': settings.neighbours or NEIGHBOURS[0],
    } | ({} if roads is None else {'network': True})
    ticks, notes = len(embeddings.training.ticks), (*embeddings.notes, *heard)
    found = validation, chosen, states.shape[1], ticks, notes
    fields = head_fields(recordings, dataset, settings, reports, *found)
    fields['summary']['places'] = route.places
    progress('learning the map', 1.0)
    # Some laps of all of the route, so that the file does not grow with the recordings: four, as
    # places are half a tick apart.
    drawn = choose_stretches(lengths, places, 0, max(MOST_TICKS, 2 * len(places)))
    fields['track'] = join_tracks([tracks[each][begin:end] for each, begin, end in drawn])
    fields |= {'sensors': sensors} if sensors else {}
    timed = [] if followed is None else followed.timed
    return (SensedRouteModel if sensors else RouteModel)(
        **fields,
        series=embeddings.series,
        starts=embeddings.training.pasts.starts,
        route=route,
        lowest=low,
        highest=high,
        still=np.max([longest_runs(each.T) for each in observations], axis=0),
        most_still=max(longest_stuck(each.T) for each in observations),
        # Errands have no laps.
        circuit=None
        if roads is not None
        else learn_circuit(places, tracks, dataset.period_s, timed, at_mark=recordings[0].marked),
        lines=learn_lines(passes, [each.line for each in dataset.segments]),
        network=None if roads is None else learn_network(roads, window),
        # On a network a vehicle that was moved is found after a reset alone.
        least_evidence=0.0 if followed is None or roads is not None else followed.least_evidence,
    )


def learn_sensors(
    drives: Drives, recordings: Sequence[Recording], tuning: Tuning
) -> tuple[tuple[Sensor, ...], list[str]]:
    """Return the sensors that all recordings have and that change, and notes about the others."""
    sensors, notes, first = [], [], 0
    begins = [each.begins for each in drives.dataset.segments]
    for stream in recordings[0].sensors:
        columns = slice(first, first + len(stream.fields))
        first = columns.stop
        readings = [
            np.empty((len(each), 0)) if each.further is None else each.further[:, columns]
            for each in drives.dataset.segments
        ]
        if any(each.shape[1] != len(stream.fields) for each in readings):
            notes.append(f'{stream.topic} is not in all of the recordings and is left out')
        elif sensor := learn_sensor(drives.passes, readings, begins, stream, tuning):
            sensors.append(sensor)
        else:
            notes.append(f'{stream.topic} never changes and is left out')
    return tuple(sensors), notes


def learn_sensor(
    passes: Passes,
    readings: Sequence[Floats],
    begins: Sequence[bool],
    stream: HeldStream,
    tuning: Tuning,
) -> Sensor | None:
    """
    Learn what a sensor reads at each place, from its means (T, m) over the ticks of each segment.

    Means are NaN where unknown; ``begins`` says which segments begin drives; ``stream`` is of any
    recording. Nothing is returned if it never changes.
    """
    every = np.concatenate(readings)
    known = every[np.isfinite(every).all(axis=1)]
    if not len(known):
        return None
    # Some are tiny in their unit, as teslas are: what counts as a change is relative to them.
    unit = max(float(np.abs(known).max()), np.finfo(np.float64).tiny)
    channels = measure_channels(known / unit, largest_believable([known / unit]), stream.fields)
    if not channels.live.any():
        return None
    channels = replace(
        channels,
        mean=channels.mean * unit,
        scale=channels.scale * unit,
        limit=np.minimum(channels.limit, NO_LIMIT / max(unit, 1.0)) * unit,
    )
    mean = channels.mean[channels.live]
    observations = [channels.standardise(each) for each in readings]
    missing = [np.isnan(each.sum(axis=1)) for each in observations]
    filled = [
        np.where(gone[:, None], 0.0, each)
        for each, gone in zip(observations, missing, strict=True)
    ]
    longest_s = MEMORIES[-1] * passes.memory_s
    seen = observe(passes.places, filled, passes.gains, longest_s, passes.period_s)
    times = passes.places.times
    gaps = np.zeros(len(times), dtype=np.bool_)
    for index, gone in enumerate(missing):
        mine = passes.places.segments == index
        gaps[mine] = gone[np.rint(times[mine]).astype(np.int64).clip(0, len(gone) - 1)]
    newest = seen['features'][:, -len(mean) :]
    seen['settled'] &= ~gaps
    drive_of = np.cumsum(begins)[passes.places.segments]
    own = replace(
        passes,
        **seen,
        channels=len(mean),
        at_rest=np.zeros(len(mean)),
        shifts=_shifts_between(newest[~gaps], passes.places.visited[~gaps], drive_of[~gaps]),
        exponents=np.zeros(len(mean)),
    )
    each_s = median_interval_ns(stream.stamps) * 1e-9
    sharpness = tuning.sharpness * min(passes.period_s / max(each_s, passes.period_s), 1.0)
    tuning = replace(tuning, sharpness=sharpness)
    likelihood = learn_likelihood(own, _learn_usual(own, tuning), tuning)
    likelihood = _as_anywhere(own, likelihood)
    still = max(longest_stuck(each.T) for each in filled)
    return Sensor(stream.topic, channels, likelihood, still)


def _shifts_between(readings: Floats, visited: Ints, drive_of: Ints) -> Floats:
    """Return the standard deviations (d,) of the offsets of readings (V, d) between drives."""
    drives, index = np.unique(drive_of, return_inverse=True)
    offsets = np.zeros((len(drives), readings.shape[1]))
    # Drives over other parts of the route see other places: some rounds tell both apart.
    for _ in range(10):
        usual = _means_of(readings - offsets[index], visited)
        offsets = _means_of(readings - usual[visited], index)
        offsets -= offsets.mean(axis=0)
    # Each drive is a sample, and the usual shift counts as much as some of them.
    square = SHIFT_DRIVES * USUAL_SHIFT**2 + np.square(offsets).sum(axis=0)
    return np.asarray(np.sqrt(square / (SHIFT_DRIVES + len(drives) - 1)))


def _means_of(rows: Floats, groups: Ints) -> Floats:
    """Return the mean of the rows (n, d) of each group."""
    counts = np.maximum(np.bincount(groups), 1)
    sums = [np.bincount(groups, column) for column in rows.T]
    return np.asarray(np.column_stack(sums) / counts[:, None])


def _learn_usual(passes: Passes, tuning: Tuning) -> UsualFeatures:
    """Learn what is usual, with slopes as far as two halves of the drives agree on them."""

    def learn(chosen: Bools) -> UsualFeatures:
        return learn_features(replace(passes, kept=chosen), tuning)

    visits = np.arange(len(passes.places.visited))
    usual, first = learn(visits >= 0), visits < len(visits) // 2
    one, other = learn(first).slopes, learn(~first).slopes
    least = np.finfo(np.float64).tiny
    alike = (one * other).sum(axis=0)
    alike /= np.sqrt(np.square(one).sum(axis=0) * np.square(other).sum(axis=0)) + least
    alike = np.maximum(alike, 0.0)
    # Of twice as many visits the reliability is that much higher (Spearman and Brown).
    return usual._replace(slopes=usual.slopes * (2.0 * alike / (1.0 + alike)))


def _as_anywhere(passes: Passes, likelihood: RouteLikelihood) -> RouteLikelihood:
    """Return the likelihood of a sensor that reads at rest what it reads while driving there."""
    hidden = likelihood.means.shape[1] - likelihood.channels
    own = likelihood.whitening[hidden:, hidden:]
    newest = passes.series[:, hidden:]
    apart = newest - np.median(newest, axis=0)
    spread = 2.0 * apart.T @ apart / len(apart) + LIMITS.least_spread * np.eye(len(own))
    spread += shared(passes.shifts, 1)
    alone = density(np.zeros((len(own), 0)), np.median(newest, axis=0), spread, own, OTHER_TAIL)
    return replace(
        likelihood,
        rest=likelihood.other,
        rest_alone=alone,
        rest_means=likelihood.other_means,
        slow=likelihood.other,
    )


def lay_out_recordings(recordings: Sequence[Recording], settings: RouteSettings) -> Drives:
    """Cut recordings into ticks and merge the passes into places, see `Drives`."""
    dataset = build_dataset(recordings, settings)
    notes: tuple[str, ...] = ()
    if settings.imputes_positions:
        whole = embed(dataset.observations, dataset.window, settings)
        dataset, whole = impute_dataset(dataset, whole)
        notes = whole.notes
    passes = lay_out_drives(dataset.observations, dataset.tracks, dataset, settings.horizons)
    check_horizons(passes.targets, settings)
    return Drives(settings, dataset, passes, notes)


def _range_of_means(observations: Sequence[Floats], window: int) -> tuple[Floats, Floats]:
    """Return extreme means of windows of each channel; refuse most windows twice."""
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
    """Choose stretches, in order, that visit as many places as they can, then all again."""
    most = max(ticks, 6 * window)
    if sum(lengths) <= most:
        return [Stretch(segment, 0, length) for segment, length in enumerate(lengths)]
    # Ten, unless six windows are longer: what is next to a seam is in no window.
    length = max(most // 10, 6 * window)
    parts, visits = [], []
    for segment, total in enumerate(lengths):
        edges = np.linspace(0, total, 1 + max(-(-total // length), 1)).round().astype(int)
        for begin, end in itertools.pairwise(edges.tolist()):
            # There is a window before and after.
            inside = (places.segments == segment) & (places.times >= begin + window)
            inside &= places.times < end - window
            parts.append(Stretch(segment, begin, end))
            visits.append(set(places.visited[inside].tolist()))
    chosen: list[int] = []
    left, seen = most, set[int]()

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
            part = part._replace(begin=joined.pop().begin)  # noqa: PLW2901
        joined.append(part)
    return joined


def states_at_places(
    places: Places, stretches: Sequence[Stretch], ticks: Ints, states: Floats
) -> Floats:
    """Average states (n, k) of the ticks of stretches at each place or the nearest: (P, k)."""
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
    means = sums / np.where(known, counts, 1.0)[:, None]
    if known.any():
        _, nearest = cKDTree(places.positions[known]).query(places.positions[~known])
        means[~known] = means[known][nearest]
    means[:, 0] = 1.0
    return means
