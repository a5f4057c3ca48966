# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Images as a driver sends them."""

from types import SimpleNamespace

import numpy as np


def make_image(
    pixels: np.ndarray,
    encoding: str,
    *,
    frame: str = 'cam',
    padding: int = 0,
    bigendian: bool = False,
    stamp_ns: int = 5_000_000_007,
) -> SimpleNamespace:
    """Return (height, width, colours) pixels with the fields of ``sensor_msgs/Image``."""
    height, width = pixels.shape[:2]
    stored = pixels.astype(pixels.dtype.newbyteorder('>' if bigendian else '<'))
    rows = [row.tobytes() + b'\xee' * padding for row in stored]
    seconds, nanoseconds = divmod(stamp_ns, 10**9)
    stamp = SimpleNamespace(sec=seconds, nanosec=nanoseconds)
    return SimpleNamespace(
        header=SimpleNamespace(stamp=stamp, frame_id=frame),
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=int(bigendian),
        step=len(rows[0]),
        data=b''.join(rows),
    )
