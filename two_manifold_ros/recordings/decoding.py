# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decode messages of bags and live topics to numbers: of an IMU, positions, further sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, TypeAlias

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import frame_name, POSITION_FIELDS
from two_manifold_ros.recordings.recording import IMU_CHANNELS, IMU_VECTORS

Decode: TypeAlias = Callable[[bytes], tuple[int, str, tuple[float, ...]]]
"""From serialised bytes to the stamp in ns, the frame_id and the numbers."""

Deserialise: TypeAlias = Callable[[bytes, str], Any]
"""From serialised bytes and their type to a message with fields."""

_ENCAPSULATION = 4
# Doubles of an Imu before each vector: orientation 4, covariance 9; then 3 and 9 more.
_ANGULAR_VELOCITY = 8 * 13
_LINEAR_ACCELERATION = 8 * 25
# stamp and length of frame_id, a vector and its first covariance; by the byte order in the
# encapsulation.
_CDR = {
    b'\x00\x00': (Struct('>iII'), Struct('>dddd')),
    b'\x00\x01': (Struct('<iII'), Struct('<dddd')),
}
NOT_GIVEN = -1.0
"""First covariance of a field that a message does not give, as ``sensor_msgs/Imu`` defines."""


def _vectors_cdr(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
    """Decode a ``sensor_msgs/Imu`` in plain CDR, five times faster than a general decoder."""
    layout = _CDR.get(raw[:2])
    if layout is None:
        raise InputError(
            f'An Imu message starts with {raw[:4].hex()}, which is not plain CDR: record it '
            f'again with a middleware that uses CDR.'
        )
    header, vector = layout
    seconds, nanoseconds, length = header.unpack_from(raw, _ENCAPSULATION)
    text = _ENCAPSULATION + header.size
    # Aligned to eight bytes behind the one variable part.
    doubles = text + length + -(header.size + length) % 8
    # As `frame_name`, for each sample.
    frame_id = raw[text : text + length - 1].decode('utf-8', 'replace').lstrip('/')
    force: Any = vector.unpack_from(raw, doubles + _LINEAR_ACCELERATION)
    rate: Any = vector.unpack_from(raw, doubles + _ANGULAR_VELOCITY)
    return seconds * 1_000_000_000 + nanoseconds, frame_id, force + rate


class ImuDecoder:
    """
    Decode the messages of one IMU, as `Decode`: specific force, then angular rate.

    Some drivers send each field in messages of its own: one of zeros that a message marks as
    ``NOT_GIVEN`` is held from the last message that gave it. ``vectors`` decodes a message to
    x, y, z and the first covariance of both fields.
    """

    def __init__(self, vectors: Decode = _vectors_cdr) -> None:
        self._vectors = vectors
        self._count = 0
        self._given: list[tuple[float, ...] | None] = [None, None]
        # Messages in which a field was held.
        self._held = [0, 0]

    def __call__(self, raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        """Decode one message."""
        stamp_ns, frame_id, numbers = self._vectors(raw)
        force, rate = numbers[:4], numbers[4:]
        self._count += 1
        fields = [force, rate]
        if force[3] == NOT_GIVEN or rate[3] == NOT_GIVEN:
            for index, field in enumerate((force, rate)):
                # Some drivers mark what they give.
                if field[3] != NOT_GIVEN or any(field[:3]):
                    self._given[index] = field
                elif (given := self._given[index]) is not None:
                    self._held[index] += 1
                    fields[index] = given
        else:
            self._given = [force, rate]
        return stamp_ns, frame_id, fields[0][:3] + fields[1][:3]

    def notes(self, topic: str) -> list[str]:
        """Return a sentence for each field that some messages of the topic do not give."""
        return [
            f'{held} of {self._count} messages on {topic} mark their {name} as not given '
            '(covariance[0] is -1): the last one that was given counts there; have the driver '
            'give both fields in each message.'
            for held, name in zip(self._held, ('acceleration', 'angular rate'), strict=True)
            if held
        ]


def fields_decoder(
    deserialise: Deserialise, topic: str, msgtype: str, fields: tuple[str, ...], part: str = ''
) -> Decode:
    """
    Return the decoder of messages on a topic.

    The stamp is that of the ``part`` of a message, if one is named and stamped, or else of the
    message, or 0 where it has none. ``InputError`` names a field without a number.
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
                raise InputError(
                    f'{topic}: a message has no number in its field {".".join(way)}; name fields '
                    'of its type, such as twist.linear.x, or velocity.1 of a JointState with two '
                    'joints or more'
                ) from error
        found, stamp_ns, frame_id = message, 0, ''
        for inner in (None, *parts):
            found = found if inner is None else getattr(found, inner, None)
            header: Any = getattr(found, 'header', None)
            # Any type may have a field of this name.
            if hasattr(getattr(header, 'stamp', None), 'nanosec'):
                own_ns = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
                stamp_ns = own_ns or stamp_ns
                frame_id = frame_name(getattr(header, 'frame_id', '')) or frame_id
        return stamp_ns, frame_id, tuple(values)

    return decode


def imu_decoder(
    deserialise: Deserialise, topic: str, msgtype: str, *, field: str = '', plain: bool = True
) -> Decode:
    """
    Return the decoder of an IMU: specific force, then angular rate.

    The ``field`` of messages of another type is where a ``sensor_msgs/Imu``, or a message with its
    fields, is; or six fields with commas. ``plain`` says that the messages are in CDR.
    """
    if ',' in field:
        fields = tuple(each.strip() for each in field.split(','))
        if len(fields) != len(IMU_CHANNELS) or not all(fields):
            raise InputError(
                f'--imu-topic {topic}:{field}: name the field with a sensor_msgs/Imu in it, or '
                'six fields, acceleration x, y, z and angular rate x, y, z, with commas'
            )
        return fields_decoder(deserialise, topic, msgtype, fields)
    if field:
        fields = tuple(f'{field}.{name}' for name in IMU_CHANNELS)
        return fields_decoder(deserialise, topic, msgtype, fields, field)
    if plain:
        return ImuDecoder()
    vectors = [(*(f'{each}.{axis}' for axis in 'xyz'), f'{each}_covariance.0')
               for each in IMU_VECTORS]  # fmt: skip
    return ImuDecoder(fields_decoder(deserialise, topic, msgtype, vectors[0] + vectors[1]))


def position_decoder(
    deserialise: Deserialise, msgtype: str, further: tuple[str, ...] = ()
) -> Decode:
    """
    Return the decoder of x and y in metres; of fixes latitude, longitude, altitude, status.

    The numbers of ``further`` fields are behind them.
    """
    fields = POSITION_FIELDS[msgtype] + further
    return fields_decoder(deserialise, 'the topic of positions', msgtype, fields)


@dataclass(frozen=True)
class SensorTopic:
    """A topic of a sensor beside the IMU, such as a magnetometer or the speed of a wheel."""

    name: str
    fields: tuple[str, ...] = ()  # numbers of a message that count; the usual ones if none

    @classmethod
    def parse(cls, text: str) -> SensorTopic:
        """Return what a user wrote, ``TOPIC`` or ``TOPIC:FIELD,...``."""
        name, colon, listed = text.partition(':')
        fields = tuple(each.strip() for each in listed.split(',')) if colon else ()
        if not name or not all(fields):
            raise InputError(
                f'sensor topic {text!r}: write the name of a topic or TOPIC:FIELD,... '
                'such as /magnetometer:magnetic_field.x'
            )
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
        if len(topics) != len(trained) or any(
            topic.fields not in {(), known.fields}
            for topic, known in zip(topics, trained, strict=True)
        ):
            taken = ', '.join(each.written for each in trained) or 'none'
            raise InputError(
                f'{setting} names {", ".join(each.written for each in topics)}, but the model '
                f'takes {taken}; name a topic for each in this order, alone or with its fields, '
                'or none'
            )
        return tuple(
            cls(topic.name, known.fields) for topic, known in zip(topics, trained, strict=True)
        )
