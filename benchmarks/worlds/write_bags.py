# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Write bags of simulated drives: errands in a yard, tram lines, kart tracks and other vehicles.

Run `PYTHONPATH=benchmarks:. python -m worlds.write_bags yard --drives 4 -o yard`. Each drive is a
bag of its own. Those with another `--day` have the IMU mounted a little differently; those with
another `--seed` are other drives of the same day.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.simulation.slot_car_run import (
    imu_message,
    IMU_TOPIC,
    IMU_TYPE,
    reference_message,
    REFERENCE_TOPIC,
    REFERENCE_TYPE,
)
from worlds.drive import drive
from worlds.network import rounds, tracks, tram_network, travel, Yard, yard_network
from worlds.table import world_named, WORLDS

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording

USUAL_LENGTHS = {'yard': 14, 'tram_network': 6}
"""Errands in a small yard that are enough to train on in seconds; rounds of tram lines."""

USUAL_LAPS = 10


def made(name: str, length: int | None, day: int, seed: int) -> Recording:
    """
    Return a simulated drive.

    ``name``: ``yard``, ``tram_network``, ``track_1`` and so on, or a world of the table.
    ``length``: errands, rounds of lines, or laps; as many as usual by default. ``day``, ``seed``:
    see `drive.drive`. Raises ``InputError`` if there is no world of this name, or the length is
    none.
    """
    if length is not None and length < 1:
        raise InputError(f'{name}: a drive has a length of 1 at least, not {length}')
    if name == 'yard':
        errands = Yard(columns=3, rows=3).errands(
            length or USUAL_LENGTHS['yard'], 1000 * day + seed
        )
        return travel(yard_network(), errands, day=day, seed=seed).recording
    if name == 'tram_network':
        network = tram_network()
        random = np.random.default_rng([day, seed])
        lines = random.choice(
            list(network.lines), length or USUAL_LENGTHS['tram_network']
        ).tolist()
        return travel(network, rounds(network, lines), day=day, seed=seed).recording
    kind, _, number = name.partition('_')
    if kind == 'track' and number.isdecimal() and int(number) > 0:
        world = tracks(int(number))[-1]
    else:
        world = world_named(name)
    return drive(world, day=day, laps=length or USUAL_LAPS, seed=seed).recording


def write(recording: Recording, path: str) -> None:
    """Write a drive into a new bag; ``InputError`` if it exists."""
    imu, stream = recording.imu, recording.positions
    # Variances of zero are unknown ones.
    rows = [
        (stamp, IMU_TOPIC, IMU_TYPE, imu_message(stamp, sample, np.zeros(6)))
        for stamp, sample in zip(imu.stamps.tolist(), imu.samples, strict=True)
    ]
    if stream is not None:
        flat, unturned = np.zeros(1), np.array([0.0, 0.0, 0.0, 1.0])
        for stamp, position in zip(stream.stamps.tolist(), stream.positions, strict=True):
            message = reference_message(stamp, np.concatenate([position, flat]), unturned)
            rows.append((stamp, REFERENCE_TOPIC, REFERENCE_TYPE, message))
    with BagWriter(path) as bag:
        for stamp, topic, kind, message in sorted(rows, key=lambda row: row[0]):
            bag.write(topic, kind, stamp, message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the bags; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    known = ', '.join(world.name for world in WORLDS)
    parser.add_argument('world', help=f'yard, tram_network, track_1, track_2 ..., {known}')
    parser.add_argument('-o', '--output', metavar='NAME', help='bags NAME_0 and so on (the world)')
    parser.add_argument('--drives', type=int, default=1, help='bags (1)')
    parser.add_argument('--length', type=int, help='errands, rounds of lines, or laps (14, 6, 10)')
    parser.add_argument('--day', type=int, default=0, help='of all drives (0)')
    parser.add_argument('--seed', type=int, default=0, help='of the first drive (0)')
    args = parser.parse_args(arguments)
    try:
        for number in range(args.drives):
            path = f'{args.output or args.world}_{number}'
            recording = made(args.world, args.length, args.day, args.seed + number)
            write(recording, path)
            seconds = 1e-9 * float(np.ptp(recording.imu.stamps))
            print(f'{path}: {seconds:.0f} s')
    except InputError as error:
        parser.error(str(error))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
