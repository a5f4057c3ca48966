# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A safe container of named arrays and a JSON header, written atomically.

Only what ``np.savez`` writes of plain numbers is read: members that are stored as they are, so
that all of them together are no larger than the file. Names are keys, never paths.

The file is an ``.npz`` whose member ``header`` holds JSON as bytes. Reading never unpickles, takes
no more memory than the file's own size warrants, see `members` and `json_header`, and checks a
SHA-256 over the header and all arrays.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from pathlib import Path
import tempfile
from typing import Any, IO, TYPE_CHECKING
import zipfile

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.head import UnfitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


LARGEST_HEADER = 4_000_000
"""Bytes; when it is read, a header takes some thirty times as many."""

DEEPEST = 50
"""Tables within tables."""


def parse_header(raw: bytes) -> dict[str, Any]:
    """
    Return the table that is written in some bytes.

    Raises
    ------
    UnfitError
        If they are too many, no table, nested too deeply, name something twice, or hold a whole
        number of more than 64 bits.
    ValueError, RecursionError
        If they are no JSON.

    """
    if len(raw) > LARGEST_HEADER:
        msg = f'its header has {len(raw)} bytes, more than {LARGEST_HEADER}'
        raise UnfitError(msg)
    content = json.loads(raw.decode(), object_pairs_hook=_table, parse_int=_whole)
    if not isinstance(content, dict):
        msg = 'its header is no table'
        raise UnfitError(msg)
    _check_depth(content, DEEPEST)
    return content


def _check_depth(value: object, left: int) -> None:
    """Refuse what the parser could follow and another reader perhaps not."""
    if not left:
        msg = f'its header is nested more than {DEEPEST} deep'
        raise UnfitError(msg)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            _check_depth(part, left - 1)


def _whole(digits: str) -> int:
    number = int(digits)
    if not -(2**63) <= number < 2**63:
        msg = 'its header holds a whole number that no array can hold'
        raise UnfitError(msg)
    return number


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        msg = 'its header names something twice'
        raise UnfitError(msg)
    return table


LARGEST_FILE = 2_000_000_000
"""Bytes above which a file is refused before anything of it is read."""

LARGEST_DIRECTORY = 1_000_000
"""Bytes of the list of members, which takes some twenty times as much when it is read."""

_END = 22
_LOCATOR = 20
_SUFFIX = '.npy'
_KINDS = 'biuf'
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def write_members(stream: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """
    Write arrays as ``np.savez`` does: by any name, the same bytes every time, and never a pickle.

    NumPy before 2.2 takes the word ``allow_pickle`` of ``np.savez`` for the name of an array.

    Raises
    ------
    ValueError
        If an array is of a kind that would be refused on reading; nothing is written then.

    """
    for name, array in arrays.items():
        if array.dtype.kind not in _KINDS:
            msg = f'{name} holds {array.dtype}, which is no kind of number'
            raise ValueError(msg)
    with zipfile.ZipFile(stream, 'w') as archive:
        for name, array in arrays.items():
            # It is dated 1980 unless told otherwise. How large it gets is known too late for zip.
            member = zipfile.ZipInfo(name + _SUFFIX)
            with archive.open(member, 'w', force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read_members(path: Path) -> dict[str, NDArray[Any]]:
    """
    Return the arrays of a file by name.

    They take no more memory than the file has bytes, and are no longer in any dimension.

    Raises
    ------
    UnfitError
        Saying what is wrong with it, as the middle of a sentence.
    Exception
        Of any kind, since on foreign bytes ``zipfile`` and NumPy raise a dozen.

    """
    with path.open('rb') as stream:
        size = _check_size(stream)
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            _check_members(members, size)
            return {
                member.filename.removesuffix(_SUFFIX): _read(archive, member, size)
                for member in members
            }


def _check_size(stream: IO[bytes]) -> int:
    """Return the size of a file whose list of members is small enough to be read."""
    size = stream.seek(0, 2)
    if size > LARGEST_FILE:
        msg = f'it has {size} bytes, more than {LARGEST_FILE}'
        raise UnfitError(msg)
    stream.seek(max(0, size - _END - _LOCATOR))
    tail = stream.read().rjust(_END + _LOCATOR)
    # A larger list would be announced by a locator before the end, or after a comment.
    plain = tail[_LOCATOR : _LOCATOR + 4] == b'PK\x05\x06' and tail[:4] != b'PK\x06\x07'
    if not plain:
        msg = 'it is damaged or no model file'
        raise UnfitError(msg)
    directory = int.from_bytes(tail[_LOCATOR + 12 : _LOCATOR + 16], 'little')
    if directory > LARGEST_DIRECTORY:
        msg = f'it lists members in {directory} bytes, more than {LARGEST_DIRECTORY}'
        raise UnfitError(msg)
    return size


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        msg = 'it holds two members of one name'
        raise UnfitError(msg)
    if not all(name.endswith(_SUFFIX) for name in names):
        msg = 'it holds something else than arrays'
        raise UnfitError(msg)
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        msg = 'its members are compressed, which this program never does'
        raise UnfitError(msg)
    declared = sum(member.file_size for member in members)
    if declared > size:
        msg = f'its members declare {declared} bytes, more than the {size} of the file'
        raise UnfitError(msg)


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, size: int) -> NDArray[Any]:
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        shape, _, dtype = _HEADERS[version](stream)
        if dtype.hasobject:
            msg = 'it holds pickled objects, which are never read'
            raise UnfitError(msg)
        # Texts and records may have no size, and so be of any number.
        if dtype.kind not in _KINDS:
            msg = f'it holds {dtype}, which is no kind of number'
            raise UnfitError(msg)
        content = member.file_size - stream.tell()
        # An array without elements may be of any length for nothing.
        if min(shape, default=0) < 0 or max(shape, default=0) > size:
            msg = f'it holds an array of the shape {shape} in {size} bytes'
            raise UnfitError(msg)
        if math.prod(shape) * dtype.itemsize != content:
            msg = f'it holds an array of the shape {shape} in {content} bytes'
            raise UnfitError(msg)
        stream.seek(0)
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


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
