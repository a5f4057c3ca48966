# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks that every training makes before it learns, and the summary that its model carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import likely_reason, measure_repetition, UNKNOWN
from two_manifold_ros.inspection.positions import (
    check_units,
    FEWEST_LAPS,
    LAPS_NOT_COUNTED,
    left_out_sentence,
    measure_positions,
    PositionReport,
    WANTED_LAPS,
)
from two_manifold_ros.inspection.shared_places import LOOK_S, positions_apart
from two_manifold_ros.inspection.streams import frame_sentence
from two_manifold_ros.manifold.selection import has_neighbours
from two_manifold_ros.model.model import FAST
from two_manifold_ros.names import KERNELS, LAP_FRAME
from two_manifold_ros.recordings.recording import check_one_plane, Recording
from two_manifold_ros.ticks.rest import SLOW_SHARE, usual_speed
from two_manifold_ros.training.dataset import Dataset, RARE_STEP, usual_step
from two_manifold_ros.training.settings import EmbeddedSettings, TrainingSettings
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.training.held_out import Validation


TWICE = (
    'most windows occur twice with the same samples, so nothing can be validated; name each '
    'recording once, and leave out where the vehicle is parked'
)

SLOWEST_MPS = 1.0 / (SLOW_SHARE * FAST)
"""Usual speed at which the slowest place of a model with a tick a second is at its limit, m/s."""


def check_streams(recordings: Sequence[Recording]) -> None:
    """Refuse recordings without samples or positions, or with several planes or other units."""
    if not recordings:
        raise InputError('there is no recording to train on')
    for recording in recordings:
        if not len(recording.imu.stamps):
            msg = f'{recording.name}: there is no IMU sample in the part asked for; check --until'
            raise InputError(msg)
        if recording.positions is None or not len(recording.positions.stamps):
            raise InputError(
                f'{recording.name}: training needs positions, but there are none in the part '
                'asked for; name a --position-topic or check --until'
            )
        for stream in (recording.imu, recording.positions):
            if sentence := frame_sentence(stream.topic, stream.frame_id):
                raise InputError(f'{recording.name}: {sentence}')
    check_one_plane(recordings)
    check_units(recordings)
    for recording in recordings:
        # Phases of laps are no positions.
        if recording.positions is None or recording.positions.frame_id == LAP_FRAME:
            continue
        usual_mps = usual_speed([positions_apart(recording, LOOK_S)], LOOK_S)
        if not usual_mps or SLOWEST_MPS < usual_mps < FAST:
            continue
        # Their unit is shown by no sensor, but they move as no vehicle in metres does.
        off, limit = ('slower', SLOWEST_MPS) if usual_mps <= SLOWEST_MPS else ('faster', FAST)
        raise InputError(
            f'{recording.name}: positions on {recording.positions.topic} usually move at '
            f'{usual_mps:.2g} m/s, {off} than the limit of a model, {limit:g} m/s, so they are '
            'probably not in metres: have the publisher convert to metres, and record a drive'
        )


def check_horizons(targets: Floats, settings: TrainingSettings) -> None:
    """Refuse a horizon at which none of the (n, H + 1, 2) targets is known."""
    for column, horizon in enumerate(settings.horizons):
        if not np.isfinite(targets[:, column]).any():
            raise InputError(
                f'no position is known {horizon} ticks after any training tick; shorten '
                '--horizons, or record positions for longer'
            )


def measure_drives(recordings: Sequence[Recording]) -> list[PositionReport]:
    """Measure the positions of each recording that has some."""
    return [
        measure_positions(recording.positions, recording.imu)
        for recording in recordings
        if recording.positions is not None
    ]


def all_laps(drives: Sequence[PositionReport]) -> tuple[float, float | None]:
    """Return the laps of all recordings together, and how long one takes, s, if any closes."""
    laps = [drive.laps for drive in drives if drive.laps is not None]
    lap_s = float(np.median([each.time_s for each in laps])) if laps else None
    return sum(each.count for each in laps), lap_s


def lap_notes(drives: Sequence[PositionReport], held_s: float) -> list[str]:
    """Return a sentence if there are too few laps, of which ``held_s`` seconds were held out."""
    if any(drive.laps is not None and not drive.laps.resolved for drive in drives):
        return [LAPS_NOT_COUNTED]
    (laps, lap_s), there = all_laps(drives), 'the positions never close a lap'
    if lap_s is not None:
        held = held_s / lap_s
        if laps >= FEWEST_LAPS and (held >= 1 or not held_s):
            return []
        blocks = f', and {held:.1f} of one in the held-out blocks' if held_s else ''
        there = f'there are {laps:.1f} laps{blocks}'
    # If nothing was validated that is said already, with the reason.
    few = 'the data are too few to validate settings, and the ellipses are not reliable; '
    return [f'{there}: {few * (held_s > 0.0)}record {WANTED_LAPS}, of each route']


def judge(
    recordings: Sequence[Recording], validation: Validation | str, drives: Sequence[PositionReport]
) -> dict[str, str] | None:
    """Return why a model is of no use by its `Validation`, or as nothing repeats; else None."""
    if isinstance(validation, str):
        found, mean_m = 'no part could be left out and followed', math.inf
    else:
        mean_m = validation.mean_m
        found = (
            f'mean error on parts left out {validation.followed_m:.3g} m, of the mean position '
            f'{mean_m:.3g} m'
        )
        if validation.published_share is not None:
            found += f', {validation.published_share:.0%} of the ticks published'
        if validation.of_use:
            return None
    # Between positions that are far between the vehicle can have been anywhere.
    rare = usual_step(recordings) > RARE_STEP
    repetition = UNKNOWN if rare else measure_repetition(recordings, drives)
    if isinstance(validation, str) and repetition.met >= 0.5:
        return None
    reason, cause, cure = likely_reason(recordings, drives, repetition, mean_m)
    cause = f'the model is of no use: {cause}'
    parts = {'reason': reason, 'cause': cause, 'cure': cure, 'evidence': found}
    return {**parts, 'sentence': f'{cause}; {cure} ({found})'}


def lag_summary(
    recordings: Sequence[Recording], drives: Sequence[PositionReport]
) -> list[dict[str, Any]]:
    """Return for each recording the lag found in the bag, and how much of it was undone."""
    rows = []
    for recording, drive in zip(recordings, drives, strict=True):
        undone_s = recording.positions.earlier_s if recording.positions is not None else 0.0
        left_s = drive.lag.seconds
        rows.append(
            {
                'recording': recording.name,
                'found_s': None if left_s is None else round(left_s + undone_s, 4),
                'uncertainty_s': None if left_s is None else round(drive.lag.uncertainty_s, 4),
                'corrected_s': round(undone_s, 4),
            }
        )
    return rows


def head_fields(
    recordings: Sequence[Recording],
    dataset: Dataset,
    settings: TrainingSettings,
    drives: Sequence[PositionReport],
    validation: Validation | str,
    chosen: dict[str, Any],
    states: int,
    training_ticks: int,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the fields that all models have, by name: also a summary of the training as JSON."""
    first, positions = recordings[0], recordings[0].positions
    validated = None if isinstance(validation, str) else validation
    laps, lap_s = all_laps(drives)
    refusal = judge(recordings, validation, drives)
    said = [refusal['sentence']] if refusal else []
    said += [note for recording in recordings for note in recording.notes]
    said += notes
    said += [
        left_out_sentence(each.left_out, each.timing.count, each.topic)
        for each in drives
        if each.left_out
    ]
    frames = sorted({recording.imu.frame_id for recording in recordings})
    if len(frames) > 1:
        said.append(f'the IMUs are in different frames, taken as alike: {", ".join(frames)}')
    if dataset.channels.dead_names:
        dead = ', '.join(dataset.channels.dead_names)
        of = 'that lasts from tick to tick ' if settings.method == 'tpsr' else ''
        said.append(f'channels without a signal {of}left out: {dead}')
    if absurd := dataset.counts['out_of_range']:
        said.append(f'{absurd} IMU samples far beyond all others left out: check the bus')
    if isinstance(validation, str):
        said.append(f'settings are not validated and covariances not calibrated: {validation}')
    said += lap_notes(drives, validated.ticks / dataset.rate_hz if validated else 0.0)
    wanted = settings.states or (chosen['states'] if validated else None)
    if wanted is not None and states < wanted:
        said.append(f'the windows share only {states} of the {wanted} states asked for or chosen')
    errors = None
    if validated:
        share = validated.published_share
        errors = {
            'ticks': validated.ticks,
            'compared': list(validated.table),
            'followed_m': round(validated.followed_m, 4),
            'mean_position_m': round(validated.mean_m, 4),
            'published_share': share if share is None else round(share, 4),
        }
    embedded = settings if isinstance(settings, EmbeddedSettings) else None
    has_graph = embedded is not None and has_neighbours(embedded.kernel)
    summary = {
        'package_version': __version__,
        'recordings': [recording.name for recording in recordings],
        'seconds': round(sum(map(len, dataset.segments)) / dataset.rate_hz, 3),
        'laps': round(laps, 2),
        'lap_s': None if lap_s is None else round(lap_s, 3),
        'position_lag': lag_summary(recordings, drives),
        'segments': len(dataset.segments),
        'training_ticks': training_ticks,
        'samples': dict(dataset.counts),
        'method': settings.method,
        'chosen': chosen,
        'neighbours': chosen['neighbours'] if has_graph else None,
        'readout': {'route': None, 'tpsr': 'sharpened'}.get(
            settings.method, embedded and embedded.readout
        ),
        'states': states,
        'validation': errors,
        'refusal': refusal,
        'notes': list(dict.fromkeys(said)),
    }
    return {
        'summary': summary,
        'rate_hz': dataset.rate_hz,
        'period_ns': dataset.period_ns,
        'max_gap_ns': dataset.max_gap_ns,
        'window': dataset.window,
        'horizons': settings.horizons,
        'imu_topic': first.imu.topic,
        'imu_frame_id': first.imu.frame_id,
        'position_topic': positions.topic if positions else '',
        'frame_id': positions.frame_id if positions else '',
        'origin': positions.origin if positions else None,
        'channels': dataset.channels,
        'track': join_tracks(dataset.tracks),
        'mean_position': np.nanmean(np.concatenate(dataset.tracks), axis=0),
        'kernel': embedded.kernel if embedded else KERNELS[0],
    }


def join_tracks(tracks: Sequence[Floats]) -> Floats:
    """Return the positions of stretches (T, 2), a row of NaN between two: (T, 2)."""
    seam = np.full((1, 2), np.nan)
    parts = [part for track in tracks for part in (track, seam)]
    return np.concatenate(parts[:-1])


def fleet_sentence(found: Mapping[str, Any]) -> str:
    """Return what the summary of a model has of the bags that it was drawn from."""
    words = f'trained on {found["trained"]} of {found["bags"]} bags'
    if found['not_used']:
        words += f', {found["not_used"]} of them of no use'
    if (total := found['tried']) is None:
        return words
    return (
        f'{words}; tried on {total["drives"]} others: a mean error of {total["mean_m"]:.3g} m, '
        f'{total["published_share"]:.1%} of the ticks published, {total["worst_m"]:.3g} m on '
        f'{total["worst"]}'
    )
