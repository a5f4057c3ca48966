# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the ``metadata.yaml`` of a bag says of its files."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TYPE_CHECKING

from ruamel.yaml import YAML

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

METADATA = 'metadata.yaml'

LARGEST = 1_000_000
"""Bytes; it has some 200 for each file of a split bag."""

MOST_PARSED, MOST_BRACKETS = 64_000, 100
"""
Characters that are left to parse, some 30 for each file, which takes less than a second, and
brackets among them: within each other they would take much longer.
"""

_NOT_NEEDED = re.compile(
    r'^  (?:files|topics_with_message_count):\n(?:(?:   |  -).*\n)+', re.MULTILINE
)
"""What it says of each file and topic, as recorders write it: nearly all of a long one."""


class Metadata(NamedTuple):
    """
    What is said of a bag.

    Parameters
    ----------
    names
        Of its files in the order of recording, each without a folder: nothing else is read.
    messages
        How many it holds, if it is said.
    seconds
        From the first to the last, if it is said.

    """

    names: list[str]
    messages: int | None
    seconds: float | None


def read_metadata(path: Path) -> Metadata:
    """
    Read a ``metadata.yaml``.

    Raises
    ------
    InputError
        If it is damaged, or lists no files.

    """
    try:
        information = _information(path)
        paths = information['relative_file_paths']
        # Before version 4 the paths began with the folder's name.
        names = [_text(each).rsplit('/', 1)[-1] for each in paths]
    # On foreign bytes a reader of YAML raises almost anything, RecursionError too.
    except Exception as error:
        msg = (
            f'{path} is damaged: remove it, the bag is then read without it; or read it with '
            f'--salvage.'
        )
        raise InputError(msg) from error
    if not names:
        msg = f'{path} lists no files, so the recording is empty: choose another bag.'
        raise InputError(msg)
    duration = information.get('duration')
    nanoseconds = duration.get('nanoseconds') if isinstance(duration, dict) else None
    messages = information.get('message_count')
    return Metadata(
        names,
        messages if isinstance(messages, int) else None,
        nanoseconds / 1e9 if isinstance(nanoseconds, int) else None,
    )


def _information(path: Path) -> dict[str, Any]:
    if path.stat().st_size > LARGEST:
        msg = f'it has more than {LARGEST} bytes'
        raise ValueError(msg)
    text = _NOT_NEEDED.sub('', path.read_text('utf-8'))
    if len(text) > MOST_PARSED or text.count('[') + text.count('{') > MOST_BRACKETS:
        msg = f'more than {MOST_PARSED} characters or {MOST_BRACKETS} brackets are to be parsed'
        raise ValueError(msg)
    reader = YAML(typ='safe')
    # It would print some lines for each name that is given twice.
    reader.composer.warn_double_anchors = False
    content = reader.load(text)
    information: dict[str, Any] = dict(content['rosbag2_bagfile_information'])
    return information


def _text(value: object) -> str:
    # Lists within lists may be short when written and endless when told.
    if not isinstance(value, str):
        msg = 'a path is no text'
        raise TypeError(msg)
    return value
