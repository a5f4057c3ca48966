# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a model remembers of its training, as JSON values."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from two_manifold_ros import __version__
from two_manifold_ros.hse_hmm.transition import spectral_radius, transition
from two_manifold_ros.kernels.selection import has_neighbours
from two_manifold_ros.training.drive_summary import (
    count_all_laps,
    lag_summary,
    lap_notes,
    measure_drives,
)
from two_manifold_ros.training.validation import usual_candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.assembly import Assembly
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.training.validation import Validation
    from two_manifold_ros.typing import Floats


HARDLY_BETTER = 0.7
"""Of the error that counts as lost: a mean above it is that of a filter that does not know."""


def summarise(
    recordings: Sequence[Recording],
    dataset: Dataset,
    structure: Structure,
    assembly: Assembly,
    validation: Validation | str,
    settings: TrainingSettings,
    factors: Floats | None,
) -> dict[str, Any]:
    """
    Summarise a training.

    Parameters
    ----------
    recordings, dataset, structure, assembly, settings
        What went in and came out.
    validation
        What the held-out blocks said, or why there is no validation.
    factors : (H + 1,), optional
        Calibration of the covariances, if there is one.

    """
    values = assembly.directions.singular_values
    matrix = transition(assembly.tables.weights, assembly.tables.states)
    validated = None
    candidate = usual_candidate(settings)
    if not isinstance(validation, str):
        validated = {'ticks': validation.ticks, 'compared': list(validation.table)}
        candidate = validation.candidate
    states = assembly.tables.weights.shape[1]
    notes = [note for recording in recordings for note in recording.notes]
    notes += structure.notes
    frames = sorted({recording.imu.frame_id for recording in recordings})
    if len(frames) > 1:
        notes.append(f'the IMUs are in different frames, taken as alike: {", ".join(frames)}')
    drives = measure_drives(recordings)
    held_s = 0.0 if isinstance(validation, str) else validation.ticks / dataset.rate_hz
    notes += _training_notes(dataset, validation, factors) + lap_notes(drives, held_s)
    wanted = settings.states if isinstance(validation, str) else validation.candidate.states
    if wanted is not None and states < wanted:
        notes.append(f'the windows share only {states} of the {wanted} states asked for or chosen')
    return {
        'package_version': __version__,
        'recordings': [recording.name for recording in recordings],
        'seconds': round(sum(map(len, dataset.segments)) / dataset.rate_hz, 3),
        'laps': round(count_all_laps(drives), 2),
        'position_lag': lag_summary(recordings, drives),
        'segments': len(dataset.segments),
        'training_ticks': len(structure.training.ticks),
        'samples': dict(dataset.counts),
        'method': settings.method,
        'chosen': candidate.as_json(),
        'neighbours': candidate.neighbours if has_neighbours(settings.kernel) else None,
        'coupling': settings.coupling,
        'readout': settings.readout if settings.method == 'spectral' else None,
        'states': states,
        'singular_values': [round(float(value / values[0]), 6) for value in values],
        'spectral_radius': round(spectral_radius(matrix), 9),
        'validation': validated,
        'covariance_factors': _named(factors, settings),
        'notes': list(dict.fromkeys(notes)),
    }


def _training_notes(
    dataset: Dataset, validation: Validation | str, factors: Floats | None
) -> list[str]:
    notes = []
    if dataset.channels.dead_names:
        dead = ', '.join(dataset.channels.dead_names)
        notes.append(f'channels without a signal left out: {dead}')
    absurd = dataset.counts['out_of_range']
    if absurd:
        notes.append(f'{absurd} IMU samples far beyond all others left out: check the bus')
    if isinstance(validation, str):
        uncalibrated = ' and covariances not calibrated' if factors is None else ''
        notes.append(f'settings are not validated{uncalibrated}: {validation}')
    elif validation.score_m > HARDLY_BETTER * validation.lost_m:
        notes.append(
            f'on the held-out blocks the filter was lost most of the time (mean error '
            f'{validation.score_m:.2f} m, where each counts {validation.lost_m:.2f} m at most): '
            'record more laps, at the speeds at which the vehicle will be driven, of one route'
        )
    return notes


def _named(factors: Floats | None, settings: TrainingSettings) -> dict[str, float] | None:
    if factors is None:
        return None
    names = [f'horizon {horizon}' for horizon in settings.horizons] + ['velocity']
    return {name: round(float(factor), 4) for name, factor in zip(names, factors, strict=True)}
