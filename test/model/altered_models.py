# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models whose file was altered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING, TypeAlias

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model_file import load_model

if TYPE_CHECKING:
    from pathlib import Path

Change: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], None]
"""Of a header and arrays, in place."""


def altering(source: Path, target: Path) -> Callable[[Change], Path]:
    """Return a function that writes a model with a changed header and arrays, well sealed."""

    def write(change: Change) -> Path:
        header, arrays = read_container(source)
        change(header, arrays)
        write_container(target, header, arrays)
        return target

    return write


def refusal(path: Path) -> str:
    """Return the one sentence with which a file is refused."""
    with pytest.raises(InputError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f'{path}: ')
    assert '\n' not in message
    return message
