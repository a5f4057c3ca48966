# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tell whether a file is the one that was read before, and unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class FileVersion(NamedTuple):
    """Which file it is, whatever the path by which it was found, and which of its contents."""

    device: int
    inode: int
    size: int
    changed_ns: int


def file_version(path: str) -> FileVersion | None:
    """Return the version of a file as it is now, ``None`` if it cannot be told."""
    try:
        found = Path(path).stat()
    # A path with a null byte is a ValueError.
    except (OSError, ValueError):
        return None
    return FileVersion(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
