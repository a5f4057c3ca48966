# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stamps and headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.outputs.topics import Message

NANOSECONDS = 1_000_000_000


def stamp_fields(stamp_ns: int) -> Message:
    """Return the fields of ``builtin_interfaces/Time`` or ``Duration`` for nanoseconds."""
    seconds, nanoseconds = divmod(int(stamp_ns), NANOSECONDS)
    return {'sec': seconds, 'nanosec': nanoseconds}


def header(stamp_ns: int, frame: str) -> Message:
    """Return the fields of ``std_msgs/Header``."""
    return {'stamp': stamp_fields(stamp_ns), 'frame_id': frame}
