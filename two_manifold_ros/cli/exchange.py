# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exchange recordings with loggers and their viewers: files into a bag, estimates into a file."""

from __future__ import annotations

from argparse import ArgumentParser
import json
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.cli.options import (
    add_further_topics,
    add_json,
    add_topics,
    Command,
    name_channels,
    on_stderr,
    print_table,
    print_wrapped,
    recordings_of,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_fit, driven_route, estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.loggers.plain_csv import parse_columns
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.to_bag import drive_of, write_drive
from two_manifold_ros.loggers.track_files import check_track_path, Track, write_track
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.progress import Progress

if TYPE_CHECKING:
    from argparse import Namespace

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording

IMPORT_HELP = (
    'Make a bag of what a data logger or a phone recorded: Racelogic VBO, RaceChrono CSV v3, '
    'RaceCapture logs, AiM CSV, or any CSV. The content of a file decides its format. What '
    'was assumed of units, signs, axes and times is printed.'
)


def add_import(parser: ArgumentParser) -> None:
    """Add the arguments of import."""
    parser.add_argument(
        'files', nargs='+', metavar='FILE', help='file of a logger; several become one bag'
    )
    parser.add_argument('-o', '--output', required=True, metavar='BAG', help='folder to write')
    parser.add_argument(
        '--columns',
        default='',
        metavar='MAP',
        help='columns of a plain CSV, as ROLE=[-]COLUMN[:UNIT],... with the roles time, accel_x, '
        'accel_y, accel_z, gyro_x, gyro_y, gyro_z, latitude, longitude, altitude, or t, ax, ay, '
        'az, gx, gy, gz, lat, lon, alt; a minus turns the sign (default: usual names, SI units)',
    )
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument(
        '--score',
        action='store_true',
        help='train on the first three quarters at once, into BAG.npz, and evaluate on the rest',
    )
    add_json(printed)


def run_import(args: Namespace) -> int:
    """Write the bag and print what was assumed; return 0."""
    log = read_log(args.files, parse_columns(args.columns))
    drive = drive_of(log)
    counts = write_drive(drive, args.output)
    begin, end = int(drive.imu_stamps[0]), int(drive.imu_stamps[-1])
    if args.json:
        content = {
            'bag': args.output,
            'format': log.kind,
            'seconds': (end - begin) * 1e-9,
            'messages': counts,
            'notes': drive.notes,
        }
        print(json.dumps(content, indent=2, allow_nan=False))
        return 0
    rows = [[topic, str(count)] for topic, count in counts.items()]
    print_wrapped(f'{log.kind}, {(end - begin) * 1e-9:.1f} s, written to {args.output}')
    print_table('', ['topic', 'messages'], rows)
    for note in drive.notes:
        print_wrapped(f'assumed: {note}')
    return _score(args.output, round(0.75e-9 * (end - begin), 1)) if args.score else 0


def _score(bag: str, split_s: float) -> int:
    """Train on a bag until some seconds, evaluate from there on, and return the exit status."""
    from two_manifold_ros.cli import evaluate, train  # noqa: PLC0415 - many imports

    model = f'{bag.rstrip("/")}.npz'
    given = {
        train: [bag, '-o', model, '--until', str(split_s)],
        evaluate: [model, bag, '--from', str(split_s)],
    }
    for command, arguments in given.items():
        parser = ArgumentParser()
        command.add_arguments(parser)
        status: int = command.run(parser.parse_args(arguments))
        if status:
            return status
    return 0


EXPORT_HELP = (
    'Run the filter of the node over the IMU of a bag and write its estimates into a file that '
    'viewers of loggers and maps draw: GPX, VBO or CSV, by the end of its name.'
)


def add_export(parser: ArgumentParser) -> None:
    """Add the arguments of export."""
    parser.add_argument('model', metavar='MODEL', help='file written by two-manifold train')
    parser.add_argument('bags', nargs=1, metavar='BAG', help='recording with an IMU topic')
    parser.add_argument(
        '-o',
        '--output',
        required=True,
        metavar='FILE',
        help='.gpx or .vbo, published estimates of a model trained on satellite fixes; .csv, all '
        'ticks in metres, with standard deviations and states',
    )
    add_topics(parser)
    add_further_topics(parser, 'that of the training', 'those of the training')
    add_json(parser)


def run_export(args: Namespace) -> int:
    """Write the file and report; return 0."""
    model = load_model(args.model)
    for each in model.routes.values():
        check_track_path(args.output, each.origin, args.model)
    if model.frame_id == LAP_FRAME:
        msg = (
            f'{args.model}: the model knows laps and no positions to write; write its laps with '
            'two-manifold laps --csv or --course'
        )
        raise InputError(msg)
    name_channels(args, model)
    (recording,) = recordings_of(args, need_positions=False, find_positions=False)
    with Progress('filtering') as progress:
        held = recording.with_commands_held()
        route = driven_route(model, held, progress)
        track = _track(model.routes[route], held, progress)
    written = write_track(args.output, track)
    published = int(track.published.sum())
    if not published:
        on_stderr(
            f'two-manifold: warning: no position would have been published; see why with '
            f'two-manifold evaluate {args.model} {recording.name}'
        )
    if args.json:
        content = {
            'file': args.output,
            'route': route or None,
            'ticks': len(track.stamps),
            'published': published,
            'written': written,
        }
        print(json.dumps(content, indent=2))
        return 0
    along = f' along the route {route}' if route else ''
    print_wrapped(
        f'{written} of {len(track.stamps)} ticks{along}, {published} of them published, written '
        f'to {args.output}'
    )
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


IMPORT = Command(IMPORT_HELP, add_import, run_import)
EXPORT = Command(EXPORT_HELP, add_export, run_export)
