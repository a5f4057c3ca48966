# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make a bag of a simulated drive or of files of a logger, and compile every loop."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from two_manifold_ros.cli.options import add, answer
from two_manifold_ros.compilation import STORE
from two_manifold_ros.loggers.columns import parse_columns
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.to_bag import drive_of, write_drive
from two_manifold_ros.names import DRIVERS, METHODS
from two_manifold_ros.progress import Progress
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import (
    IMU_TOPIC,
    IMU_TYPE,
    REFERENCE_TOPIC,
    REFERENCE_TYPE,
    run_to_recording,
    samples_per_reference,
    SENSORS,
    simulate,
    write_messages,
)
from two_manifold_ros.typing import Table

HELP = 'Drive a simulated slot car and write its IMU and its positions into a rosbag2.'


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        '-o', '--output', metavar='BAG', required=True, help='folder to make for the rosbag2'
    )
    for name, letter, default, words in (
        ('laps', 'N', 30, 'whole laps to drive'),
        ('seed', 'S', 0, 'equal seeds, equal bags'),
        ('rate', 'HZ', 100.0, 'rate of the IMU'),
        ('noise', 'X', 1.0, 'scale of all sensor errors: 0 none, 1 a cheap IMU'),
        ('speed-wander', 'X', 1.0, 'scale of the wander of the speed: 0 none, 1 about 5 %%'),
    ):
        parser.add_argument(
            f'--{name}',
            type=type(default),
            default=default,
            metavar=letter,
            help=f'{words} (default: {default:g})',
        )
    parser.add_argument(
        '--driver',
        choices=DRIVERS,
        default='steady',
        help='who drives: steady holds one throttle; timid, bold and random choose between two '
        '(default: steady)',
    )
    parser.add_argument(
        '--sensors',
        nargs='+',
        choices=tuple(SENSORS),
        metavar='NAME',
        default=[],
        help='sensors beside the IMU: magnetometer, in the field of a room with steel; wheel, its '
        'speed (default: none)',
    )
    add(parser, '--json')


def run(args: Namespace) -> int:
    """Write the bag and print a summary; return 0."""
    settings = SlotCarSettings(args.seed, args.rate, args.noise, args.speed_wander, args.driver)
    with BagWriter(args.output) as bag, Progress('simulating') as progress:
        driven = simulate(settings, laps=args.laps, report=progress)
        write_messages(driven, bag, progress, args.sensors)
    count, every = len(driven.stamps_ns), samples_per_reference(args.rate)
    slower = ((REFERENCE_TOPIC, REFERENCE_TYPE), *(SENSORS[name][:2] for name in args.sensors))
    topics = [(IMU_TOPIC, IMU_TYPE, count, args.rate)]
    topics += [(*each, len(range(0, count, every)), args.rate / every) for each in slower]
    keys = 'topic', 'type', 'messages', 'rate_hz'
    content = {
        'bag': args.output,
        'laps': args.laps,
        'seconds': int(driven.stamps_ns[-1] - driven.stamps_ns[0]) / 1e9,
        'metres': float(driven.distances[-1] - driven.distances[0]),
        'mean_speed_m_s': float(driven.speeds.mean()),
        'topics': [dict(zip(keys, each, strict=True)) for each in topics],
    }
    title = '{laps} laps, {metres:.1f} m in {seconds:.1f} s ({mean_speed_m_s:.2f} m/s): {bag}'
    rows = [[*each[:2], str(each[2]), f'{each[3]:g}'] for each in topics]
    header = ['topic', 'type', 'messages', 'rate (Hz)']
    answer(args, content, [Table(title.format(**content), header, rows)])
    return 0


COMPILE_HELP = (
    'Compile the loops of every method and keep them, as an installation does: run it once on a '
    'robot, as the user that starts the nodes, and nodes start at once. They are kept in '
    '~/.cache/two_manifold_ros/compiled (or $TWO_MANIFOLD_CACHE/compiled), for these sources, '
    'libraries and this processor.'
)


def add_compile(parser: ArgumentParser) -> None:
    """Add the arguments of compile."""
    add(parser, '--json')


def run_compile(args: Namespace) -> int:
    """Train each method on a few simulated laps and filter them; return 1 if nothing is kept."""
    # All of training, which a simulation does without.
    from two_manifold_ros.filtering.filter import Filter  # noqa: PLC0415 - as above
    from two_manifold_ros.laps.timing import LapTimer  # noqa: PLC0415 - as above
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415 - as above
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415 - as above

    if STORE.folder is not None:
        if not args.json:
            print('Compiling, which takes some ten seconds the first time', flush=True)
        laps = simulate(SlotCarSettings(rate_hz=20.0), laps=3)
        recording = run_to_recording(laps)
        # The filter of the paper runs the loops of the spectral one.
        for method in METHODS[:3]:
            model = train_model([recording], TrainingSettings(method=method).at_one_rate())
            filtering = Filter(model)
            filtering.warm_up()
            if model.circuit is not None:
                LapTimer(model.circuit).warm_up()
            for stamp_ns, sample in zip(laps.stamps_ns.tolist(), laps.imu, strict=True):
                filtering.push(stamp_ns, sample)
    kept = STORE.folder
    said = f'Nothing is kept: {STORE.trouble}.' if kept is None else f'Compiled code is in {kept}.'
    content = {'folder': None if kept is None else str(kept), 'trouble': STORE.trouble}
    answer(args, content, [said])
    return 0 if kept is not None else 1


IMPORT_HELP = (
    'Make a bag from the files of a data logger or a phone: Racelogic VBO, RaceChrono CSV v3, '
    'RaceCapture logs, AiM CSV, or any CSV. The content of a file decides its format. `import` '
    'prints what it assumed about units, signs, axes and times.'
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
        'accel_y, accel_z, gyro_x, gyro_y, gyro_z, latitude, longitude, altitude, x, y, or t, '
        'ax, ay, az, gx, gy, gz, lat, lon, alt; a minus turns the sign (default of each role: '
        'usual names, SI units)',
    )
    add(parser, '--json')


def run_import(args: Namespace) -> int:
    """Write the bag and print what was assumed; return 0."""
    log = read_log(args.files, parse_columns(args.columns))
    drive = drive_of(log)
    counts = write_drive(drive, args.output)
    seconds = int(drive.imu.stamps[-1] - drive.imu.stamps[0]) * 1e-9
    content = {'bag': args.output, 'format': log.kind, 'seconds': seconds, 'messages': counts}
    rows = [[topic, str(count)] for topic, count in counts.items()]
    shown: list[str | Table] = [
        f'{log.kind}, {seconds:.1f} s, written to {args.output}',
        Table('', ['topic', 'messages'], rows),
        *(f'assumed: {note}' for note in drive.notes),
    ]
    answer(args, content | {'notes': drive.notes}, shown)
    return 0
