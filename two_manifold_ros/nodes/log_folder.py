# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where ROS 2 writes log files, and whether it can."""

from __future__ import annotations

import os
from pathlib import Path
import tempfile


def log_trouble() -> str:
    """
    Return why no log file can be written, or an empty string.

    A node that asks ROS 2 for one nevertheless does not start.
    """
    folder = _log_folder()
    if folder is None:
        return 'No log file is written, because HOME is not set: set it, or ROS_LOG_DIR.'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return (
            f'No log file is written, because {folder} cannot be written ({error.strerror}): set '
            'ROS_LOG_DIR to a folder that can.'
        )
    return ''


def _log_folder() -> Path | None:
    """Return the folder by the rules of rcl_logging."""
    if os.environ.get('ROS_LOG_DIR'):
        return Path(os.environ['ROS_LOG_DIR']).expanduser()
    home = os.environ.get('HOME')
    if os.environ.get('ROS_HOME'):
        return Path(os.environ['ROS_HOME']).expanduser() / 'log'
    return Path(home) / '.ros' / 'log' if home else None
