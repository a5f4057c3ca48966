# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train a model from recordings."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.transition import spectral_radius, transition
from two_manifold_ros.model.model import Model
from two_manifold_ros.readout.targets import training_targets
from two_manifold_ros.training.assembly import assemble
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.holdout import hold_out
from two_manifold_ros.training.structure import learn_structure
from two_manifold_ros.training.validation import FAMILIAR_QUANTILE, usual_candidate, validate
from two_manifold_ros.windows.spacing import spacing_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.recordings.recording import PositionStream, Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.assembly import Assembly
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.training.validation import Validation
    from two_manifold_ros.typing import Floats


STATE_BOUND_FACTOR = 1.5
"""Times the 99 % quantile of the state's norm over training (section 6.5)."""


def _silent(stage: str, share: float) -> None:
    pass


def train_model(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None] | None = None,
) -> Model:
    """
    Train a model.

    Blocks are held out first, on which the observation operator and, if not given, the number of
    states are chosen in closed loop and the covariances calibrated; then everything is learned
    from all of the recordings.

    Parameters
    ----------
    recordings
        With positions, all of one track and one frame.
    settings
        What was chosen by the user.
    progress
        Called with the stage in words and the share done, 0 to 1.

    Raises
    ------
    InputError
        If the recordings cannot be trained on; the message says why.

    """
    tell = progress or _silent
    streams = _position_streams(recordings)
    tell('averaging samples over ticks', 0.0)
    dataset = build_dataset(recordings, settings)
    fit, held = hold_out(dataset.segments, dataset.window)
    validation = _validate(fit, held, dataset, settings, tell)
    tell('learning from everything', 0.5 if held else 0.1)
    structure = learn_structure(
        [dataset.channels.standardise(segment.values) for segment in dataset.segments],
        dataset.window,
        settings,
    )
    targets = training_targets(
        [segment.positions for segment in dataset.segments],
        structure.training.ticks,
        settings.horizons,
        dataset.period_ns * 1e-9,
    )
    _check_horizons(targets, settings)
    candidate = validation.candidate if validation else usual_candidate(settings)
    assembly = assemble(structure, targets, candidate, settings.readout)
    if validation:
        readout = assembly.readout.scaled(validation.factors)
        familiar = validation.familiar_squared
    else:
        readout = assembly.readout
        familiar = spacing_quantile(structure.training.pasts, FAMILIAR_QUANTILE)
    tell('learning from everything', 1.0)
    positions = np.concatenate([segment.positions for segment in dataset.segments])
    imu = recordings[0].imu
    return Model(
        rate_hz=dataset.rate_hz,
        period_ns=dataset.period_ns,
        max_gap_ns=dataset.max_gap_ns,
        window=dataset.window,
        horizons=settings.horizons,
        kernel=settings.kernel,
        imu_topic=imu.topic,
        imu_frame_id=imu.frame_id,
        position_topic=streams[0].topic,
        frame_id=streams[0].frame_id,
        origin=streams[0].origin,
        channels=dataset.channels,
        tables=assembly.tables,
        operator=assembly.operator,
        readout=readout,
        series=structure.series,
        starts=structure.training.pasts.starts,
        familiar_squared=familiar,
        warm_start=structure.warm_start(assembly.directions),
        state_bound=_state_bound(assembly),
        track=_track(dataset),
        mean_position=np.nanmean(positions, axis=0),
        summary=_summary(recordings, dataset, structure, assembly, validation, settings),
    )


def _position_streams(recordings: Sequence[Recording]) -> list[PositionStream]:
    if not recordings:
        msg = 'there is no recording to train on'
        raise InputError(msg)
    streams = []
    for recording in recordings:
        if not len(recording.imu.stamps):
            msg = f'{recording.name}: there is no IMU sample in the part asked for; check --until'
            raise InputError(msg)
        if recording.positions is None or not len(recording.positions.stamps):
            msg = (
                f'{recording.name}: training needs positions, but there are none in the part '
                'asked for; name a --position-topic or check --until'
            )
            raise InputError(msg)
        streams.append(recording.positions)
    frames = {stream.frame_id for stream in streams}
    if len(frames) > 1:
        msg = (
            f'the positions are in different frames ({", ".join(sorted(frames))}); '
            'train on recordings of one frame'
        )
        raise InputError(msg)
    return streams


def _validate(
    fit: Sequence[Segment],
    held: Sequence[Segment],
    dataset: Dataset,
    settings: TrainingSettings,
    tell: Callable[[str, float], None],
) -> Validation | None:
    if not (_any_position(fit) and _any_position(held)):
        return None
    try:
        return validate(
            fit, held, dataset, settings, lambda stage, share: tell(stage, 0.5 * share)
        )
    except InputError:
        # What is left of a short recording without its held-out block may be too short to fit.
        return None


def _any_position(segments: Sequence[Segment]) -> bool:
    return any(bool(np.isfinite(segment.positions).any()) for segment in segments)


def _check_horizons(targets: Floats, settings: TrainingSettings) -> None:
    for column, horizon in enumerate(settings.horizons):
        if not np.isfinite(targets[:, column]).any():
            msg = (
                f'no position is known {horizon} ticks after any training tick; shorten '
                '--horizons, or record positions for longer'
            )
            raise InputError(msg)


def _state_bound(assembly: Assembly) -> float:
    norms = np.linalg.norm(assembly.tables.states[:, 1:], axis=1)
    return STATE_BOUND_FACTOR * float(np.quantile(norms, 0.99))


def _track(dataset: Dataset) -> Floats:
    seam = np.full((1, 2), np.nan)
    parts = [part for segment in dataset.segments for part in (segment.positions, seam)]
    return np.concatenate(parts[:-1])


def _summary(
    recordings: Sequence[Recording],
    dataset: Dataset,
    structure: Structure,
    assembly: Assembly,
    validation: Validation | None,
    settings: TrainingSettings,
) -> dict[str, Any]:
    values = assembly.directions.singular_values
    matrix = transition(assembly.tables.weights, assembly.tables.states)
    notes = [note for recording in recordings for note in recording.notes]
    notes += structure.notes
    if dataset.channels.dead_names:
        notes.append(
            f'channels without a signal left out: {", ".join(dataset.channels.dead_names)}'
        )
    states = assembly.tables.weights.shape[1]
    if settings.states is not None and states < settings.states:
        notes.append(f'the windows share only {states} of the {settings.states} states asked for')
    if validation is None:
        notes.append(
            'no block with positions could be held out: settings are not validated and '
            'covariances not calibrated; record longer'
        )
    return {
        'package_version': __version__,
        'recordings': [recording.name for recording in recordings],
        'seconds': round(sum(map(len, dataset.segments)) / dataset.rate_hz, 3),
        'segments': len(dataset.segments),
        'training_ticks': len(structure.training.ticks),
        'samples': dict(dataset.counts),
        'neighbours': settings.neighbours,
        'coupling': settings.coupling,
        'readout': settings.readout,
        'states': states,
        'singular_values': [round(float(value / values[0]), 6) for value in values],
        'spectral_radius': round(spectral_radius(matrix), 9),
        'validation': _validation_summary(validation, settings) if validation else None,
        'notes': list(dict.fromkeys(notes)),
    }


def _validation_summary(validation: Validation, settings: TrainingSettings) -> dict[str, Any]:
    names = [f'horizon {horizon}' for horizon in settings.horizons] + ['velocity']
    return {
        'chosen': validation.candidate.as_json(),
        'ticks': validation.ticks,
        'covariance_factors': {
            name: round(float(factor), 4)
            for name, factor in zip(names, validation.factors, strict=True)
        },
        'compared': list(validation.table),
    }
