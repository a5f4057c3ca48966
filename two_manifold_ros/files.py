# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files: written whole or not at all, and read no further than a file of their kind can go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
import json
import math
import os
from pathlib import Path
import secrets
import stat
from typing import Any, IO

from two_manifold_ros.errors import InputError, of_system, refuse, UnfitError

DEEPEST = 50
"""Tables within tables of JSON; another reader perhaps could not follow more."""

MOST_READ = 4_000_000
"""Bytes of a small file: of a vehicle a thousand, of an hour of marks every second 80,000."""

MOST_KEPT = 200_000_000
"""Bytes of a journal: of 50,000 bags."""

MOST_LOGGED = 2_000_000_000
"""Bytes of a file of a logger, which is read into memory: of days."""

LONGEST = 40
"""Digits of a whole number, which has 19 at most, and of a number in a sentence."""


def replace_file(
    path: str | Path, write: Callable[[IO[bytes]], object], what: str, mode: int | None = None
) -> None:
    """
    Write a file to a temporary one beside its path and rename it.

    After the return it survives a power cut, if the file system can write the names in a folder
    to the disk; whatever goes wrong before leaves the old file in place. A link stays one, and a
    device or a pipe is written to as it is. ``write`` gets the temporary file, and ``what``
    is a noun for the content. The file gets the permissions ``mode``, or those of the old file, or
    the usual ones. ``InputError`` says that it cannot be written.
    """
    temporary: Path | None = None
    try:
        # Kind and permissions of the old file, 0 if there is none.
        old = 0
        with suppress(FileNotFoundError):
            old = Path(path).stat().st_mode
        if old and not (stat.S_ISREG(old) or stat.S_ISDIR(old)):
            with Path(path).open('wb') as file:
                write(file)
            return
        target = Path(os.path.realpath(path))
        # A part of the name, which may be as long as names can be.
        beside = target.with_name(f'.{target.name[:60]}.{secrets.token_hex(4)}')
        with beside.open('xb') as file:
            temporary = beside
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None or old:
            temporary.chmod(stat.S_IMODE(old) if mode is None else mode)
        temporary.replace(target)
        # Before that a power cut could undo the renaming; not every file system can.
        with suppress(OSError):
            handle = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    except OSError as error:
        said = f'the {what} cannot be written'
        raise of_system(path, said, error, 'choose another folder') from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def replace_text(path: str | Path, parts: Iterable[str], what: str) -> None:
    """Write a text, its parts one after the other, as `replace_file` does."""
    replace_file(path, lambda file: file.writelines(part.encode() for part in parts), what)


@contextmanager
def checked(path: str | Path, what: str, cure: str) -> Iterator[None]:
    """Raise one ``InputError`` for whatever is wrong with a file, a ``what``, with the cure."""
    try:
        yield
    except OSError as error:
        raise of_system(path, f'the {what} cannot be read', error, cure) from error
    except UnfitError as error:
        raise InputError(f'{path}: the {what} is refused: {error}; {cure}') from error


def read_bytes(path: str | Path, most: int) -> bytes:
    """
    Return the content of a regular file, of ``most`` bytes at most.

    ``UnfitError`` says that it is larger, or a pipe or device, of which reading may never end.
    """
    # Not blocking, as opening a pipe waits for whoever writes into it.
    with open(path, 'rb', opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            refuse('it is no regular file')
        # It may grow meanwhile. As many bytes as are asked for are taken of the memory at once.
        wanted = min(2 * state.st_size + MOST_READ, most + 1)
        content = b'' if state.st_size > most else file.read(wanted)
    if max(state.st_size, len(content)) > most:
        refuse(f'it has more than {most} bytes')
    return content


def read_text(path: str | Path, most: int = MOST_READ) -> str:
    """Return the text of a file as `read_bytes` reads it, or refuse what is none."""
    return text_of(read_bytes(path, most))


def text_of(content: bytes) -> str:
    """Return the text in UTF-8, UTF-16 with its mark, or Windows' 1252, or refuse what is none."""
    try:
        # Spreadsheets write "Unicode text" in pairs of bytes.
        pairs = content.startswith((b'\xff\xfe', b'\xfe\xff'))
        text = content.decode('utf-16' if pairs else 'utf-8-sig')
    except UnicodeDecodeError:
        # Loggers from before write signs such as those of degrees so.
        text = content.decode('cp1252', 'replace')
    if '\0' in text:
        refuse('it is no text')
    return text


def parse_json(text: str, *, unknown: bool = False) -> Any:  # noqa: ANN401 - any value
    """
    Return the value in a JSON text that another program may have written.

    ``NaN`` may stand for an ``unknown`` number. ``UnfitError`` says that it is none, or has
    numbers that are not finite or fit no array, tables that name something twice, or more than
    ``DEEPEST`` of them within each other.
    """

    def real(digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number) and not (unknown and digits == 'NaN'):
            refuse(f'it holds {digits[:LONGEST]}, which is no finite number')
        return number

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            refuse('it names something twice')
        return dict(pairs)

    try:
        value = json.loads(
            text, object_pairs_hook=table, parse_int=_whole, parse_float=real, parse_constant=real
        )
    except UnfitError:
        raise
    except (RecursionError, ValueError) as error:
        deep = isinstance(error, RecursionError)
        refuse('it is nested too deeply' if deep else 'it is no JSON')
    _check_depth(value)
    return value


def numbers_in(content: object, name: str, count: int) -> list[float]:
    """Return the numbers under a name in a JSON value, or refuse what is there."""
    values = content.get(name) if isinstance(content, dict) else None
    if (
        not isinstance(values, list)
        or len(values) != count
        or not {int, float}.issuperset(map(type, values))
    ):
        refuse(f'{name} are not {count} numbers')
    return list(map(float, values))


def _whole(digits: str) -> int:
    # Longer ones take long to parse.
    number = int(digits) if len(digits) < LONGEST else 2**63
    if not -(2**63) <= number < 2**63:
        refuse('it holds a whole number that no array can hold')
    return number


def _check_depth(part: object, left: int = DEEPEST) -> None:
    if not left:
        refuse('it is nested too deeply')
    if isinstance(part, (dict, list)):
        for each in part.values() if isinstance(part, dict) else part:
            _check_depth(each, left - 1)
