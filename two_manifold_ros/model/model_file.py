# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Save and load models; whatever does not fit is refused in one sentence."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.checks import check_model
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.head_form import head_arrays, head_numbers
from two_manifold_ros.model.trained_form import trained_arrays, trained_from, trained_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.model.model import Model

FORMAT = 'two_manifold_ros model'
VERSION = 4


def save_model(model: Model, path: str | Path) -> None:
    """
    Write a model atomically.

    Raises
    ------
    InputError
        If the folder cannot be written, or the model could not be loaded again.

    """
    check_model(model)
    header: dict[str, Any] = {'format': FORMAT, 'version': VERSION}
    header |= head_numbers(model) | trained_numbers(model)
    write_container(path, header, head_arrays(model) | trained_arrays(model))


def load_model(path: str | Path) -> Model:
    """
    Read a model and check that it can be filtered with.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another version, or its content does not fit together.

    """
    header, arrays = read_container(path)
    if header.get('format') != FORMAT:
        msg = f'{path}: this is not a {FORMAT}; train one with "two-manifold train"'
        raise InputError(msg)
    if header.get('version') != VERSION:
        msg = (
            f'{path}: the model has version {header.get("version")}, but this program reads '
            f'version {VERSION}; train it anew'
        )
        raise InputError(msg)
    try:
        model = trained_from(header, arrays)
        check_model(model)
    except InputError as error:
        msg = f'{path}: {error}'
        raise InputError(msg) from error
    except (KeyError, TypeError, ValueError, IndexError) as error:
        msg = (
            f'{path}: the model is refused: its content does not fit together ({error}); train it '
            'anew'
        )
        raise InputError(msg) from error
    return model


def header_of(path: str | Path) -> dict[str, Any]:
    """Return the JSON header of a model file after the same checks as ``load_model``."""
    load_model(path)
    header, _ = read_container(path)
    return header
