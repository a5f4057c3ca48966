# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From serialised images to samples of a few grey values."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


LUMA = (0.299, 0.587, 0.114)
"""What red, green and blue add to the brightness, after ITU-R BT.601."""


class Encoding(NamedTuple):
    """
    How a pixel is stored.

    Parameters
    ----------
    channels
        Numbers in a pixel.
    depth
        Bytes in a number.
    weights
        What each of the first numbers adds to the brightness.

    """

    channels: int
    depth: int
    weights: tuple[float, ...]


ENCODINGS = {
    'mono8': Encoding(1, 1, (1.0,)),
    '8UC1': Encoding(1, 1, (1.0,)),
    'mono16': Encoding(1, 2, (1.0,)),
    '16UC1': Encoding(1, 2, (1.0,)),
    'rgb8': Encoding(3, 1, LUMA),
    'rgba8': Encoding(4, 1, LUMA),
    'bgr8': Encoding(3, 1, LUMA[::-1]),
    'bgra8': Encoding(4, 1, LUMA[::-1]),
}
"""Encodings that can be read, named as in ``sensor_msgs/image_encodings``."""

_START = 4
_CDR = {b'\x00\x00': '>', b'\x00\x01': '<'}


def channel_names(width: int, height: int) -> tuple[str, ...]:
    """Return a name for each value that `ImageValues` gives, row by row."""
    return tuple(f'pixel.{row}.{column}' for row in range(height) for column in range(width))


class ImageValues:
    """
    Scales images down to a grid of mean brightnesses.

    Parameters
    ----------
    width, height
        Of the grid.

    """

    def __init__(self, width: int, height: int) -> None:
        self._size = height, width
        self._overlaps: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def decode(self, raw: bytes) -> tuple[int, str, Floats]:
        """
        Decode a ``sensor_msgs/Image`` in CDR.

        Returns
        -------
        stamp_ns, frame_id
            Of its header.
        values : (height width,)
            Mean brightness of each box of the grid, row by row, 0 black to 1 white; boxes share
            the pixels that lie across their borders.

        Raises
        ------
        InputError
            If the encoding is not known, the image is cut off, or it is smaller than the grid.

        """
        order = _CDR.get(raw[:2])
        if order is None:
            msg = f'an image begins with {raw[:4].hex()}, which is not plain CDR'
            raise InputError(msg)
        reader = _Reader(raw, order)
        seconds, nanoseconds = reader.numbers('iI')
        frame_id = reader.text()
        height, width = reader.numbers('II')
        encoding = reader.text()
        (bigendian,) = reader.numbers('B')
        step, length = reader.numbers('II')
        data = np.frombuffer(raw, np.uint8)[reader.at : reader.at + length]
        known = ENCODINGS.get(encoding)
        if known is None:
            msg = (
                f'images are encoded as {encoding[:40]!r}; let the driver or a converter send one '
                f'of {", ".join(ENCODINGS)}'
            )
            raise InputError(msg)
        pixels = _pixels(data, known, (height, width, step), '>' if bigendian else '<')
        values = self._shrink(pixels @ np.array(known.weights) / (256**known.depth - 1))
        return seconds * 1_000_000_000 + nanoseconds, frame_id, values

    def _shrink(self, grey: Floats) -> Floats:
        if grey.shape[0] < self._size[0] or grey.shape[1] < self._size[1]:
            msg = (
                f'images of {grey.shape[1]} x {grey.shape[0]} pixels are smaller than the grid of '
                f'{self._size[1]} x {self._size[0]}; set image_width and image_height lower'
            )
            raise InputError(msg)
        if grey.shape not in self._overlaps:
            # A driver keeps to one size.
            self._overlaps.clear()
            self._overlaps[grey.shape[0], grey.shape[1]] = (
                overlaps(grey.shape[0], self._size[0]),
                overlaps(grey.shape[1], self._size[1]),
            )
        rows, columns = self._overlaps[grey.shape[0], grey.shape[1]]
        values: Floats = (rows @ grey @ columns.T).ravel()
        return values


def overlaps(pixels: int, boxes: int) -> Floats:
    """Return what each of the pixels adds to the mean of each of fewer boxes: (boxes, pixels)."""
    edges = np.linspace(0.0, pixels, boxes + 1)
    first = np.arange(pixels)
    end = np.minimum(edges[1:, None], first + 1.0)
    shared = np.maximum(end - np.maximum(edges[:-1, None], first), 0.0)
    weights: Floats = shared * (boxes / pixels)
    return weights


def _pixels(
    data: np.ndarray, encoding: Encoding, layout: tuple[int, int, int], order: str
) -> np.ndarray:
    """Return the (height, width, colours) pixels; rows may be padded to a longer step."""
    height, width, step = layout
    row = width * encoding.channels * encoding.depth
    if not row or step < row or len(data) < step * (height - 1) + row:
        msg = (
            f'an image of {width} x {height} pixels with {step} bytes a row cannot be in '
            f'{len(data)} bytes'
        )
        raise InputError(msg)
    strides = step, encoding.channels * encoding.depth, encoding.depth
    pixels: np.ndarray = np.ndarray(
        (height, width, len(encoding.weights)),
        f'{order}u{encoding.depth}',
        np.ascontiguousarray(data),
        strides=strides,
    )
    return pixels


class _Reader:
    """Reads numbers and texts one after the other; each is aligned to its own size."""

    def __init__(self, raw: bytes, order: str) -> None:
        self._raw = raw
        self._order = order
        self.at = _START

    def numbers(self, kinds: str) -> tuple[int, ...]:
        layout = Struct(self._order + kinds)
        size = Struct(self._order + kinds[0]).size
        self.at += -(self.at - _START) % size
        found = layout.unpack_from(self._raw, self.at)
        self.at += layout.size
        return found

    def text(self) -> str:
        (length,) = self.numbers('I')
        begin = self.at
        self.at += length
        return self._raw[begin : self.at - 1].decode('utf-8', 'replace')
