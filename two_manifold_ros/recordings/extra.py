# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What to say when `rosbags`, which a robot does not need, is missing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def rosbags_wanted() -> Iterator[None]:
    """
    Guard imports of `rosbags`.

    Raises
    ------
    InputError
        If the library is missing; the sentence says how to install it.

    """
    try:
        yield
    except ModuleNotFoundError as error:
        msg = (
            f'Bags cannot be read or written because the Python package {error.name!r} is '
            f"missing: install the offline extra with pip install 'two_manifold_ros[train]'."
        )
        raise InputError(msg) from error
