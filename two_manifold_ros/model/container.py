# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A safe container of named arrays and a JSON header, written atomically.

The file is an ``.npz`` whose member ``header`` holds JSON as bytes. Reading never unpickles, takes
no more memory than the file's own size warrants, see `members` and `json_header`, and checks a
SHA-256 over the header and all arrays.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path
import tempfile
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.json_header import parse_header
from two_manifold_ros.model.members import read_members, write_members
from two_manifold_ros.model.refusing import UnfitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def write_container(
    path: str | Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    what: str = 'model',
) -> None:
    """
    Write a container to a temporary file beside its path and rename it.

    On return it outlives a power cut; one before that leaves what was there under this path.

    Parameters
    ----------
    path
        Of the file.
    header
        JSON values only, all numbers finite.
    arrays
        By name.
    what
        What it is, in the message of an error.

    Raises
    ------
    InputError
        If the folder cannot be written.
    ValueError
        If an array is none of numbers, or has the name of the header.

    """
    if 'header' in arrays:
        msg = 'an array is named header, as the header is'
        raise ValueError(msg)
    target = Path(path)
    text = json.dumps(dict(header), sort_keys=True, allow_nan=False)
    sealed = {'content': json.loads(text), 'sha256': _checksum(text, arrays)}
    head = np.frombuffer(json.dumps(sealed, sort_keys=True).encode(), dtype=np.uint8)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f'.{target.name}.')
        temporary = Path(name)
        with os.fdopen(handle, 'wb') as file:
            write_members(file, {'header': head, **arrays})
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
        _settle(target.parent)
    except OSError as error:
        msg = f'{target}: the {what} cannot be written ({error.strerror}); choose another folder'
        raise InputError(msg) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Write the names in a folder to the disk: a power cut could take back the renaming."""
    if not hasattr(os, 'O_DIRECTORY'):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems over a network cannot do that.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def read_container(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """
    Read a container.

    Raises
    ------
    InputError
        If the file is missing, is no container, is damaged or holds pickled objects.

    """
    source = Path(path)
    if source.is_dir():
        msg = f'{source}: this is a folder (a bag?), not a model file; name what "train" wrote'
        raise InputError(msg)
    if not source.is_file():
        msg = (
            f'{source}: there is no such model file; check the path, or train one with '
            f'"two-manifold train"'
        )
        raise InputError(msg)
    try:
        arrays = read_members(source)
        sealed = parse_header(arrays.pop('header').tobytes())
        content, expected = dict(sealed['content']), sealed['sha256']
        text = json.dumps(content, sort_keys=True, allow_nan=False)
    # On bad bytes zipfile and NumPy raise a dozen kinds, MemoryError and TokenError too.
    except Exception as error:
        raise _refusal(source, _cause(error)) from error
    if expected != _checksum(text, arrays):
        raise _refusal(source, 'its checksum does not match its content')
    return content, arrays


def _refusal(source: Path, cause: str) -> InputError:
    return InputError(f'{source}: the model is refused: {cause}; copy or train it anew')


def _cause(error: Exception) -> str:
    """Return what our own checks say, and one sentence for all that libraries do."""
    return str(error) if isinstance(error, UnfitError) else 'it is damaged or no model file'


def _checksum(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f'{name} {array.dtype.str} {array.shape}'.encode())
        digest.update(array.data)
    return digest.hexdigest()
