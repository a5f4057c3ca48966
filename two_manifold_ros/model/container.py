# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A container of named arrays and a JSON header that is safe to read and written atomically.

The file is an uncompressed ``.npz`` whose member ``header`` holds JSON as bytes, with a SHA-256
over header and arrays. Reading never unpickles, takes names as keys and never as paths, and takes
no more memory than the size of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, IO, NamedTuple, TYPE_CHECKING
import zipfile

import numpy as np

from two_manifold_ros.errors import InputError, refuse, UnfitError
from two_manifold_ros.files import checked, parse_json, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_SUFFIX = '.npy'


class Limits(NamedTuple):
    """
    Sizes, bytes, beyond which a file is refused; models and checkpoints have less than a tenth.

    The JSON of a header takes thirty times as much when it is parsed, the list of members twenty.
    """

    file: int = 2_000_000_000
    header: int = 4_000_000
    directory: int = 1_000_000


LIMITS = Limits()
_NUMBERS = 'biuf'
_LOCATOR, _END = 20, 22
"""Bytes of the last two records of a zip file."""


def refusal(path: str | Path, error: Exception, otherwise: str) -> InputError:
    """Return the sentence that refuses a model: for an own cause, or ``otherwise`` a library's."""
    cause = error if isinstance(error, UnfitError) else otherwise
    return InputError(f'{path}: the model is refused: {cause}; copy it again or train again')


def write_container(
    path: str | Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    what: str = 'model',
) -> None:
    """
    Write a container as `replace_file` does; an ``InputError`` says that it cannot be written.

    All numbers of the header are finite, and the arrays hold numbers under any name but
    ``header``, or a ``ValueError`` says so.
    """
    for name, array in arrays.items():
        if name == 'header' or array.dtype.kind not in _NUMBERS:
            msg = f'{name} holds {array.dtype}: it is no kind of number, or named as the header'
            raise ValueError(msg)
    text = json.dumps(dict(header), sort_keys=True, allow_nan=False)
    sealed = {'content': json.loads(text), 'sha256': _checksum(text, arrays)}
    head = np.frombuffer(json.dumps(sealed, sort_keys=True).encode(), dtype=np.uint8)

    def write(stream: IO[bytes]) -> None:
        # As ``np.savez`` does, which before NumPy 2.2 reserves some names.
        with zipfile.ZipFile(stream, 'w') as archive:
            for name, array in {'header': head, **arrays}.items():
                # A ZipInfo without a date is dated 1980: the same content gives the same bytes.
                with archive.open(zipfile.ZipInfo(name + _SUFFIX), 'w', force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)

    replace_file(path, write, what, 0o644)


def read_container(
    path: str | Path, most_bytes: int = LIMITS.file
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays of a container; an ``InputError`` says why it is refused."""
    source = Path(path)
    with checked(source, 'model', 'check the path, and the permissions of its folder'):
        is_folder, is_file = source.is_dir(), source.is_file()
    if not is_file:
        msg = (
            f'{source}: this is a folder (a bag?), not a model file; name what "train" wrote'
            if is_folder
            else f'{source}: there is no such model file; check the path, or train one with '
            '"two-manifold train"'
        )
        raise InputError(msg)
    try:
        arrays = _read_members(source, most_bytes)
        raw = arrays.pop('header').tobytes()
        if len(raw) > LIMITS.header:
            refuse(f'its header has {len(raw)} bytes, more than {LIMITS.header}')
        sealed = parse_json(raw.decode())
        if not isinstance(sealed, dict):
            refuse('its header is no table')
        content = dict(sealed['content'])
        text = json.dumps(content, sort_keys=True, allow_nan=False)
        if sealed['sha256'] != _checksum(text, arrays):
            refuse('its checksum does not match its content')
    # On bad bytes zipfile and NumPy raise a dozen kinds, MemoryError and TokenError too.
    except Exception as error:
        raise refusal(source, error, 'it is damaged or no model file') from error
    return content, arrays


def _read_members(path: Path, most_bytes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name; together they are no larger than the file."""
    with path.open('rb') as stream:
        size = stream.seek(0, 2)
        if size > most_bytes:
            refuse(f'it has {size} bytes, more than {most_bytes}')
        stream.seek(max(0, size - _END - _LOCATOR))
        tail = stream.read().rjust(_END + _LOCATOR)
        # A larger list would be announced by a locator before the end, or after a comment.
        if tail[_LOCATOR : _LOCATOR + 4] != b'PK\x05\x06' or tail[:4] == b'PK\x06\x07':
            refuse('it is damaged or no model file')
        length = int.from_bytes(tail[_LOCATOR + 12 : _LOCATOR + 16], 'little')
        if length > LIMITS.directory:
            refuse(f'it lists members in {length} bytes, more than {LIMITS.directory}')
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if len(set(names)) != len(names):
                refuse('it holds two members of one name')
            if not all(name.endswith(_SUFFIX) for name in names):
                refuse('it holds something else than arrays')
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                refuse('its members are compressed, which this program never does')
            declared = sum(member.file_size for member in members)
            if declared > size:
                refuse(f'its members declare {declared} bytes, more than the {size} of the file')
            return {name.removesuffix(_SUFFIX): _read_array(archive, name, size) for name in names}


def _read_array(archive: zipfile.ZipFile, name: str, size: int) -> NDArray[Any]:
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    with archive.open(name) as stream:
        shape, _, dtype = readers[np.lib.format.read_magic(stream)](stream)
        # Neither pickled objects nor texts and records, whose elements may have no size.
        if dtype.kind not in _NUMBERS:
            refuse(f'it holds {dtype}, which is no kind of number')
        content = archive.getinfo(name).file_size - stream.tell()
        # An array without elements may claim any length.
        long = not all(0 <= each <= size for each in shape)
        if long or math.prod(shape) * dtype.itemsize != content:
            refuse(f'it holds an array of the shape {shape} in {content} bytes')
        stream.seek(0)
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _checksum(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f'{name} {array.dtype.str} {array.shape}'.encode())
        digest.update(array.data)
    return digest.hexdigest()
