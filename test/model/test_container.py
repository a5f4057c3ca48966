# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A container is written whole or not at all, and read only if nothing in it is wrong."""

import io
import itertools
import json
import os
from pathlib import Path
import re
import stat
import struct
import time
from typing import Any
import warnings
import zipfile

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model import container
from two_manifold_ros.model.container import read_container, write_container

HEADER: dict[str, Any] = {'name': 'thing', 'numbers': [1, 2.5, None], 'nested': {'yes': True}}
ARRAYS: dict[str, Any] = {
    'reals': np.random.default_rng(0).normal(size=(40, 7)),
    'whole': np.arange(5),
    'flags': np.array([True, False]),
    'nothing': np.zeros((0, 3)),
    'unknown': np.array([np.nan, 1.0]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / 'model.npz'
    write_container(target, HEADER, ARRAYS)
    return target


def refusal(path: Path, **options: int) -> str:
    """Return the one sentence, naming the file, with which it is refused."""
    with pytest.raises(InputError) as caught:
        read_container(path, **options)
    message = str(caught.value)
    assert message.startswith(f'{path}: ')
    assert '\n' not in message
    return message


def claiming(shape: tuple[int, ...], kind: object = '<f8') -> bytes:
    """Return the head of an array of a shape, and no content."""
    buffer = io.BytesIO()
    described = {'descr': kind, 'fortran_order': False, 'shape': shape}
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue()


def rewrite(path: Path, **changed: object) -> None:
    """Write the members of a container again, some of them changed."""
    with np.load(path) as archive:
        arrays = dict(archive)
    with path.open('wb') as file:
        np.savez(file, **arrays | changed)


def test_what_is_written_is_read(path):
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644
    header, arrays = read_container(path)
    assert header == HEADER
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_the_same_content_gives_the_same_bytes_on_any_day(path, tmp_path, monkeypatch):
    monkeypatch.setattr(time, 'time', lambda: 2e9)
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '1900000000')
    write_container(tmp_path / 'again', dict(reversed(HEADER.items())), ARRAYS)
    assert (tmp_path / 'again').read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ('name', 'array'),
    [
        ('thing', np.array([{}])),
        ('thing', np.array([1, None])),
        ('thing', np.array(['text'])),
        ('thing', np.array([1j])),
        ('thing', np.array([(1, {})], dtype=[('a', int), ('b', object)])),
        ('header', np.zeros(3)),
    ],
    ids=['dictionary', 'nothing', 'text', 'complex', 'record', 'taken name'],
)
def test_what_could_not_be_read_is_not_written(name, array, path):
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r'thing holds .*, which is no kind of number|named header'
    ):
        write_container(path, HEADER, {'reals': ARRAYS['reals'], name: array})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_file_and_folder_are_on_the_disk_in_this_order(path, monkeypatch):
    """Bytes before the new name can be seen, the name before the call returns."""
    before = path.read_bytes()
    seen: list[tuple[bool, bool]] = []

    def note(handle: int) -> None:
        seen.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.read_bytes() == before))

    monkeypatch.setattr(os, 'fsync', note)
    write_container(path, {'other': 1}, {})
    assert seen == [(False, True), (True, False)]


@pytest.mark.parametrize('error', [OSError(28, 'No space left on device'), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(error, path, monkeypatch):
    before = path.read_bytes()

    def fail(file: io.BufferedWriter, _: object) -> None:
        file.write(b'half of it')
        raise error

    monkeypatch.setattr(container, '_write_members', fail)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        write_container(path, {'other': 1}, {})
    if isinstance(error, OSError):
        assert str(caught.value).startswith(f'{path}: the model cannot be written (No space left')
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize('share', [0.0, 0.001, 0.3, 0.9999])
def test_a_truncated_file(share, path):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    said = 'the model is refused: it is damaged or no model file; copy it again or train again'
    assert said in refusal(path)


def test_a_flipped_bit_is_refused_or_harmless(path):
    """A bit in every seventh byte; what is read nevertheless is what was written."""
    content = path.read_bytes()
    bits = np.random.default_rng(0).integers(0, 8, size=len(content))
    harmless = 0
    for place in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(bits[place])
        path.write_bytes(flipped)
        try:
            header, arrays = read_container(path)
        except InputError:
            continue
        harmless += 1
        assert header == HEADER
        assert {name: array.tobytes() for name, array in arrays.items()} == {
            name: array.tobytes() for name, array in ARRAYS.items()
        }
    assert harmless < len(content) // 10


class Trap:
    """An object that does something when it is unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[Any, ...]:
        return setattr, (Trap, 'sprung', True)


@pytest.mark.parametrize('name', ['header', 'reals'])
def test_pickled_objects_are_never_loaded(name, path):
    rewrite(path, **{name: np.array([Trap()], dtype=object)})
    assert 'it holds pickled objects, which are never read' in refusal(path)
    assert not Trap.sprung


@pytest.mark.parametrize(
    ('content', 'cause'),
    [
        (claiming((10**14,)), 'it holds an array of the shape (100000000000000,) in'),
        (claiming((2**70,)), 'it holds an array of the shape'),
        (claiming((0, 10**14)), 'it holds an array of the shape (0, 100000000000000) in'),
        (claiming((-3,)), 'it holds an array of the shape (-3,) in'),
        (claiming((40,)), 'it holds an array of the shape (40,) in 0 bytes'),
        (claiming((10**9,), '<V0'), 'it holds |V0, which is no kind of number'),
        (claiming((10**9,), '<U0'), 'it holds <U0, which is no kind of number'),
        (claiming((0,), [('a', '<f8')]), "it holds [('a', '<f8')], which is no kind of number"),
        (claiming((0,), '<c16'), 'it holds complex128, which is no kind of number'),
        (b'\x93NUMPY\x01\x00\x10\x00' + 15 * b'(' + b'\n', 'it is damaged'),
        (b'no array', 'it is damaged'),
        (b'', 'it is damaged'),
    ],
)
def test_members_that_lie_about_themselves(content, cause, tmp_path):
    with zipfile.ZipFile(tmp_path / 'lies', 'w') as archive:
        archive.writestr('header.npy', content)
    assert cause in refusal(tmp_path / 'lies')


def test_what_is_no_list_of_plain_arrays_is_refused_before_it_is_read(tmp_path, monkeypatch):
    for compression, names, cause in (
        (zipfile.ZIP_DEFLATED, ['header.npy'], 'its members are compressed'),
        (zipfile.ZIP_STORED, ['inner.npz'], 'it holds something else than arrays'),
        (zipfile.ZIP_STORED, ['header.npy'] * 2, 'it holds two members of one name'),
    ):
        with zipfile.ZipFile(tmp_path / 'bomb', 'w', compression) as archive:
            for name in names:
                with warnings.catch_warnings(action='ignore'):
                    archive.writestr(name, bytes(2 * 10**6))
        with monkeypatch.context() as patch:
            patch.setattr(zipfile.ZipFile, 'open', lambda *_, **__: pytest.fail('unpacked'))
            assert cause in refusal(tmp_path / 'bomb')


def test_members_that_share_their_bytes_are_refused(path):
    """A list of members that points again and again to the largest one."""
    content = path.read_bytes()
    begin = content.index(b'PK\x01\x02')
    ends = [*(each.start() for each in re.finditer(b'PK\x01\x02', content)), len(content) - 22]
    entry = max(
        (content[a:b] for a, b in itertools.pairwise(ends)),
        key=lambda each: int.from_bytes(each[24:28], 'little'),
    )
    listed = b''.join(entry.replace(b'reals', f'{n:05d}'.encode()) for n in range(2000))
    path.write_bytes(content[:begin] + listed + end_of(listed, begin))
    assert 'its members declare 4' in refusal(path)
    assert 'bytes, more than the' in refusal(path)


def test_a_long_list_of_members_is_not_read(path, monkeypatch):
    monkeypatch.setattr(zipfile, 'ZipFile', lambda *_: pytest.fail('it was read'))
    content = path.read_bytes()
    path.write_bytes(content[:-22] + end_of(bytes(2_000_000), 0))
    assert 'it lists members in 2000000 bytes, more than 1000000' in refusal(path)
    # The same list announced where larger archives do.
    path.write_bytes(content[:-42] + b'PK\x06\x07' + bytes(16) + content[-22:])
    assert 'it is damaged' in refusal(path)


def test_a_file_too_large_is_not_read(path, monkeypatch):
    monkeypatch.setattr(zipfile, 'ZipFile', lambda *_: pytest.fail('it was read'))
    assert f'it has {path.stat().st_size} bytes, more than 1000' in refusal(path, most_bytes=1000)


def end_of(listed: bytes, begin: int) -> bytes:
    """Return the end of an archive with a list of members."""
    return struct.pack('<4s4xHHIIH', b'PK\x05\x06', 2000, 2000, len(listed), begin, 0)


@pytest.mark.parametrize(
    ('written', 'cause'),
    [
        (
            '{"content": ' + 60 * '[' + 60 * ']' + ', "sha256": ""}',
            'it is nested too deeply',
        ),
        ('[' * 100_000, 'it is nested too deeply'),
        ('{"content": {}, "content": {}}', 'it names something twice'),
        ('{"content": {"a": 1' + 5000 * '0' + '}}', 'it holds a whole number that no'),
        ('{"content": {"a": 9223372036854775808}}', 'it holds a whole number that no'),
        ('"text"', 'its header is no table'),
        ('\udcff', 'it is damaged'),
        (4_000_001 * ' ', 'its header has 4000001 bytes'),
    ],
    ids=['deep', 'deeper', 'twice', 'long number', 'large number', 'no table', 'no text', 'long'],
)
def test_headers_that_are_a_trap(written, cause, path):
    head = np.frombuffer(written.encode(errors='surrogateescape'), dtype=np.uint8)
    rewrite(path, header=head)
    assert cause in refusal(path)


@pytest.mark.parametrize('changed', ['header', 'whole'])
def test_changed_content_does_not_match_the_checksum(changed, path):
    with np.load(path) as archive:
        sealed = json.loads(archive['header'].tobytes())
    sealed['content']['name'] = 'another' if changed == 'header' else HEADER['name']
    text = np.frombuffer(json.dumps(sealed).encode(), dtype=np.uint8)
    rewrite(path, header=text, whole=ARRAYS['whole'] + (changed == 'whole'))
    assert 'its checksum does not match its content' in refusal(path)
