# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Further channels beside an IMU: messages of commands and of sensors, and their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import ANY_COMMAND, COMMAND_FIELDS, frame_name, SENSOR_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Self

    from two_manifold_ros.typing import Floats, Ints

PREFIX = 'command.'
"""Start of the name of a channel that holds a command; its field follows."""

DEFINITIONS = {
    'ackermann_msgs/msg/AckermannDrive': (
        'float32 steering_angle\nfloat32 steering_angle_velocity\nfloat32 speed\n'
        'float32 acceleration\nfloat32 jerk\n'
    ),
    'ackermann_msgs/msg/AckermannDriveStamped': (
        'std_msgs/Header header\nackermann_msgs/AckermannDrive drive\n'
    ),
}
"""Definitions of messages that are none of ROS itself."""


@dataclass(frozen=True)
class FurtherTopic:
    """
    A topic with further channels as a user names it: ``TOPIC`` or ``TOPIC:FIELD,...``.

    Parameters
    ----------
    name
        Name of the topic; ``None`` for the only one of a fitting type.
    fields
        Numbers of a message that count, such as ``linear.x`` or ``axes.1``; where there is none
        those that are usual for the type.

    """

    name: str | None
    fields: tuple[str, ...] = ()

    word: ClassVar[str]
    """What its messages are."""
    plural: ClassVar[str] = ''
    """Ending of the name of the parameter that names its topics, if there are several."""
    types: ClassVar[Mapping[str, tuple[str, ...]]]
    """Types of messages, and their usual fields."""
    any_topic: ClassVar[str] = ''
    """Stands for the only topic; empty if each has to be named."""
    example: ClassVar[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Return what a user wrote.

        Raises
        ------
        InputError
            If there is no name, or a field without one.

        """
        name, colon, listed = text.partition(':')
        fields = tuple(each.strip() for each in listed.split(',')) if colon else ()
        if not name or not all(fields):
            single = f', {cls.any_topic} for the only one,' if cls.any_topic else ''
            msg = (
                f'{cls.word} topic {text!r}: write the name of a topic{single} or TOPIC:FIELD,... '
                f'such as {cls.example}'
            )
            raise InputError(msg)
        return cls(None if name == cls.any_topic else name, fields)

    @property
    def written(self) -> str:
        """What `parse` reads."""
        colon = ':' if self.fields else ''
        return f'{self.name or self.any_topic}{colon}{",".join(self.fields)}'

    def fields_of(self, msgtype: str) -> tuple[str, ...]:
        """
        Return the fields that count in messages of a type.

        Raises
        ------
        InputError
            If none is named and the type has no usual ones, or messages of the type hold none.

        """
        if msgtype not in self.types:
            types = ', '.join(self.types)
            msg = (
                f'{self.name}: {msgtype} holds no {self.word}s that are known; name one of {types}'
            )
            raise InputError(msg)
        fields = self.fields or self.types[msgtype]
        if not fields:
            msg = (
                f'{self.name or f"the {self.word} topic"}: of {msgtype} the fields have to be '
                f'named, such as {self.example}'
            )
            raise InputError(msg)
        return fields


@dataclass(frozen=True)
class CommandTopic(FurtherTopic):
    """A topic with commands of the vehicle."""

    word = 'command'
    types = COMMAND_FIELDS
    any_topic = ANY_COMMAND
    example = '/joy:axes.1,axes.3'

    @classmethod
    def parse_live(cls, text: str) -> CommandTopic:
        """
        Return what a user wrote of a topic before its type is known: by default a single number.

        Raises
        ------
        InputError
            As `parse`, or if the topic has no name: any type may be published on a live one.

        """
        topic = cls.parse(text)
        if topic.name is None:
            msg = (
                f'command_topic {text}: a live topic has to be named; write its name and fields, '
                'such as /cmd_vel:linear.x,angular.z'
            )
            raise InputError(msg)
        return cls(topic.name, topic.fields or ('data',))

    @classmethod
    def of_model(
        cls, given: str, fields: tuple[str, ...], trained: str, setting: str
    ) -> CommandTopic | None:
        """
        Return the topic of the commands that a model takes, and all their fields.

        Parameters
        ----------
        given
            What a user wrote under the name ``setting``; empty for the topic of the training.
        fields
            Those that the model takes; where there is none the result is ``None``.
        trained
            Topic of the training.

        Raises
        ------
        InputError
            If the model takes no commands and a topic is given, or other fields than are given.

        """
        if not fields:
            if given:
                msg = (
                    f'{setting} {given}: the model was trained without commands; leave {setting} '
                    'out'
                )
                raise InputError(msg)
            return None
        topic = cls.parse(given or trained)
        if topic.fields not in {(), fields}:
            msg = (
                f'{setting} {given}: the model takes {", ".join(fields)}; name these fields, or '
                'the topic alone'
            )
            raise InputError(msg)
        return cls(topic.name, fields)


@dataclass(frozen=True)
class SensorTopic(FurtherTopic):
    """A topic of a sensor beside the IMU, such as a magnetometer or the speed of a wheel."""

    word = 'sensor'
    plural = 's'
    types = SENSOR_FIELDS
    example = '/magnetometer:magnetic_field.x'

    @classmethod
    def of_names(cls, names: Sequence[str]) -> tuple[SensorTopic, ...]:
        """Return the topics in names of channels, which are those of a `HeldStream`."""
        fields: dict[str, list[str]] = {}
        for name in names:
            topic, _, field = name.partition(':')
            fields.setdefault(topic, []).append(field)
        return tuple(cls(topic, tuple(each)) for topic, each in fields.items())

    @classmethod
    def of_model(
        cls, given: Sequence[str], trained: Sequence[SensorTopic], setting: str
    ) -> tuple[SensorTopic, ...]:
        """
        Return the topics of the sensors that a model takes, and their fields.

        Parameters
        ----------
        given
            What a user wrote under the name ``setting``: a topic for each sensor, in the order of
            the model; nothing for those of the training.
        trained
            Topics and fields of the training.

        Raises
        ------
        InputError
            If another number of sensors is given than the model takes, or other fields.

        """
        topics = tuple(map(cls.parse, given)) or tuple(trained)
        taken = ', '.join(each.written for each in trained)
        if len(topics) != len(trained):
            msg = (
                f'{setting} names {len(topics)} topics, but the model takes {len(trained)}'
                f'{f" ({taken})" if taken else ""}; name one for each in this order, or none'
            )
            raise InputError(msg)
        for topic, known in zip(topics, trained, strict=True):
            if topic.fields not in {(), known.fields}:
                msg = (
                    f'{setting} {topic.written}: the model takes {", ".join(known.fields)} there; '
                    'name these fields, or the topic alone'
                )
                raise InputError(msg)
        return tuple(
            cls(topic.name, known.fields) for topic, known in zip(topics, trained, strict=True)
        )


def values_of(message: object, fields: tuple[str, ...], topic: str) -> tuple[float, ...]:
    """
    Return the numbers of a message on a topic by field.

    Raises
    ------
    InputError
        If it has no such field, or there is no number in it.

    """
    values = []
    for field in fields:
        found: Any = message
        try:
            for part in field.split('.'):
                found = found[int(part)] if part.isdecimal() else getattr(found, part)
            values.append(float(found))
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            msg = (
                f'{topic}: a message has no number in its field {field}; name fields of its type, '
                'such as linear.x, or axes.1 of a Joy with two axes or more'
            )
            raise InputError(msg) from error
    return tuple(values)


def fields_decoder(
    deserialise: Callable[[bytes, str], Any],
    topic: str,
    msgtype: str,
    fields: tuple[str, ...],
    part: str = '',
) -> Callable[[bytes], tuple[int, str, tuple[float, ...]]]:
    """
    Return the decoder of messages on a topic.

    The stamp is that of the ``part`` of a message, if one is named and stamped, or else of the
    message, or 0 where its messages have none.
    """
    parts = part.split('.') if part else []

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        message = deserialise(raw, msgtype)
        values = values_of(message, fields, topic)
        found, stamp_ns, frame_id = message, 0, ''
        for name in (None, *parts):
            found = found if name is None else getattr(found, name, None)
            header = getattr(found, 'header', None)
            if header is not None:
                own_ns = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
                stamp_ns, frame_id = own_ns or stamp_ns, frame_name(header.frame_id) or frame_id
        return stamp_ns, frame_id, values

    return decode


_IMU_FIELDS = tuple(
    f'{vector}.{axis}' for vector in ('linear_acceleration', 'angular_velocity') for axis in 'xyz'
)


def imu_field_decoder(
    deserialise: Callable[[bytes, str], Any], topic: str, msgtype: str, field: str
) -> Callable[[bytes], tuple[int, str, tuple[float, ...]]]:
    """
    Return the decoder of an IMU inside messages of a topic: specific force, then angular rate.

    Parameters
    ----------
    deserialise, topic, msgtype
        As of `fields_decoder`.
    field
        Where a ``sensor_msgs/Imu``, or a message with its fields, is; or six fields with commas.

    Raises
    ------
    InputError
        If it is neither.

    """
    if ',' not in field:
        fields = tuple(f'{field}.{name}' for name in _IMU_FIELDS)
        return fields_decoder(deserialise, topic, msgtype, fields, field)
    fields = tuple(each.strip() for each in field.split(','))
    if len(fields) != len(_IMU_FIELDS) or not all(fields):
        msg = (
            f'--imu-field {field}: name the field with a sensor_msgs/Imu in it, or six fields, '
            'acceleration x, y, z and angular rate x, y, z, with commas'
        )
        raise InputError(msg)
    return fields_decoder(deserialise, topic, msgtype, fields)


@dataclass(frozen=True)
class HeldStream:
    """
    Numbers of a topic that hold until the next message, in the order in which they were received.

    Parameters
    ----------
    topic, msgtype
        Where they came from.
    fields
        The m numbers of each message that count.
    stamps : (M,) int64
        Nanoseconds, on the time base of the IMU.
    values : (M, m)
        In the units of the messages.

    """

    topic: str
    msgtype: str
    fields: tuple[str, ...]
    stamps: Ints
    values: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the channels that hold the numbers, which say where they come from."""
        return tuple(f'{self.topic}:{field}' for field in self.fields)

    def held_at(self, stamps: Ints) -> Floats:
        """
        Return the (N, m) numbers in force at (N,) stamps, NaN before the first one.

        Each holds until the next one (zero-order hold), however long that takes.
        """
        order = np.argsort(self.stamps, kind='stable')
        newest = np.searchsorted(self.stamps[order], stamps, side='right') - 1
        held = np.full((len(stamps), len(self.fields)), np.nan)
        known = newest >= 0
        held[known] = self.values[order][newest[known]]
        return held


@dataclass(frozen=True)
class CommandStream(HeldStream):
    """Commands of the vehicle; their channels have the same names on any topic."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the channels that hold the commands."""
        return tuple(PREFIX + field for field in self.fields)

    @property
    def written(self) -> str:
        """What `CommandTopic.parse` reads."""
        return CommandTopic(self.topic, self.fields).written


def fields_held(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields of commands among the names of channels."""
    return tuple(name[len(PREFIX) :] for name in names if name.startswith(PREFIX))
