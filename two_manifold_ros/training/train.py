# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train a model from recordings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.model.model import Model
from two_manifold_ros.readout.targets import training_targets
from two_manifold_ros.training.assembly import assemble, training_states
from two_manifold_ros.training.completion import with_completed_positions
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.familiar_anchors import familiar_anchors
from two_manifold_ros.training.holdout import hold_out
from two_manifold_ros.training.rehearsal import Rehearser
from two_manifold_ros.training.route_assembly import route_parts, RouteCandidate
from two_manifold_ros.training.structure import learn_structure
from two_manifold_ros.training.summary import summarise
from two_manifold_ros.training.time_scales import with_time_scales
from two_manifold_ros.training.validation import usual_candidate, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.recordings.recording import PositionStream, Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.assembly import Assembly, Candidate
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.training.validation import Validation
    from two_manifold_ros.typing import Floats
    from two_manifold_ros.windows.familiarity import FamiliarAnchors


STATE_BOUND_FACTOR = 3.0
"""Times the 99 % quantile of the state's norm in a run over training (section 6.5). The state of
a filter that works exceeds that quantile by a half now and then; of one that broke, by orders."""

STATE_BOUND_TICKS = 2_000
"""Ticks of that run."""

SAME = 1e-9
"""Mean square difference of two windows, in standard deviations, that is rounding."""


def _silent(stage: str, share: float) -> None:
    pass


def train_model(
    recordings: Sequence[Recording],
    settings: TrainingSettings,
    progress: Callable[[str, float], None] | None = None,
) -> Model:
    """
    Train a model.

    Blocks are held out first, on which the bandwidth of the observation kernel and, if not given,
    the neighbours and the number of states are chosen in closed loop and the covariances
    calibrated; then everything is learned from all of the recordings.

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
    streams = position_streams(recordings)
    tell('averaging samples over ticks', 0.0)
    settings = with_time_scales(recordings, settings)
    dataset = build_dataset(recordings, settings)
    validation = _validate(dataset, settings, lambda stage, share: tell(stage, 0.5 * share))
    tell('learning from everything', 0.5)
    candidate = usual_candidate(settings) if isinstance(validation, str) else validation.candidate
    structure = learn_structure(
        [dataset.channels.standardise(segment.values) for segment in dataset.segments],
        dataset.window,
        settings,
        candidate.neighbours,
    )
    dataset, structure = with_completed_positions(dataset, structure, settings)
    # The configuration of the paper, which reads positions by a ridge regression, is left alone.
    spliced = settings.method == 'spectral' and settings.readout != 'ridge'
    familiarity = familiar_anchors(structure.training.pasts, spliced=spliced)
    _check_repetition(familiarity.squared, dataset)
    factors = None if isinstance(validation, str) else validation.factors
    if isinstance(candidate, RouteCandidate):
        assembly, factors = _route_assembly(dataset, structure, candidate, settings, familiarity)
    else:
        assembly = _spectral_assembly(dataset, structure, candidate, settings)
    if factors is not None:
        assembly = replace(assembly, readout=assembly.readout.scaled(factors))
    summary = summarise(recordings, dataset, structure, assembly, validation, settings, factors)
    tell('learning from everything', 1.0)
    return _as_model(
        dataset,
        structure,
        assembly,
        horizons=settings.horizons,
        kernel=settings.kernel,
        imu_topic=recordings[0].imu.topic,
        imu_frame_id=recordings[0].imu.frame_id,
        position_topic=streams[0].topic,
        frame_id=streams[0].frame_id,
        origin=streams[0].origin,
        familiarity=familiarity,
        summary=summary,
    )


def position_streams(recordings: Sequence[Recording]) -> list[PositionStream]:
    """Return the positions of recordings, all in one frame, or raise an `InputError`."""
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
    dataset: Dataset, settings: TrainingSettings, tell: Callable[[str, float], None]
) -> Validation | str:
    """Return what held-out blocks say, or why none could be held out."""
    fit, held = hold_out(dataset.segments, dataset.window)
    if not (_any_position(fit) and _any_position(held)):
        return 'no block with positions could be held out; record longer'
    try:
        return validate(fit, held, dataset, settings, tell)
    except InputError as error:
        # What is left of a short recording without its held-out block may be too short to fit.
        return f'without the held-out part {error}'


def _any_position(segments: Sequence[Segment]) -> bool:
    return any(bool(np.isfinite(segment.positions).any()) for segment in segments)


def check_horizons(targets: Floats, settings: TrainingSettings) -> None:
    """Refuse a horizon at which none of the (n, H + 1, 2) targets is known."""
    for column, horizon in enumerate(settings.horizons):
        if not np.isfinite(targets[:, column]).any():
            msg = (
                f'no position is known {horizon} ticks after any training tick; shorten '
                '--horizons, or record positions for longer'
            )
            raise InputError(msg)


def _spectral_assembly(
    dataset: Dataset, structure: Structure, candidate: Candidate, settings: TrainingSettings
) -> Assembly:
    targets = training_targets(
        [segment.positions for segment in dataset.segments],
        structure.training.ticks,
        settings.horizons,
        dataset.period_ns * 1e-9,
    )
    check_horizons(targets, settings)
    return assemble(structure, targets, candidate, settings.readout)


def _route_assembly(
    dataset: Dataset,
    structure: Structure,
    candidate: RouteCandidate,
    settings: TrainingSettings,
    familiarity: FamiliarAnchors,
) -> tuple[Assembly, Floats | None]:
    """Return the route belief, and its calibration where any of it could be rehearsed."""
    positions = [segment.positions for segment in dataset.segments]
    period_s = dataset.period_ns * 1e-9
    parts = route_parts(structure, candidate.states, positions, settings.horizons, period_s)
    check_horizons(parts.targets, settings)
    assembly = parts.assembly(candidate)
    if assembly.route is None:
        return assembly, None
    readout = partial(parts.readout_without, candidate)
    rehearser = Rehearser(structure, assembly.route, readout, parts.targets, familiarity, period_s)
    rehearsal = rehearser.run()
    factors, counts = rehearsal.factors()
    usual = assembly.route.surprise * rehearsal.usual_surprise
    assembly = replace(assembly, route=replace(assembly.route, surprise=usual))
    return assembly, factors if counts.any() else None


def _check_repetition(familiar_squared: float, dataset: Dataset) -> None:
    """Refuse a drive that is there twice: whatever is held out of it would not be unseen."""
    numbers = dataset.window * int(np.count_nonzero(dataset.channels.live))
    if not familiar_squared > SAME * numbers:
        msg = (
            'most windows occur twice with the same samples, so nothing can be validated; name '
            'each recording once, and leave out where the vehicle is parked'
        )
        raise InputError(msg)


def _as_model(
    dataset: Dataset,
    structure: Structure,
    assembly: Assembly,
    **named: Any,  # noqa: ANN401 - the remaining fields of the model, by name
) -> Model:
    positions = np.concatenate([segment.positions for segment in dataset.segments])
    return Model(
        rate_hz=dataset.rate_hz,
        period_ns=dataset.period_ns,
        max_gap_ns=dataset.max_gap_ns,
        window=dataset.window,
        channels=dataset.channels,
        tables=assembly.tables,
        operator=assembly.operator,
        readout=assembly.readout,
        series=structure.series,
        starts=structure.training.pasts.starts,
        warm_start=structure.warm_start(assembly.directions),
        state_bound=_state_bound(structure, assembly),
        route=assembly.route,
        track=track_of(dataset),
        mean_position=np.nanmean(positions, axis=0),
        **named,
    )


def _state_bound(structure: Structure, assembly: Assembly) -> float:
    spectral = Belief(assembly.tables, assembly.operator)
    states = training_states(structure, spectral, STATE_BOUND_TICKS)
    norms = np.linalg.norm(states[:, 1:], axis=1)
    return STATE_BOUND_FACTOR * float(np.quantile(norms, 0.99))


def track_of(dataset: Dataset) -> Floats:
    """Return the positions of all segments, a row of NaN between two: (T, 2)."""
    seam = np.full((1, 2), np.nan)
    parts = [part for segment in dataset.segments for part in (segment.positions, seam)]
    return np.concatenate(parts[:-1])
