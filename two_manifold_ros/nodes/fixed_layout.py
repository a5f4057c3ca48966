# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Serialise messages of a fixed layout without making message objects.

Poses and odometry are a header, fixed names, and then nothing but numbers. Making and serialising
the message object costs more than the filter; overwriting the numbers of a serialised example
costs a fifth of that.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import numpy as np
from rclpy.serialization import serialize_message

from two_manifold_ros.nodes.translating import to_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.outputs.topics import Message

_STAMP = Struct('<iI')
_STAMP_OFFSET = 4
"""After the four bytes that name the encoding."""

_LITTLE_ENDIAN = b'\x00\x01'


class FixedLayout:
    """
    A serialised example whose stamp and numbers are overwritten.

    Parameters
    ----------
    msgtype
        A type of which every field is the header, a string before all numbers, or a double.
    example
        A message with all fields, in the order of the type's definition; later messages have the
        same names in the same order.

    Raises
    ------
    ValueError
        If the example's numbers are not the end of its serialised form.

    """

    def __init__(self, msgtype: str, example: Message) -> None:
        serialised = serialize_message(to_message(msgtype, example))
        numbers = list(_numbers(example))
        self._numbers = Struct(f'<{len(numbers)}d')
        self._offset = len(serialised) - self._numbers.size
        self._buffer = bytearray(serialised)
        if serialised[:2] != _LITTLE_ENDIAN or self.serialise(example) != serialised:
            msg = f'{msgtype} does not end in the numbers of its example'
            raise ValueError(msg)

    def serialise(self, fields: Message) -> bytes:
        """Return the serialised message; strings stay those of the example."""
        stamp = fields['header']['stamp']
        _STAMP.pack_into(self._buffer, _STAMP_OFFSET, stamp['sec'], stamp['nanosec'])
        self._numbers.pack_into(self._buffer, self._offset, *_numbers(fields))
        return bytes(self._buffer)


def _numbers(fields: Message) -> Iterator[float]:
    for name, value in fields.items():
        if isinstance(value, dict):
            if name != 'header':
                yield from _numbers(value)
        elif isinstance(value, np.ndarray):
            yield from value.tolist()
        elif not isinstance(value, str):
            yield value
