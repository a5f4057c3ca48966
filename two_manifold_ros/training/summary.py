# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a model remembers of its training, as JSON values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from two_manifold_ros import __version__
from two_manifold_ros.kernels.selection import has_neighbours
from two_manifold_ros.training.drive_summary import (
    count_all_laps,
    lag_summary,
    lap_notes,
    measure_drives,
    median_lap_s,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.held_out import HeldOut
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import AnyStructure
    from two_manifold_ros.two_manifold.shared_directions import SharedDirections
    from two_manifold_ros.typing import Floats


HARDLY_BETTER = 0.7
"""Of the error that counts as lost: a mean above it is that of a filter that does not know."""


@dataclass(frozen=True)
class Learned:
    """
    What a training found.

    Parameters
    ----------
    structure, directions
        The embeddings, and what they share.
    chosen
        What was chosen, by name.
    states
        That were asked for or chosen; None for what there is.
    held
        What was seen on drives left out, or why none could be.
    factors : (H + 1,), optional
        Calibration of the covariances, if there is one.

    """

    structure: AnyStructure
    directions: SharedDirections
    chosen: dict[str, float | None]
    states: int | None
    held: HeldOut | str
    factors: Floats | None


def summarise(
    recordings: Sequence[Recording],
    dataset: Dataset,
    settings: TrainingSettings,
    learned: Learned,
) -> dict[str, Any]:
    """Summarise a training of any method."""
    held, structure = learned.held, learned.structure
    values = learned.directions.singular_values
    states = 1 + len(values)
    notes = [note for recording in recordings for note in recording.notes]
    notes += structure.notes
    frames = sorted({recording.imu.frame_id for recording in recordings})
    if len(frames) > 1:
        notes.append(f'the IMUs are in different frames, taken as alike: {", ".join(frames)}')
    drives = measure_drives(recordings)
    held_s = 0.0 if isinstance(held, str) else held.ticks / dataset.rate_hz
    notes += _training_notes(dataset, settings, held, learned.factors)
    notes += lap_notes(drives, held_s)
    if learned.states is not None and states < learned.states:
        notes.append(
            f'the windows share only {states} of the {learned.states} states asked for or chosen'
        )
    embedded = settings.method != 'tpsr'
    has_graph = embedded and has_neighbours(settings.kernel)
    neighbours = learned.chosen['neighbours'] if has_graph else None
    return {
        'package_version': __version__,
        'recordings': [recording.name for recording in recordings],
        'seconds': round(sum(map(len, dataset.segments)) / dataset.rate_hz, 3),
        'laps': round(count_all_laps(drives), 2),
        'lap_s': median_lap_s(drives),
        'position_lag': lag_summary(recordings, drives),
        'segments': len(dataset.segments),
        'training_ticks': len(structure.training.ticks),
        'samples': dict(dataset.counts),
        'method': settings.method,
        'chosen': learned.chosen,
        'neighbours': neighbours,
        'coupling': settings.coupling if embedded else None,
        'readout': None if settings.method == 'route' else settings.readout,
        'states': states,
        'singular_values': [round(float(value / values[0]), 6) for value in values],
        'validation': None
        if isinstance(held, str)
        else {'ticks': held.ticks, 'compared': list(held.table)},
        'covariance_factors': _named(learned.factors, settings),
        'notes': list(dict.fromkeys(notes)),
    }


def _training_notes(
    dataset: Dataset, settings: TrainingSettings, held: HeldOut | str, factors: Floats | None
) -> list[str]:
    notes = []
    if dataset.channels.dead_names:
        dead = ', '.join(dataset.channels.dead_names)
        of = 'that lasts from tick to tick ' if settings.method == 'tpsr' else ''
        notes.append(f'channels without a signal {of}left out: {dead}')
    absurd = dataset.counts['out_of_range']
    if absurd:
        notes.append(f'{absurd} IMU samples far beyond all others left out: check the bus')
    if isinstance(held, str):
        uncalibrated = ' and covariances not calibrated' if factors is None else ''
        notes.append(f'settings are not validated{uncalibrated}: {held}')
    elif held.score_m > HARDLY_BETTER * held.lost_m:
        notes.append(
            f'on the held-out blocks the filter was lost most of the time (mean error '
            f'{held.score_m:.2f} m, where each counts {held.lost_m:.2f} m at most): '
            'record more laps, at the speeds at which the vehicle will be driven, of one route'
        )
    return notes


def _named(factors: Floats | None, settings: TrainingSettings) -> dict[str, float] | None:
    if factors is None:
        return None
    names = [f'horizon {horizon}' for horizon in settings.horizons] + ['velocity']
    return {name: round(float(factor), 4) for name, factor in zip(names, factors, strict=True)}
