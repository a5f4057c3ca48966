# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Save and load models; whatever does not fit is refused in one sentence."""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.head import head_arrays, head_numbers
from two_manifold_ros.model.model import (
    check_model,
    Model,
    trained_arrays,
    trained_from,
    trained_numbers,
)
from two_manifold_ros.model.route_model import (
    check_route_model,
    route_arrays,
    route_from,
    route_numbers,
    RouteModel,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from two_manifold_ros.model.head import ModelHead


class _Kind(NamedTuple):
    """A kind of model, and the versions of its form that can be read, the newest first."""

    model: type[Any]
    versions: tuple[int, ...]
    check: Callable[[Any], None]
    numbers: Callable[[Any], dict[str, Any]]
    arrays: Callable[[Any], dict[str, Any]]
    build: Callable[[dict[str, Any], dict[str, Any]], ModelHead]


FORMAT = 'two_manifold_ros model'
ROUTE_FORMAT = 'two_manifold_ros route model'
FORMER_TPSR_FORMAT = 'two_manifold_ros tpsr model'
CHECKPOINT_FORMAT = 'two_manifold_ros checkpoint'

_KINDS = {
    # What else version 6 held is refused when it is built.
    FORMAT: _Kind(Model, (8, 7, 6), check_model, trained_numbers, trained_arrays, trained_from),
    ROUTE_FORMAT: _Kind(
        RouteModel, (10,), check_route_model, route_numbers, route_arrays, route_from
    ),
}


def save_model(model: ModelHead, path: str | Path) -> None:
    """
    Write a model of any kind atomically.

    Raises
    ------
    InputError
        If the folder cannot be written, or the model could not be loaded again.

    """
    write_container(path, *model_parts(model))


def model_parts(model: ModelHead) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """
    Return the JSON header and the arrays of which `model_from` makes the model again.

    Raises
    ------
    InputError
        If it could not.

    """
    name, kind = next(each for each in _KINDS.items() if isinstance(model, each[1].model))
    kind.check(model)
    header = (
        {'format': name, 'version': kind.versions[0]} | head_numbers(model) | kind.numbers(model)
    )
    return header, head_arrays(model) | kind.arrays(model)


def load_model(path: str | Path) -> ModelHead:
    """
    Read a model of any kind and check that it can be filtered with.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another version, or its content does not fit together.

    """
    return model_from(path, *read_container(path))


def model_from(
    path: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> ModelHead:
    """
    Return the model of what was read from a file, if it can be filtered with.

    Raises
    ------
    InputError
        If it is of another version, or does not fit together.

    """
    form = str(header.get('format'))
    kind = _KINDS.get(form)
    if form.startswith(CHECKPOINT_FORMAT):
        msg = (
            f'{path}: this is a checkpoint of updater_node and not a model; that node goes on '
            'from it where it finds it in its checkpoint_folder'
        )
        raise InputError(msg)
    if form == FORMER_TPSR_FORMAT:
        msg = (
            f'{path}: the model is a TPSR of an earlier version of this program; let updater_node '
            'learn it anew, or train it with "two-manifold train --method tpsr"'
        )
        raise InputError(msg)
    if kind is None:
        msg = f'{path}: this is not a {FORMAT}; train one with "two-manifold train"'
        raise InputError(msg)
    if header.get('version') not in kind.versions:
        msg = (
            f'{path}: the model has version {ascii(header.get("version"))[:40]}, but this program '
            f'reads version {kind.versions[0]}; train it anew'
        )
        raise InputError(msg)
    try:
        model = kind.build(header, arrays)
        kind.check(model)
    except InputError as error:
        msg = f'{path}: {error}'
        raise InputError(msg) from error
    # Values of any type and arrays of any shape make Python and NumPy raise almost anything.
    except Exception as error:
        # Of what stands in the file only so much that the sentence stays one.
        told = ' '.join(str(error).split())[:200]
        msg = (
            f'{path}: the model is refused: its content does not fit together ({told}); train it '
            'anew'
        )
        raise InputError(msg) from error
    return model


def header_of(path: str | Path) -> dict[str, Any]:
    """Return the JSON header of a model file after the same checks as ``load_model``."""
    header, arrays = read_container(path)
    model_from(path, header, arrays)
    return header
