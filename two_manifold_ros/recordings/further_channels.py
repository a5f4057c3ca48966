# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors beside an IMU as further channels: their topics, messages and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import frame_name
from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class SensorTopic:
    """
    A topic of a sensor beside the IMU, such as a magnetometer or the speed of a wheel.

    Its fields are the numbers of a message that count, such as ``magnetic_field.x``; where there
    is none those that are usual for the type.
    """

    name: str
    fields: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> SensorTopic:
        """Return what a user wrote, ``TOPIC`` or ``TOPIC:FIELD,...``."""
        name, colon, listed = text.partition(':')
        fields = tuple(each.strip() for each in listed.split(',')) if colon else ()
        if not name or not all(fields):
            msg = (
                f'sensor topic {text!r}: write the name of a topic or TOPIC:FIELD,... '
                'such as /magnetometer:magnetic_field.x'
            )
            raise InputError(msg)
        return cls(name, fields)

    @property
    def written(self) -> str:
        """What `parse` reads."""
        colon = ':' if self.fields else ''
        return f'{self.name}{colon}{",".join(self.fields)}'

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

        A user gave, under the name ``setting``, a topic for each sensor in the order of the model,
        or nothing for those of the training.
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
    message, or 0 where its messages have none. ``InputError`` names a field without a number.
    """
    parts = part.split('.') if part else []
    ways = [field.split('.') for field in fields]

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        message = deserialise(raw, msgtype)
        values = []
        for way in ways:
            found: Any = message
            try:
                for name in way:
                    found = found[int(name)] if name.isdecimal() else getattr(found, name)
                values.append(float(found))
            except (AttributeError, IndexError, TypeError, ValueError) as error:
                msg = (
                    f'{topic}: a message has no number in its field {".".join(way)}; name fields '
                    'of its type, such as twist.linear.x, or velocity.1 of a JointState with two '
                    'joints or more'
                )
                raise InputError(msg) from error
        found, stamp_ns, frame_id = message, 0, ''
        for inner in (None, *parts):
            found = found if inner is None else getattr(found, inner, None)
            header = getattr(found, 'header', None)
            if header is not None:
                own_ns = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
                stamp_ns, frame_id = own_ns or stamp_ns, frame_name(header.frame_id) or frame_id
        return stamp_ns, frame_id, tuple(values)

    return decode


def imu_field_decoder(
    deserialise: Callable[[bytes, str], Any], topic: str, msgtype: str, field: str
) -> Callable[[bytes], tuple[int, str, tuple[float, ...]]]:
    """
    Return the decoder of an IMU inside messages of a topic: specific force, then angular rate.

    The field is where a ``sensor_msgs/Imu``, or a message with its fields, is; or six fields with
    commas.
    """
    if ',' not in field:
        fields = tuple(f'{field}.{name}' for name in IMU_CHANNELS)
        return fields_decoder(deserialise, topic, msgtype, fields, field)
    fields = tuple(each.strip() for each in field.split(','))
    if len(fields) != len(IMU_CHANNELS) or not all(fields):
        msg = (
            f'--imu-topic {topic}:{field}: name the field with a sensor_msgs/Imu in it, or six '
            'fields, acceleration x, y, z and angular rate x, y, z, with commas'
        )
        raise InputError(msg)
    return fields_decoder(deserialise, topic, msgtype, fields)
