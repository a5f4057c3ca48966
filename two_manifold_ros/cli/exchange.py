# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exchange recordings with loggers and their viewers: files into a bag, estimates into a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from two_manifold_ros.cli.options import (
    add_json,
    Command,
    print_table,
    print_wrapped,
)
from two_manifold_ros.loggers.plain_csv import parse_columns
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.to_bag import drive_of, write_drive

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

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
    parser.add_argument(
        '--keep-header',
        action='store_true',
        help='write what headers state, such as names of drivers, into the bag too (default: '
        'left out)',
    )
    add_json(parser)


def run_import(args: Namespace) -> int:
    """Write the bag and print what was assumed; return 0."""
    log = read_log(args.files, parse_columns(args.columns))
    drive = drive_of(log)
    notes = list(drive.notes)
    if log.header and not args.keep_header:
        names = ', '.join(log.header)
        notes.append(f'the header is left out, as it may be personal ({names}): see --keep-header')
    counts = write_drive(drive, args.output, log.header if args.keep_header else None)
    begin, end = int(drive.imu_stamps[0]), int(drive.imu_stamps[-1])
    if args.json:
        content = {
            'bag': args.output,
            'format': log.kind,
            'seconds': (end - begin) * 1e-9,
            'messages': counts,
            'notes': notes,
        }
        print(json.dumps(content, indent=2, allow_nan=False))
        return 0
    rows = [[topic, str(count)] for topic, count in counts.items()]
    print_table(f'written to {args.output}', ['topic', 'messages'], rows)
    print_wrapped(f'format: {log.kind}, {(end - begin) * 1e-9:.1f} s')
    for note in notes:
        print_wrapped(f'assumed: {note}')
    return 0


IMPORT = Command(IMPORT_HELP, add_import, run_import)
