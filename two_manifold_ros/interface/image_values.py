# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Turn images into samples of a few grey values."""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import frame_name

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
    """Scale images down to a grid of mean brightnesses."""

    def __init__(self, width: int, height: int) -> None:
        self._size = height, width
        self._shape = (0, 0)

    def decode(self, image: Any) -> tuple[int, str, Floats]:  # noqa: ANN401 - of any library
        """
        Return stamp, frame and sample of a message with the fields of ``sensor_msgs/Image``.

        The sample is the mean brightness of each box of the grid, row by row, 0 black to 1 white;
        boxes share the pixels that lie across their borders.
        """
        height, width, step = image.height, image.width, image.step
        data = np.frombuffer(image.data, np.uint8)
        encoding = ENCODINGS.get(image.encoding)
        if encoding is None:
            msg = (
                f'images are encoded as {image.encoding[:40]!r}; let the driver or a converter '
                f'send one of {", ".join(ENCODINGS)}'
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
            f'{">" if image.is_bigendian else "<"}u{encoding.depth}',
            data,
            strides=(step, pixel, encoding.depth),
        )
        values = self._shrink(pixels @ np.array(encoding.weights) / (256**encoding.depth - 1))
        stamp = image.header.stamp
        return stamp.sec * 1_000_000_000 + stamp.nanosec, frame_name(image.header.frame_id), values

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
