# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read a bag of any kind into a `Recording`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError, rosbags_wanted
from two_manifold_ros.names import POSITION_TYPES
from two_manifold_ros.recordings.decoding import (
    imu_decoder,
    position_decoder,
)
from two_manifold_ros.recordings.recording import ImuStream, Recording
from two_manifold_ros.recordings.satellite_fixes import NoFixError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from two_manifold_ros.recordings.bag import Bag, Topic
    from two_manifold_ros.recordings.decoding import MessageColumns
    from two_manifold_ros.recordings.recording import GeodeticOrigin, PositionStream
    from two_manifold_ros.typing import Ints


def time_base(
    collected: Sequence[MessageColumns],
    use_receive_time: bool,
) -> tuple[list[Ints], list[str]]:
    """
    Return the stamps of each topic in nanoseconds, and what has to be said about them.

    All topics share one base: if one has no header stamps, receive times are taken for all, for
    the clock of another topic's header need not be the recorder's.
    """
    unstamped = [each.topic.name for each in collected if not each.stamps.any()]
    if use_receive_time:
        return [each.received for each in collected], ['Receive times are used, as asked.']
    if unstamped:
        note = (
            f'Receive times are used because all header stamps of {" and ".join(unstamped)} are '
            f'zero: have the driver stamp its messages.'
        )
        return [each.received for each in collected], [note]
    return [each.stamps for each in collected], []


_LONGEST_LIST = 12


@dataclass(frozen=True)
class TopicRole:
    """Role of a topic in a recording: its name in sentences, its types and its option."""

    word: str
    msgtypes: tuple[str, ...]
    option: str


IMU = TopicRole('IMU', ('sensor_msgs/msg/Imu',), '--imu-topic')
POSITION = TopicRole('position', POSITION_TYPES, '--position-topic')


def candidates(topics: Sequence[Topic], role: TopicRole) -> list[Topic]:
    """Return the topics of a fitting type that hold messages."""
    return [topic for topic in topics if topic.count and topic.msgtype in role.msgtypes]


def choose_topic(path: Path, topics: Sequence[Topic], role: TopicRole, name: str | None) -> Topic:
    """
    Return the topic of that name, or the only one that fits.

    Raises
    ------
    InputError
        If none fits, several do and none is named, or the named one is absent, empty, of
        another type or serialised by other means than CDR.

    """
    fitting = candidates(topics, role)
    chosen = fitting if name is None else _named(fitting, name)
    if not chosen:
        raise InputError(_nothing_fits(path, topics, role, name))
    if len(chosen) > 1:
        msg = f'{path} holds {len(chosen)} {role.word} topics, {_listed(chosen)}: ' + (
            f'name one with {role.option}.'
            if name is None
            else 'keep one of them in a copy of the bag.'
        )
        raise InputError(msg)
    if chosen[0].serialisation not in {'cdr', 'ros1'}:
        msg = (
            f'{chosen[0].name} in {path} is serialised as {chosen[0].serialisation!r}, which '
            f'cannot be read: record it again with a middleware that uses CDR.'
        )
        raise InputError(msg)
    return chosen[0]


def _named(topics: Sequence[Topic], name: str) -> list[Topic]:
    return [topic for topic in topics if topic.name.lstrip('/') == name.lstrip('/')]


def _nothing_fits(path: Path, topics: Sequence[Topic], role: TopicRole, name: str | None) -> str:
    held = [topic for topic in topics if topic.count]
    if not held:
        return f'{path} holds no messages at all: choose another recording.'
    types = ' or '.join(msgtype.replace('/msg/', '/') for msgtype in role.msgtypes)
    if name is None:
        return (
            f'{path} holds no {role.word} topic ({types}), only {_listed(held)}: record one, '
            f'or choose another recording.'
        )
    same = _named(topics, name)
    cause = f'is there as {_listed(same)}' if same else 'is not there'
    return (
        f'{path} cannot give {role.word} messages on {name}, which {cause}: name a topic of type '
        f'{types} with {role.option}; the bag holds {_listed(held)}.'
    )


def _listed(topics: Sequence[Topic]) -> str:
    text = ', '.join(str(topic) for topic in topics[:_LONGEST_LIST])
    more = len(topics) - _LONGEST_LIST
    return f'{text} and {more} more' if more > 0 else text


@dataclass(frozen=True)
class ReadingOptions:
    """
    Topics and period to read from a bag, and how to read them.

    Parameters
    ----------
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
        Origin of the tangent plane of ``NavSatFix``; by default the first valid fix that is near
        most others.
    salvage
        Use what can be read of a damaged bag, with notes on what is lost. Without it such a bag
        is an error. Bags of ROS 1 cannot be salvaged.

    """

    imu_topic: str | None = None
    position_topic: str | None = None
    need_positions: bool = True
    find_positions: bool = True
    use_receive_time: bool = False
    origin: GeodeticOrigin | None = None
    salvage: bool = False


def read_recording(
    path: str | Path,
    options: ReadingOptions = ReadingOptions(),
    *,
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
    options
        What to read, and how.
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
        from two_manifold_ros.recordings.decoding import collect  # noqa: PLC0415

    with Bag(path, salvage=options.salvage) as bag:
        imu_choice = choose_topic(bag.path, bag.topics, IMU, options.imu_topic)
        decoders = {imu_choice: imu_decoder(bag, imu_choice)}
        position_choice, notes = _position_choice(bag, options)
        if position_choice is not None:
            decoders[position_choice] = position_decoder(bag.decode, position_choice.msgtype)
        collected = collect(bag, decoders, progress, salvage=options.salvage)
        notes = [*bag.notes, *notes]
    times, time_notes = time_base(collected, options.use_receive_time)
    notes += time_notes
    for each in collected:
        notes += each.notes
    positions = None
    if position_choice is not None:
        positions, fix_notes = _position_stream(collected[1], times[1], options)
        notes += fix_notes
    return Recording(str(path), _imu_stream(collected[0], times[0]), positions, tuple(notes))


def read_recordings(
    paths: Sequence[str | Path],
    options: ReadingOptions = ReadingOptions(),
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> Iterator[Recording]:
    """
    Read several bags of one route; parameters as in `read_recording`.

    They share one tangent plane: that of ``options``, or else of the first bag that has fixes.
    """
    for number, path in enumerate(paths):

        def part(share: float, done: int = number) -> None:
            progress((done + share) / len(paths))

        recording = read_recording(path, options, progress=part)
        if options.origin is None and recording.positions is not None:
            options = replace(options, origin=recording.positions.origin)
        yield recording


def _position_choice(bag: Bag, options: ReadingOptions) -> tuple[Topic | None, list[str]]:
    name, needed = options.position_topic, options.need_positions
    if not (needed or options.find_positions) and name is None:
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


def _imu_stream(collected: MessageColumns, stamps: Ints) -> ImuStream:
    return ImuStream(
        topic=collected.topic.name,
        frame_id=collected.frames[0],
        stamps=stamps,
        samples=collected.numbers,
        receive_stamps=collected.received,
    )


def _position_stream(
    collected: MessageColumns, stamps: Ints, options: ReadingOptions
) -> tuple[PositionStream | None, list[str]]:
    try:
        return collected.positions(stamps, options.origin)
    except NoFixError as error:
        if options.need_positions:
            raise
        return None, [str(error)]
