# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a bag of any kind to a `Recording`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.recordings.decoding import fix_decoder, imu_decoder, position_decoder
from two_manifold_ros.recordings.extra import rosbags_wanted
from two_manifold_ros.recordings.fixes import GEODETIC, NoFixError, positions_of_fixes
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.recordings.time_base import time_base
from two_manifold_ros.recordings.topic_choice import candidates, choose_topic, IMU, POSITION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from two_manifold_ros.recordings.bag import Bag, Topic
    from two_manifold_ros.recordings.collecting import Collected
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.typing import Ints


def read_recording(
    path: str | Path,
    *,
    imu_topic: str | None = None,
    position_topic: str | None = None,
    need_positions: bool = True,
    find_positions: bool = True,
    use_receive_time: bool = False,
    origin: GeodeticOrigin | None = None,
    salvage: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> Recording:
    """
    Read the IMU and the positions of one bag.

    Only messages of the two topics are read. Stamps are taken as they are: cleaning them is the
    business of the ``ticks`` folder.

    Parameters
    ----------
    path
        A rosbag2 folder (sqlite3 or mcap, split or compressed or not), or one ``.mcap``,
        ``.db3`` or ROS 1 ``.bag`` file.
    imu_topic, position_topic
        Topics by name; by default the only one with messages of a fitting type.
    need_positions
        Whether a bag without positions is an error. If not, several position topics of which
        none is named are left out, and so is a satellite receiver that never had a fix, each with
        a note.
    find_positions
        Whether to look for positions that are not needed. If not, only a topic that is named is
        read.
    use_receive_time
        Take the bag's receive times as time base. By default header stamps are taken, and
        receive times only if all stamps of a topic are zero, with a note.
    origin
        Origin of the tangent plane of ``NavSatFix``; by default the first valid fix.
    salvage
        Use what can be read of a damaged bag, with notes on what is lost. Without it such a bag
        is an error. Bags of ROS 1 cannot be salvaged.
    progress
        Called now and then with the share of the messages that has been read, in [0, 1].

    Raises
    ------
    InputError
        If the bag cannot be read, or a topic is missing, ambiguous, or of another type.

    """
    with rosbags_wanted():
        # A robot has no rosbags: reading this module must not need it.
        from two_manifold_ros.recordings.bag import Bag  # noqa: PLC0415
        from two_manifold_ros.recordings.collecting import collect  # noqa: PLC0415

    with Bag(path, salvage=salvage) as bag:
        imu_choice = choose_topic(bag.path, bag.topics, IMU, imu_topic)
        decoders = {imu_choice: imu_decoder(bag, imu_choice)}
        position_choice, notes = _position_choice(
            bag, position_topic, need_positions, find_positions
        )
        if position_choice is not None:
            decoder = fix_decoder if position_choice.msgtype == GEODETIC else position_decoder
            decoders[position_choice] = decoder(bag, position_choice)
        collected = collect(bag, decoders, progress, salvage=salvage)
        notes = [*bag.notes, *notes]
    times, time_notes = time_base(collected, use_receive_time)
    notes += time_notes
    for each in collected:
        notes += each.notes
    positions = None
    if position_choice is not None:
        positions, fix_notes = _position_stream(collected[1], times[1], origin, need_positions)
        notes += fix_notes
    return Recording(str(path), _imu_stream(collected[0], times[0]), positions, tuple(notes))


def read_recordings(
    paths: Sequence[str | Path],
    *,
    imu_topic: str | None = None,
    position_topic: str | None = None,
    need_positions: bool = True,
    find_positions: bool = True,
    use_receive_time: bool = False,
    origin: GeodeticOrigin | None = None,
    salvage: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> Iterator[Recording]:
    """
    Read several bags of one route; parameters as in `read_recording`.

    They share one tangent plane: that of ``origin``, or else of the first bag that has fixes.
    """
    for number, path in enumerate(paths):

        def part(share: float, done: int = number) -> None:
            progress((done + share) / len(paths))

        recording = read_recording(
            path,
            imu_topic=imu_topic,
            position_topic=position_topic,
            need_positions=need_positions,
            find_positions=find_positions,
            use_receive_time=use_receive_time,
            origin=origin,
            salvage=salvage,
            progress=part,
        )
        if recording.positions is not None:
            origin = origin or recording.positions.origin
        yield recording


def _position_choice(
    bag: Bag, name: str | None, needed: bool, find: bool
) -> tuple[Topic | None, list[str]]:
    if not (needed or find) and name is None:
        return None, []
    fitting = candidates(bag.topics, POSITION)
    if needed or name is not None or len(fitting) == 1:
        return choose_topic(bag.path, bag.topics, POSITION, name), []
    if not fitting:
        return None, []
    listed = ', '.join(str(topic) for topic in fitting)
    note = (
        f'{bag.path} holds {len(fitting)} position topics, {listed}, and none is read: name one '
        f'with {POSITION.option}.'
    )
    return None, [note]


def _imu_stream(collected: Collected, stamps: Ints) -> ImuStream:
    return ImuStream(
        topic=collected.topic.name,
        frame_id=collected.frames[0],
        stamps=stamps,
        samples=collected.numbers,
        receive_stamps=collected.received,
    )


def _position_stream(
    collected: Collected,
    stamps: Ints,
    origin: GeodeticOrigin | None,
    needed: bool,
) -> tuple[PositionStream | None, list[str]]:
    if collected.topic.msgtype == GEODETIC:
        try:
            return positions_of_fixes(collected, stamps, origin)
        except NoFixError as error:
            if needed:
                raise
            return None, [str(error)]
    stream = PositionStream(
        topic=collected.topic.name,
        frame_id=collected.frames[0],
        msgtype=collected.topic.msgtype,
        stamps=stamps,
        positions=collected.numbers,
    )
    return stream, []
