# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and the recordings that they name."""

from __future__ import annotations

from argparse import ArgumentTypeError
import math
import sys
from typing import TYPE_CHECKING

from two_manifold_ros.cli.progress import Progress
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag_correction import parse_position_lag, put_in_step
from two_manifold_ros.recordings.reading import read_recordings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import GeodeticOrigin, Recording


def add_bags(parser: ArgumentParser) -> None:
    """Add one or more bags, as ``args.bags``."""
    parser.add_argument(
        'bags',
        nargs='+',
        metavar='BAG',
        help='a rosbag2 folder, or one .mcap, .db3 or ROS 1 .bag file',
    )


def add_topics(parser: ArgumentParser) -> None:
    """Add what `recordings_of` needs to know: topics, time base, and damage."""
    parser.add_argument(
        '--imu-topic',
        metavar='T',
        help='topic of sensor_msgs/Imu (default: the only one in the bag)',
    )
    parser.add_argument(
        '--position-topic',
        metavar='T',
        help='topic with positions: a stamped pose, point or transform, Odometry or NavSatFix '
        '(default: the only one in the bag)',
    )
    parser.add_argument(
        '--use-receive-time',
        action='store_true',
        help="take the bag's receive times instead of the stamps in the messages",
    )
    parser.add_argument(
        '--salvage',
        action='store_true',
        help='use what can be read of a damaged bag, and say what is lost',
    )


def add_position_lag(parser: ArgumentParser) -> None:
    """Add ``--position-lag``, as ``args.position_lag`` for `in_step`."""
    parser.add_argument(
        '--position-lag',
        type=_position_lag,
        metavar='S',
        help='make positions S seconds earlier, because their stamps are late; auto for as much '
        'as gyroscope and accelerometer tell (default: leave them, and say if they are late)',
    )


def _position_lag(text: str) -> str:
    try:
        parse_position_lag(text)
    except InputError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def in_step(recordings: Sequence[Recording], args: Namespace) -> list[Recording]:
    """Make positions earlier as ``args.position_lag`` says, and print what was done."""
    moved = put_in_step(recordings, args.position_lag or '')
    new = [
        note
        for before, after in zip(recordings, moved, strict=True)
        for note in after.notes[len(before.notes) :]
    ]
    _print_notes(list(dict.fromkeys(new)))
    return moved


def seconds(text: str) -> float:
    """
    Parse a number of seconds for argparse.

    Raises
    ------
    ArgumentTypeError
        If it is no finite number.

    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        msg = f'{text!r} is no number of seconds'
        raise ArgumentTypeError(msg)
    return number


def add_json(parser: ArgumentParser) -> None:
    """Add ``--json``, as ``args.json``."""
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')


def recordings_of(
    args: Namespace,
    *,
    need_positions: bool = True,
    find_positions: bool = True,
    origin: GeodeticOrigin | None = None,
) -> list[Recording]:
    """
    Read ``args.bags`` as the options say, and print their notes on standard error.

    Parameters
    ----------
    args
        With the attributes of `add_bags` and `add_topics`.
    need_positions
        Whether a bag without positions is an error.
    find_positions
        Whether to look for positions that are neither needed nor named.
    origin
        Origin of the tangent plane for geodetic positions, when a model prescribes one.

    Raises
    ------
    InputError
        If a bag cannot be read.

    """
    with Progress('reading') as progress:
        recordings = list(
            read_recordings(
                args.bags,
                imu_topic=args.imu_topic,
                position_topic=args.position_topic,
                need_positions=need_positions,
                find_positions=find_positions,
                use_receive_time=args.use_receive_time,
                origin=origin,
                salvage=args.salvage,
                progress=lambda share: progress('reading', share),
            ),
        )
    for recording in recordings:
        _print_notes(recording.notes)
    return recordings


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        print(f'two-manifold: note: {note}', file=sys.stderr)
