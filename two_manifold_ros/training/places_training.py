# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train a map of places: the filter that is to become the default, see docs/places.md."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.places_model import PlacesModel
from two_manifold_ros.route.fitting import fit
from two_manifold_ros.route.learning import lay_out, learn_route, memory_of, Tuning
from two_manifold_ros.training.dataset import build_dataset, LEAST_WINDOW
from two_manifold_ros.training.drive_summary import (
    count_all_laps,
    lag_summary,
    lap_notes,
    measure_drives,
)
from two_manifold_ros.training.train import check_horizons, position_streams, track_of
from two_manifold_ros.windows.stillness import longest_stillness

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.fitting import Fitted
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats

SHIFTS = np.array([0.17, 0.17, 0.17, 0.01, 0.01, 0.01])
"""
What an IMU may be off from one day to another: standard deviations, m/s^2 and rad/s.

One degree of mounting turns so much of gravity into a level axis, and cheap gyroscopes drift by
half a degree a second. At 0 the simulated AGV, whose mounting turns by two degrees between days,
is lost on 98 % of its way; at twice as much two runs on another track pass for the trained one.
"""

TICKS_IN_MEMORY = 10.0
"""
Ticks in the memory of the observations: a slow vehicle does the same for many ticks.

Twice and half as many change the errors of the simulated cars and the tram by less than a fifth.
"""

LEAST_RATE_HZ = 5.0
"""Of a slow vehicle: predictions are wanted in steps of a fraction of a second."""

WINDOW_MEMORIES = 5.0
"""Memories of the observations in a window: some bends, which tell one place from another."""

LARGEST_WINDOW = 0.02
"""Share of the longest drive that a window above the usual one may take: laps are needed."""

LEAST_MET_AGAIN = 0.5
"""Share of the steps of the drives at places met more than once, below which nothing is fitted."""


def train_places(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None] | None = None,
) -> PlacesModel:
    """
    Train a map of places.

    Parameters
    ----------
    recordings
        With positions, all of one track and one frame.
    settings
        Rate, window and horizons; all else is fitted.
    progress
        Called with the stage in words and the share done, 0 to 1.

    Raises
    ------
    InputError
        If the recordings cannot be trained on; the message says why.

    """
    report = progress or (lambda *_: None)
    streams = position_streams(recordings)
    report('averaging samples over ticks', 0.0)
    dataset = build_dataset(recordings, _with_time_scales(recordings, settings))
    channels, period_s = dataset.channels, dataset.period_ns * 1e-9
    live = channels.live
    observations = [channels.standardise(segment.values) for segment in dataset.segments]
    tracks = [segment.positions for segment in dataset.segments]
    report('merging the passes into places', 0.1)
    passes = lay_out(
        observations,
        tracks,
        settings.horizons,
        period_s,
        -channels.mean[live] / channels.scale[live],
        SHIFTS[live] / np.abs(channels.scale[live]),
        memory_of(observations, period_s),
    )
    if passes is None:
        msg = 'the vehicle never moves where its position is known; record while it drives'
        raise InputError(msg)
    check_horizons(passes.targets, settings)
    report('following each part of the drives on the map of the others', 0.3)
    visited = passes.places.visited
    fitted = None
    # Of a place that nothing else has seen no map can tell.
    if np.mean(np.bincount(visited)[visited] > 1) >= LEAST_MET_AGAIN:
        fitted = fit(passes, observations, tracks, dataset.window)
    tuning = Tuning() if fitted is None else fitted.tuning
    route = learn_route(passes, np.ones(len(visited), dtype=np.bool_), tuning)
    if fitted is not None:
        route = replace(route, factors=fitted.factors)
    low, high = _window_means(observations, dataset.window)
    positions = np.concatenate(tracks)
    report('following each part of the drives on the map of the others', 1.0)
    return PlacesModel(
        rate_hz=dataset.rate_hz,
        period_ns=dataset.period_ns,
        max_gap_ns=dataset.max_gap_ns,
        window=dataset.window,
        horizons=settings.horizons,
        imu_topic=recordings[0].imu.topic,
        imu_frame_id=recordings[0].imu.frame_id,
        position_topic=streams[0].topic,
        frame_id=streams[0].frame_id,
        origin=streams[0].origin,
        channels=channels,
        track=track_of(dataset),
        mean_position=np.nanmean(positions, axis=0),
        summary=_summary(recordings, dataset, fitted, tuning, len(route.noise)),
        route=route,
        lowest=low,
        highest=high,
        most_still=max(longest_stillness(each.T) for each in observations),
    )


def _with_time_scales(
    recordings: Sequence[Recording], settings: TrainingSettings
) -> TrainingSettings:
    """Return the settings with a rate and a window that suit the memory of the observations."""
    if settings.rate_hz is not None and settings.window is not None:
        return settings
    usual = build_dataset(recordings, settings)
    observations = [usual.channels.standardise(each.values) for each in usual.segments]
    memory_s = memory_of(observations, usual.period_ns * 1e-9)
    rate_hz = usual.rate_hz
    slower_hz = max(TICKS_IN_MEMORY / memory_s, LEAST_RATE_HZ)
    # A little slower changes nothing but that ticks are no whole samples any more.
    if settings.rate_hz is None and slower_hz < rate_hz / 1.5:
        rate_hz = float(math.ceil(slower_hz))
    if settings.window is not None:
        return replace(settings, rate_hz=rate_hz)
    longest_s = max(map(len, usual.segments)) / usual.rate_hz
    window_s = min(WINDOW_MEMORIES * memory_s, LARGEST_WINDOW * longest_s)
    window_s = max(window_s, usual.window / usual.rate_hz)
    return replace(settings, rate_hz=rate_hz, window=max(round(window_s * rate_hz), LEAST_WINDOW))


def _window_means(observations: Sequence[Floats], window: int) -> tuple[Floats, Floats]:
    """Return the least and the largest mean of a window of each channel: (d,) each."""
    means = []
    for each in observations:
        sums = np.cumsum(np.pad(each, ((1, 0), (0, 0))), axis=0)
        means.append((sums[window:] - sums[:-window]) / window)
    every = np.concatenate(means)
    return every.min(axis=0), every.max(axis=0)


def _summary(
    recordings: Sequence[Recording],
    dataset: Dataset,
    fitted: Fitted | None,
    tuning: Tuning,
    places: int,
) -> dict[str, Any]:
    drives = measure_drives(recordings)
    notes = [note for recording in recordings for note in recording.notes]
    if dataset.channels.dead_names:
        notes.append(
            f'channels without a signal left out: {", ".join(dataset.channels.dead_names)}'
        )
    if fitted is None:
        notes.append(
            'no part of the drives could be followed on the map of the others: nothing is fitted, '
            'and the ellipses are not calibrated; record more laps of one route'
        )
    notes += lap_notes(drives, 0.0 if fitted is None else fitted.ticks / dataset.rate_hz)
    return {
        'package_version': __version__,
        'method': 'places',
        'recordings': [recording.name for recording in recordings],
        'seconds': round(sum(map(len, dataset.segments)) / dataset.rate_hz, 3),
        'laps': round(count_all_laps(drives), 2),
        'position_lag': lag_summary(recordings, drives),
        'segments': len(dataset.segments),
        'samples': dict(dataset.counts),
        'places': places,
        'sharpness': tuning.sharpness,
        'persistence': tuning.persistence,
        'mean_error_m': None if fitted is None else round(fitted.score_m, 4),
        'covariance_factors': None
        if fitted is None
        else [round(float(factor), 4) for factor in fitted.factors],
        'notes': list(dict.fromkeys(notes)),
    }
