# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Named arrays into an ``.npz`` file, and out of one by anybody with no memory taken on its word.

Only what ``np.savez`` writes of plain numbers is read: members that are stored as they are, so
that all of them together are no larger than the file. Names are keys, never paths.
"""

from __future__ import annotations

import math
from typing import Any, IO, TYPE_CHECKING
import zipfile

import numpy as np

from two_manifold_ros.model.refusing import UnfitError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

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
