# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Serialised images without ROS."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def raw_image(
    pixels: np.ndarray,
    encoding: str,
    *,
    frame: str = 'cam',
    padding: int = 0,
    bigendian: bool = False,
    order: str = '<',
    stamp_ns: int = 5_000_000_007,
) -> bytes:
    """Return a serialised image of (height, width, colours) pixels."""
    height, width = pixels.shape[:2]
    stored = pixels.astype(pixels.dtype.newbyteorder('>' if bigendian else '<'))
    rows = [stored[row].tobytes() + b'\xee' * padding for row in range(height)]
    data = b''.join(rows)
    out = b'\x00\x01\x00\x00' if order == '<' else b'\x00\x00\x00\x00'

    def align(text: bytes) -> bytes:
        return text + b'\x00' * (-len(text) % 4)

    out += struct.pack(f'{order}iII', *divmod(stamp_ns, 10**9), len(frame) + 1)
    out = align(out + frame.encode() + b'\x00')
    out += struct.pack(f'{order}III', height, width, len(encoding) + 1)
    out += encoding.encode() + b'\x00' + struct.pack('B', bigendian)
    return align(out) + struct.pack(f'{order}II', len(rows[0]), len(data)) + data
