# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether as many messages come out of a file as it says that it holds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from rosbags import rosbag1, rosbag2
    from rosbags.interfaces import Connection

    from two_manifold_ros.recordings.metadata import Metadata
    from two_manifold_ros.recordings.salvaging import SalvagedFile

    Reader: TypeAlias = rosbag1.Reader | rosbag2.Reader | SalvagedFile


def counted_messages(
    reader: Reader, connections: Collection[Connection]
) -> Iterator[tuple[Connection, int, bytes]]:
    """
    Yield the messages of some topics, and count them.

    Where a chunk has no checksum, wrong bytes in it show only in records that are missing.

    Raises
    ------
    ValueError
        At the end, if there were fewer than the file says.

    """
    found: Counter[int] = Counter()
    for message in reader.messages(connections):
        found[message[0].id] += 1
        yield message
    for each in connections:
        if found[each.id] < each.msgcount:
            missing = each.msgcount - found[each.id]
            msg = f'{missing} of {each.msgcount} messages on {each.topic!r} are not there'
            raise ValueError(msg)


def shortfall_notes(path: Path, found: int, metadata: Metadata | None) -> list[str]:
    """
    Return a sentence if a bag holds fewer messages than its metadata say.

    That is no damage: some recorders count what they drop later.
    """
    said = metadata.messages if metadata else None
    if said is None or said <= found:
        return []
    note = (
        f'{path} holds {found} messages, and its metadata count {said}: the others were dropped '
        f'by its recorder or lost since; copy it again if that is new.'
    )
    return [note]


"""What tells the topics and the messages of one file."""
