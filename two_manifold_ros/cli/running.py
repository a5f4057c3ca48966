# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run a model over recordings: time laps, write topics, or measure a vehicle."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.cli import options
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import driven_route, recordings_by_route
from two_manifold_ros.evaluation.lap_times import LapTimes, time_laps
from two_manifold_ros.evaluation.replaying import replay
from two_manifold_ros.evaluation.vehicles import measure_vehicle
from two_manifold_ros.inspection.lag import put_in_step, trained_lag
from two_manifold_ros.interface.messages import PUBLISHED, Topics
from two_manifold_ros.laps.timing import LapTimer, make_timer
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.model.vehicle import check_vehicle, PRIOR, UNKNOWN
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.progress import Progress, warn
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import IMU_CHANNELS, IMU_UNITS, Recording
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from two_manifold_ros.interface.assessment import Assessment


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
    options.add(parser, '--from', '--until')


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
    whole = options.recordings_of(args, model, need_positions=False, find_positions=placed)
    parts = [options.part_of(each, args.start, args.until) for each in whole]
    rows: list[dict[str, Any]] = []
    shown: list[str | Table] = []
    with Progress('timing') as progress:
        for recording, part in zip(whole, parts, strict=True):
            route = driven_route(model, part, progress)
            if route not in lines:
                lines[route] = make_timer(model.routes[route], args.start_line, args.sectors)
            timer = LapTimer(lines[route].circuit, lines[route].sectors)
            times = time_laps(model.routes[route], part, timer, progress)
            rows.append({'bag': recording.name, 'route': route or None, **times.to_json()})
            # Seconds count from where the recording begins, wherever its part does.
            shown += _laps(recording, times, placed=placed, route=route)
    for recording, row in zip(whole, rows, strict=True):
        if row['best_lap'] is None:
            warn(
                f'{recording.name}: no lap was timed from one passage of the start line to the '
                'next; drive two laps or more as in the training, and see what is published with '
                f'two-manifold evaluate {args.model} {recording.name}'
            )
    options.answer(args, {'model': args.model, 'recordings': rows}, shown)
    return 0


def _laps(
    recording: Recording, times: LapTimes, *, placed: bool, route: str
) -> Iterator[str | Table]:
    """Yield the laps of a recording as a table, and what is best of them."""
    circuit, first_ns, best = times.circuit, recording.imu.first_stamp, times.best
    sectors = len(times.laps[0].sectors) if times.laps else 0
    header = ['lap', 'begins, s', 'time, s', *(f'sector {k + 1}' for k in range(sectors))]
    header += ['to best'] + (['by positions'] if times.references else [])
    rows = []
    for lap in times.laps:
        began = math.nan if lap.begin_ns is None else (lap.begin_ns - first_ns) * 1e-9
        behind = lap.time.seconds - (best.time.seconds if best else math.nan)
        row = [str(lap.number), _known(began, '.2f')]
        row += [
            _known(each.seconds, '.3f', f' ± {each.deviation_s:.3f}')
            for each in (lap.time, *lap.sectors)
        ]
        row.append(_known(behind, '+.3f'))
        if times.references:
            other = times.reference_of(lap)
            row.append(_known(other.time.seconds if other else math.nan, '.3f'))
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


def _known(number: float, digits: str, after: str = '') -> str:
    return f'{number:{digits}}{after}' if math.isfinite(number) else '-'


REPLAY_HELP = (
    'Run the filter over the IMU of a bag and write what the filter node would publish into a '
    'rosbag2 that "ros2 bag play", rviz and Foxglove open.'
)


def add_replay(parser: ArgumentParser) -> None:
    """Add the arguments of replay."""
    options.add(options.add_run(parser, 1), '--fixes')
    parser.add_argument('-o', '--output', required=True, metavar='BAG2', help='folder to write')


def run_replay(args: Namespace) -> int:
    """Write the bag and report; return 0."""
    model = load_model(args.model)
    options.name_sensors(args, model)
    needed = args.fixes is not None
    (recording,) = options.recordings_of(
        args, model if needed else None, need_positions=needed, find_positions=needed
    )
    if needed:
        ((name, _),) = recordings_by_route(model, [recording]).items()
        (recording,) = put_in_step([recording], trained_lag(model.routes[name]))
    latched = tuple(f'/{topic.name}' for topic in PUBLISHED.values() if topic.latched)
    with BagWriter(args.output, latched=latched) as bag, Progress('filtering') as progress:
        ends: list[Assessment] = []
        written = replay(model, recording, bag, progress, ends.append, args.fixes)
    if Topics.POSITION.name not in written:
        warn(
            f'no position would have been published: {ends[0].why}; /diagnostics in {args.output} '
            'has state, cause and cure of each second'
        )
    rows = [[f'/{name}', PUBLISHED[name].msgtype, str(count)] for name, count in written.items()]
    table = Table(f'written to {args.output}', ['topic', 'type', 'messages'], rows)
    options.answer(args, {'bag': args.output, 'messages': written}, [table])
    return 0


VEHICLE_HELP = (
    'Measure how the IMU of a vehicle that a model has not seen differs from the IMUs of its '
    'training: how it is turned, its scales and biases, each with its standard deviation. The '
    'recordings are of that vehicle on the route, and need no positions.'
)


def add_vehicle(parser: ArgumentParser) -> None:
    """Add the arguments of vehicle."""
    options.add(parser, 'model', 'bags')
    parser.add_argument(
        '-o', '--output', metavar='FILE', help='JSON file for evaluate --vehicle and filter_node'
    )
    options.add_topics(parser)
    options.add(parser, '--from', '--until', '--json')


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
    # On fewer ticks the filter is rather off the route.
    if share < 0.5:
        warn(
            f'the vehicle is believed to drive on the route on {share:.0%} of the ticks, so '
            'little is measured; give a drive of the route'
        )
    if args.output:
        measured.vehicle.save(args.output)
    numbers = measured.vehicle.to_json()
    before = replace(UNKNOWN, deviations=PRIOR.deviations[:-1]).to_json()
    units = [f'{name}, {unit}' for name, unit in zip(IMU_CHANNELS, IMU_UNITS, strict=True)]
    rows = []
    for group, words in (
        ('angles_deg', [f'turned about {axis}, degrees' for axis in 'xyz']),
        ('scales', [f'scale error of {name}' for name in IMU_CHANNELS]),
        ('biases', [f'bias of {each}' for each in units]),
    ):
        for k, what in enumerate(words):
            deviation = f'{numbers[f"{group}_std"][k]:.4f}'
            # A drive says nothing of what it leaves as unknown as before, such as dead channels.
            if deviation == f'{before[f"{group}_std"][k]:.4f}':
                rows.append([what, 'not measured', '-'])
            else:
                rows.append([what, f'{numbers[group][k]:.4f}', deviation])
    title = f'beside the IMUs of the training, from {share:.0%} of {measured.ticks} ticks'
    shown: list[str | Table] = [Table(title, ['what', 'found', 'standard deviation'], rows)]
    shown += [f'written to {args.output}'] if args.output else []
    content = {'ticks': measured.ticks, 'counted': measured.counted} | numbers
    options.answer(args, content, shown)
    return 0
