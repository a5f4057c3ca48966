# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Turn serialised images into samples of a few grey values."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class Encoding(NamedTuple):
    """Numbers in a pixel, bytes in a number, weights of the first numbers in the brightness."""

    channels: int
    depth: int
    weights: tuple[float, ...] = (1.0,)


# Weights of red, green and blue after ITU-R BT.601.
ENCODINGS = {
    'mono8': Encoding(1, 1),
    '8UC1': Encoding(1, 1),
    'mono16': Encoding(1, 2),
    '16UC1': Encoding(1, 2),
    'rgb8': Encoding(3, 1, (0.299, 0.587, 0.114)),
    'rgba8': Encoding(4, 1, (0.299, 0.587, 0.114)),
    'bgr8': Encoding(3, 1, (0.114, 0.587, 0.299)),
    'bgra8': Encoding(4, 1, (0.114, 0.587, 0.299)),
}
"""Encodings that can be read, named as in ``sensor_msgs/image_encodings``."""


def channel_names(width: int, height: int) -> tuple[str, ...]:
    """Return a name for each value that `ImageValues` gives, row by row."""
    return tuple(f'pixel.{row}.{column}' for row in range(height) for column in range(width))


class ImageValues:
    """
    Scale images down to a grid of mean brightnesses.

    Parameters
    ----------
    width, height
        Size of the grid.

    """

    def __init__(self, width: int, height: int) -> None:
        self._size = height, width
        self._shape = (0, 0)

    def decode(self, raw: bytes) -> tuple[int, str, Floats]:
        """
        Decode a ``sensor_msgs/Image`` in CDR.

        Returns
        -------
        stamp_ns, frame_id
            Stamp and frame of its header.
        values : (height width,)
            Mean brightness of each box of the grid, row by row, 0 black to 1 white; boxes share
            the pixels that lie across their borders.

        Raises
        ------
        InputError
            If the encoding is not known, the image is cut off, or it is smaller than the grid.

        """
        order = {b'\x00\x00': '>', b'\x00\x01': '<'}.get(raw[:2])
        if order is None:
            msg = f'an image starts with {raw[:4].hex()}, which is not plain CDR'
            raise InputError(msg)
        reader = _Reader(raw, order)
        seconds, nanoseconds = reader.numbers('iI')
        frame_id = reader.text()
        height, width = reader.numbers('II')
        name = reader.text()
        (bigendian,) = reader.numbers('B')
        step, length = reader.numbers('II')
        data = np.frombuffer(raw, np.uint8)[reader.at : reader.at + length]
        encoding = ENCODINGS.get(name)
        if encoding is None:
            msg = (
                f'images are encoded as {name[:40]!r}; let the driver or a converter send one '
                f'of {", ".join(ENCODINGS)}'
            )
            raise InputError(msg)
        pixel = encoding.channels * encoding.depth
        row = width * pixel
        # Rows may be padded to a longer step.
        if not row or step < row or len(data) < step * (height - 1) + row:
            msg = (
                f'an image of {width} x {height} pixels with {step} bytes a row cannot be in '
                f'{len(data)} bytes'
            )
            raise InputError(msg)
        pixels = np.ndarray(
            (height, width, len(encoding.weights)),
            f'{">" if bigendian else "<"}u{encoding.depth}',
            np.ascontiguousarray(data),
            strides=(step, pixel, encoding.depth),
        )
        values = self._shrink(pixels @ np.array(encoding.weights) / (256**encoding.depth - 1))
        return seconds * 1_000_000_000 + nanoseconds, frame_id, values

    def _shrink(self, grey: Floats) -> Floats:
        height, width = grey.shape
        if height < self._size[0] or width < self._size[1]:
            msg = (
                f'images of {width} x {height} pixels are smaller than the grid of '
                f'{self._size[1]} x {self._size[0]}; set image_width and image_height lower'
            )
            raise InputError(msg)
        # A driver keeps to one size.
        if self._shape != (height, width):
            self._shape = height, width
            self._rows, self._columns = map(overlaps, self._shape, self._size)
        values: Floats = (self._rows @ grey @ self._columns.T).ravel()
        return values


def overlaps(pixels: int, boxes: int) -> Floats:
    """Return the share of each pixel in the mean of each of fewer boxes: (boxes, pixels)."""
    edges = np.linspace(0.0, pixels, boxes + 1)
    first = np.arange(pixels)
    end = np.minimum(edges[1:, None], first + 1.0)
    shared = np.maximum(end - np.maximum(edges[:-1, None], first), 0.0)
    weights: Floats = shared * (boxes / pixels)
    return weights


class _Reader:
    """Read numbers and texts one after the other; each is aligned to its own size."""

    def __init__(self, raw: bytes, order: str) -> None:
        self._raw = raw
        self._order = order
        self.at = 4

    def numbers(self, kinds: str) -> tuple[int, ...]:
        layout = Struct(self._order + kinds)
        self.at += -(self.at - 4) % Struct(self._order + kinds[0]).size
        found = layout.unpack_from(self._raw, self.at)
        self.at += layout.size
        return found

    def text(self) -> str:
        (length,) = self.numbers('I')
        begin = self.at
        self.at += length
        return self._raw[begin : self.at - 1].decode('utf-8', 'replace')
