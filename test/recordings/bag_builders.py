# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags to damage, and the sentence that refuses one."""

from io import BytesIO
from pathlib import Path

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.recordings.recording import Recording

WITHOUT_POSITIONS = ReadingOptions(need_positions=False)


def file_of(bag: Path) -> Path:
    """Return the one storage file of a bag."""
    return next(each for each in bag.iterdir() if each.suffix in {'.mcap', '.db3'})


def pack_bag(bag: Path, target: Path, storage: object, mode: str) -> Path:
    """Copy a bag message by message with the options of rosbags' own writer; return the copy."""
    from rosbags import rosbag2  # noqa: PLC0415 - an extra
    from rosbags.typesys import get_typestore, Stores  # noqa: PLC0415 - as above

    types = get_typestore(Stores.ROS2_JAZZY)
    writer = rosbag2.Writer(target, version=8, storage_plugin=storage)
    writer.set_compression(rosbag2.CompressionMode[mode], rosbag2.CompressionFormat.ZSTD)
    with rosbag2.Reader(bag) as reader, writer:
        for connection in reader.connections:
            copy = writer.add_connection(connection.topic, connection.msgtype, typestore=types)
            for _, stamp, raw in reader.messages([connection]):
                writer.write(copy, stamp, raw)
    return target


def refusal(path: Path, options: ReadingOptions = WITHOUT_POSITIONS) -> str:
    """Return the one sentence with which a path is refused; it names the path."""
    message = read_or_refused(path, options)
    assert isinstance(message, str)
    assert '\n' not in message
    assert message.endswith('.')
    return message


def read_or_refused(path: Path, options: ReadingOptions = WITHOUT_POSITIONS) -> Recording | str:
    """Return the recording, or the sentence that refuses the path, which it names."""
    try:
        return read_recording(path, options)
    except InputError as error:
        if str(path) not in str(error):
            raise
        return str(error)


def add_checksums(file: Path, chunk_size: int) -> None:
    """Write a file again by the library of the format: with checksums, in chunks of that size."""
    from mcap.reader import make_reader  # noqa: PLC0415 - walks need no library
    from mcap.writer import Writer  # noqa: PLC0415

    content = BytesIO(file.read_bytes())
    with file.open('wb') as stream:
        writer = Writer(stream, chunk_size=chunk_size)
        writer.start('ros2', 'test')
        numbers: dict[str, int] = {}
        for schema, channel, message in make_reader(content).iter_messages():
            if channel.topic not in numbers:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                numbers[channel.topic] = writer.register_channel(channel.topic, 'cdr', kind)
            number, received = numbers[channel.topic], message.log_time
            writer.add_message(number, received, message.data, message.publish_time)
        writer.finish()
