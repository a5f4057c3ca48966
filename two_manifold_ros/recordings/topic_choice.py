# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topic of a bag is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.recordings.bag import Topic

_LONGEST_LIST = 12


@dataclass(frozen=True)
class Role:
    """What a topic is wanted for: its word in sentences, its types and its option."""

    word: str
    msgtypes: tuple[str, ...]
    option: str


IMU = Role('IMU', ('sensor_msgs/msg/Imu',), '--imu-topic')
POSITION = Role(
    'position',
    (
        'geometry_msgs/msg/PoseStamped',
        'geometry_msgs/msg/PoseWithCovarianceStamped',
        'geometry_msgs/msg/PointStamped',
        'geometry_msgs/msg/TransformStamped',
        'nav_msgs/msg/Odometry',
        'sensor_msgs/msg/NavSatFix',
    ),
    '--position-topic',
)


def candidates(topics: Sequence[Topic], role: Role) -> list[Topic]:
    """Return the topics of a fitting type that hold messages."""
    return [topic for topic in topics if topic.count and topic.msgtype in role.msgtypes]


def choose_topic(path: Path, topics: Sequence[Topic], role: Role, name: str | None) -> Topic:
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


def _nothing_fits(path: Path, topics: Sequence[Topic], role: Role, name: str | None) -> str:
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
