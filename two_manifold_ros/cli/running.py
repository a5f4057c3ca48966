# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run a model over recordings: time laps, write topics or a track, or measure a vehicle."""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.cli import options
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_fit, driven_route, estimates_along
from two_manifold_ros.evaluation.lap_times import LapTimes, time_laps
from two_manifold_ros.evaluation.replaying import replay
from two_manifold_ros.evaluation.vehicles import measure_vehicle
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.messages import PUBLISHED, Topics
from two_manifold_ros.laps.timing import LapTimer, make_timer, Timed
from two_manifold_ros.loggers.track_files import check_track_path, Track, write_track
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.model.vehicle import check_vehicle, PRIOR, UNKNOWN
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.progress import Progress, warn
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import IMU_CHANNELS, IMU_UNITS, Recording
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from two_manifold_ros.interface.assessment import Assessment
    from two_manifold_ros.model.model import ModelHead


LEAST_COUNTED = 0.5
"""Share of the ticks on the route below which `vehicle` warns: the filter is rather off it."""

LAPS_HELP = (
    'Run the filter of the node over recordings, each from a cold start, and time laps and '
    'sectors from the IMU alone, with the standard deviation of each time. If a recording has '
    'positions, the times by these positions are shown beside.'
)


def add_laps(parser: ArgumentParser) -> None:
    """Add the arguments of laps."""
    options.add_run(parser)
    parser.add_argument(
        '--start-line',
        default='',
        metavar='PLACE',
        help='X,Y in metres, or a share of a lap after the usual start line, such as 0.25 '
        '(default: where timing is surest)',
    )
    parser.add_argument(
        '--sectors',
        default='',
        metavar='PLACES',
        help='where the sectors after the first begin, apart by blanks, each as a start line '
        '(default: thirds of a lap)',
    )
    options.add_part(parser)


def run_laps(args: Namespace) -> int:
    """Time laps and report; return 0."""
    model = load_model(args.model)
    lines = {}
    if '' in model.routes:
        # Lines are checked before anything is read.
        lines[''] = make_timer(model, args.start_line, args.sectors)
    options.name_sensors(args, model)
    # A model of laps alone has no positions to compare with.
    placed = model.frame_id != LAP_FRAME
    whole = options.recordings_in_planes(args, model, need_positions=False, find_positions=placed)
    recordings = [options.part_of(each, args.start, args.until) for each in whole]
    driven, found = [], []
    with Progress('timing') as progress:
        for each in recordings:
            route = driven_route(model, each, progress)
            own = model.routes[route]
            if route not in lines:
                lines[route] = make_timer(own, args.start_line, args.sectors)
            timer = LapTimer(lines[route].circuit, lines[route].sectors)
            driven.append(route)
            found.append(time_laps(own, each, timer, progress))
    for recording, times in zip(recordings, found, strict=True):
        if times.best is None:
            warn(
                f'{recording.name}: no lap was timed from one passage of the start line to the '
                'next; drive two laps or more as in the training, and see what is published with '
                f'two-manifold evaluate {args.model} {recording.name}'
            )
    content = {
        'model': args.model,
        'recordings': [
            {'bag': recording.name, 'route': route or None, **times.to_json()}
            for recording, route, times in zip(recordings, driven, found, strict=True)
        ],
    }
    # Seconds count from where the recording begins, wherever its part does.
    shown = (
        part
        for recording, route, times in zip(whole, driven, found, strict=True)
        for part in _laps(recording, times, placed=placed, route=route)
    )
    options.answer(args, content, shown)
    return 0


def _laps(
    recording: Recording, times: LapTimes, *, placed: bool, route: str
) -> Iterator[str | Table]:
    """Yield the laps of a recording as a table, and what is best of them."""
    circuit, first_ns = times.circuit, recording.imu.first_stamp
    sectors = len(times.laps[0].sectors) if times.laps else 0
    header = ['lap', 'begins, s', 'time, s', *(f'sector {k + 1}' for k in range(sectors))]
    best = times.best
    header += ['to best'] + (['by positions'] if times.references else [])
    rows = []
    for lap in times.laps:
        began = '-' if lap.begin_ns is None else f'{(lap.begin_ns - first_ns) * 1e-9:.2f}'
        behind = lap.time.seconds - (best.time.seconds if best else math.nan)
        row = [str(lap.number), began, _shown(lap.time), *map(_shown, lap.sectors)]
        row.append(f'{behind:+.3f}' if math.isfinite(behind) else '-')
        if times.references:
            other = times.reference_of(lap)
            row.append('-' if other is None else _seconds(other.time.seconds))
        rows.append(row)
    east, north = circuit.points[0].tolist()
    length = f' of {circuit.length_m:.2f} m' if placed else ''
    yield Table(f'{recording.name}: laps{length}', header, rows)
    if route:
        yield f'on the route {route}'
    where = f'start line at {east:.2f}, {north:.2f}; ' if placed else ''
    yield f'{where}a usual lap of the training takes {circuit.lap_s:.3f} s'
    errors = np.abs(times.errors())
    if len(errors):
        yield (
            f'lap times differ from those by positions by {np.median(errors):.3f} s (median of '
            f'{len(errors)}), at most {errors.max():.3f} s'
        )


def _seconds(seconds: float) -> str:
    return f'{seconds:.3f}' if math.isfinite(seconds) else '-'


def _shown(timed: Timed) -> str:
    if not math.isfinite(timed.seconds):
        return '-'
    return f'{timed.seconds:.3f} ± {timed.deviation_s:.3f}'


REPLAY_HELP = (
    'Run the filter over the IMU of a bag and write what the filter node would publish into a '
    'rosbag2 that "ros2 bag play", rviz and Foxglove open.'
)


def add_replay(parser: ArgumentParser) -> None:
    """Add the arguments of replay."""
    options.add_run(parser, 1)
    parser.add_argument('-o', '--output', required=True, metavar='BAG2', help='folder to write')


def run_replay(args: Namespace) -> int:
    """Write the bag and report; return 0."""
    model = load_model(args.model)
    options.name_sensors(args, model)
    (recording,) = options.recordings_of(args, need_positions=False, find_positions=False)
    latched = tuple(f'/{topic.name}' for topic in PUBLISHED.values() if topic.latched)
    with BagWriter(args.output, latched=latched) as bag, Progress('filtering') as progress:
        ends: list[Assessment] = []
        written = replay(model, recording, bag, progress, ends.append)
    if Topics.POSITION.name not in written:
        warn(
            f'no position would have been published: {ends[0].why}; /diagnostics in {args.output} '
            'has state, cause and cure of each second'
        )
    rows = [[f'/{name}', PUBLISHED[name].msgtype, str(count)] for name, count in written.items()]
    table = Table(f'written to {args.output}', ['topic', 'type', 'messages'], rows)
    options.answer(args, {'bag': args.output, 'messages': written}, [table])
    return 0


EXPORT_HELP = (
    'Run the filter of the node over the IMU of a bag and write its estimates into a file that '
    'viewers of loggers and maps draw: GPX or CSV, by the end of its name.'
)


def add_export(parser: ArgumentParser) -> None:
    """Add the arguments of export."""
    options.add_run(parser, 1)
    parser.add_argument(
        '-o',
        '--output',
        required=True,
        metavar='FILE',
        help='.gpx, published estimates of a model trained on satellite fixes; .csv, all '
        'ticks in metres, with standard deviations and states',
    )


def run_export(args: Namespace) -> int:
    """Write the file and report; return 0."""
    model = load_model(args.model)
    for each in model.routes.values():
        check_track_path(args.output, each.origin, args.model)
    if model.frame_id == LAP_FRAME:
        msg = (
            f'{args.model}: the model knows laps and no positions to write; write its laps with '
            'two-manifold laps --json, or its topic with replay'
        )
        raise InputError(msg)
    options.name_sensors(args, model)
    (recording,) = options.recordings_of(args, need_positions=False, find_positions=False)
    with Progress('filtering') as progress:
        route = driven_route(model, recording, progress)
        track = _track(model.routes[route], recording, progress)
    written = write_track(args.output, track)
    published = int(track.published.sum())
    if not published:
        warn(
            'no position would have been published; see why with two-manifold evaluate '
            f'{args.model} {recording.name}'
        )
    ticks, along = len(track.stamps), f' along the route {route}' if route else ''
    counts = {'ticks': ticks, 'published': published, 'written': written}
    words = f'{written} of {ticks} ticks{along}, {published} of them published, written to'
    content = {'file': args.output, 'route': route or None, **counts}
    options.answer(args, content, [f'{words} {args.output}'])
    return 0


def _track(model: ModelHead, recording: Recording, progress: Progress) -> Track:
    """Filter a recording from a cold start; positions are those at the end of each tick."""
    check_fit(model, recording)
    live = Filter(model)
    live.warm_up()
    kept = [estimate for estimate, _ in estimates_along(live, recording, progress)]
    variances = np.array([np.diag(each.covariances[0]) for each in kept]).reshape(-1, 2)
    return Track(
        stamps=np.array([each.stamp_ns for each in kept], dtype=np.int64),
        positions=np.array([each.positions[0] for each in kept]).reshape(-1, 2),
        deviations=np.sqrt(np.where(variances >= 0.0, variances, np.nan)),
        velocities=np.array([each.velocity for each in kept]).reshape(-1, 2),
        published=np.array([each.valid for each in kept], dtype=np.bool_),
        statuses=[each.status.value for each in kept],
        origin=model.origin,
    )


VEHICLE_HELP = (
    'Measure how the IMU of a vehicle that a model has not seen differs from the IMUs of its '
    'training: how it is turned, its scales and biases, each with its standard deviation. The '
    'recordings are of that vehicle on the route, and need no positions.'
)


def add_vehicle(parser: ArgumentParser) -> None:
    """Add the arguments of vehicle."""
    parser.add_argument('model', metavar='MODEL', help='file written by two-manifold train')
    options.add_bags(parser)
    parser.add_argument(
        '-o', '--output', metavar='FILE', help='JSON file for evaluate --vehicle and filter_node'
    )
    options.add_topics(parser)
    options.add_part(parser)
    options.add_json(parser)


def run_vehicle(args: Namespace) -> int:
    """Measure the vehicle and report; return 0."""
    model = load_model(args.model)
    check_vehicle(model)
    if args.output and not Path(args.output).parent.is_dir():
        msg = f'The folder {Path(args.output).parent} does not exist: make it before measuring.'
        raise InputError(msg)
    whole = options.recordings_of(args, need_positions=False, find_positions=False)
    recordings = [options.part_of(each, args.start, args.until) for each in whole]
    with Progress('measuring') as progress:
        measured = measure_vehicle(model, recordings, progress)
    share = measured.counted / measured.ticks
    if share < LEAST_COUNTED:
        warn(
            f'the vehicle is believed to drive on the route on {share:.0%} of the ticks, so '
            'little is measured; give a drive of the route'
        )
    if args.output:
        measured.vehicle.save(args.output)
    numbers = measured.vehicle.to_json()
    names = [(f'turned about {axis}, degrees', 'angles_deg', k) for k, axis in enumerate('xyz')]
    names += [(f'scale error of {name}', 'scales', k) for k, name in enumerate(IMU_CHANNELS)]
    units = enumerate(zip(IMU_CHANNELS, IMU_UNITS, strict=True))
    names += [(f'bias of {name}, {unit}', 'biases', k) for k, (name, unit) in units]
    before = replace(UNKNOWN, deviations=PRIOR.deviations[:-1]).to_json()
    rows = []
    for words, group, k in names:
        three = numbers[group], numbers[f'{group}_std'], before[f'{group}_std']
        found, deviation, prior = (f'{each[k]:.4f}' for each in three)
        # A drive says nothing of what it leaves as unknown as before, such as dead channels.
        rows.append(
            [words, *(['not measured', '-'] if deviation == prior else [found, deviation])]
        )
    title = f'beside the IMUs of the training, from {share:.0%} of {measured.ticks} ticks'
    shown = [Table(title, ['what', 'found', 'standard deviation'], rows)]
    content = {'ticks': measured.ticks, 'counted': measured.counted} | numbers
    written = [f'written to {args.output}'] if args.output else []
    options.answer(args, content, [*shown, *written])
    return 0
