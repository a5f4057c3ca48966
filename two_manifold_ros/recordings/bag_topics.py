# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choose topics of a bag, whichever library reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import POSITION_TYPES, SENSOR_FIELDS


@dataclass(frozen=True)
class Topic:
    """A topic of a bag, with the number of its messages."""

    name: str
    msgtype: str
    count: int
    serialisation: str

    def __str__(self) -> str:
        return f'{self.name} ({self.msgtype}, {self.count} messages)'


_LONGEST_NAME, _LONGEST_LIST = 500, 12


@dataclass(frozen=True)
class TopicRole:
    """Role of a topic in a recording: its name in sentences, its types and its option."""

    word: str
    msgtypes: tuple[str, ...]
    option: str


IMU = TopicRole('IMU', ('sensor_msgs/msg/Imu',), '--imu-topic')
SENSOR = TopicRole('sensor', tuple(SENSOR_FIELDS), '--sensor-topic')
POSITION = TopicRole('position', POSITION_TYPES, '--position-topic')


def choose_topic(
    path: Path | str, topics: Sequence[Topic], role: TopicRole, name: str | None
) -> Topic:
    """Return the topic of that name, or the only one that fits, which is serialised as CDR."""
    same = [each for each in topics if name is None or each.name.lstrip('/') == name.lstrip('/')]
    chosen = _fitting(same, role)
    held = [topic for topic in topics if topic.count]
    types = ' or '.join(msgtype.replace('/msg/', '/') for msgtype in role.msgtypes)
    msg = ''
    if not held:
        msg = f'{path} holds no messages at all: choose another recording.'
    elif not chosen and name is None:
        alone = '; for lap times alone, train with --marks' * (role == POSITION)
        msg = (
            f'{path} holds no {role.word} topic ({types}), only {_listed(held)}: record one, '
            f'or choose another recording{alone}.'
        )
    elif not chosen:
        cause = f'is there as {_listed(same)}' if same else 'is not there'
        inside = ', or with --imu-topic T:FIELD where it is in these messages'
        msg = (
            f'{path} cannot give {role.word} messages on {name}, which {cause}: name a topic of '
            f'type {types} with {role.option}{inside * bool(same and role == IMU)}; the bag holds '
            f'{_listed(held)}.'
        )
    elif len(chosen) > 1:
        cure = 'keep one of them in a copy of the bag' if name else f'name one with {role.option}'
        msg = f'{path} holds {len(chosen)} {role.word} topics, {_listed(chosen)}: {cure}.'
    elif chosen[0].serialisation not in {'cdr', 'ros1'}:
        msg = (
            f'{chosen[0].name} in {path} is serialised as {chosen[0].serialisation!r}, which '
            f'cannot be read: record it again with a middleware that uses CDR.'
        )
    if msg:
        raise InputError(msg)
    return chosen[0]


def choose_position_topic(
    path: Path | str, topics: Sequence[Topic], name: str | None, *, needed: bool, find: bool
) -> tuple[Topic | None, list[str]]:
    """Return the topic of positions, ``None`` if none has to be read, and notes on those left."""
    if not (needed or find) and name is None:
        return None, []
    fitting = _fitting(topics, POSITION)
    if needed or name is not None or len(fitting) == 1:
        return choose_topic(path, topics, POSITION, name), []
    if not fitting:
        return None, []
    note = (
        f'{path} holds {len(fitting)} position topics, {_listed(fitting)}, and none is read: name '
        f'one with {POSITION.option}.'
    )
    return None, [note]


def _fitting(topics: Sequence[Topic], role: TopicRole) -> list[Topic]:
    return [topic for topic in topics if topic.count and topic.msgtype in role.msgtypes]


def _listed(topics: Sequence[Topic]) -> str:
    text = ', '.join(str(topic) for topic in topics[:_LONGEST_LIST])
    more = len(topics) - _LONGEST_LIST
    return f'{text} and {more} more' if more > 0 else text


def printable(name: str) -> str:
    """Return an untrusted name in a form that is safe to print on a terminal."""
    return (name if name.isprintable() else ascii(name))[:_LONGEST_NAME]


def damaged(path: Path | str, error: Exception) -> InputError:
    """Return in one sentence that a library failed on the bytes of a file."""
    reason = ' '.join(str(error).split())[:200].rstrip('.') or type(error).__name__
    return InputError(
        f'{path} is damaged, cut short or not supported ({reason}): copy it again, or try "ros2 '
        'bag reindex" on its folder, or save the rest by its kind with "mcap recover FILE -o '
        'NEW.mcap", "sqlite3 FILE .recover | sqlite3 NEW.db3" or "rosbag reindex".'
    )
