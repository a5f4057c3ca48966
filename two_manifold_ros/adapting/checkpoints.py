# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Checkpoints in a folder: each is written whole or not at all, and the newest readable one wins.

A file is called ``<name>.<counter>.npz``. The oldest goes only after the newest is on the disk.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
import re
from tempfile import TemporaryFile
from threading import Thread
from types import MappingProxyType
from typing import Any, IO, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.model.model_file import CHECKPOINT_FORMAT, save_model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.model.head import ModelHead


KEPT = 3
"""Newest files that are kept."""


class SnapshotFiles:
    """
    Files ``<name>.model.<number>.npz`` in a folder; a later one has a higher number.

    Parameters
    ----------
    folder
        Of the files.
    name
        Letters, digits, ``_`` and ``-``.

    Raises
    ------
    InputError
        If the name cannot be one.

    """

    def __init__(self, folder: str | Path, name: str) -> None:
        if not re.fullmatch(r'[A-Za-z0-9_-]+', name):
            msg = f'{name!r} cannot be the name of models: use letters, digits, _ and -'
            raise InputError(msg)
        self._folder = Path(folder).absolute()
        self._name = name
        self._last = 0

    def obstacle(self) -> str:
        """Make the folder if it is not there; return why nothing can be written, if so."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self._folder):
                return ''
        except OSError as error:
            return (
                f'{self._folder}: no model can be written here ({error.strerror}); make it a '
                'folder with room that may be written'
            )

    def write(self, model: ModelHead, spare: Collection[str] = ()) -> Path:
        """
        Write a model under the next number, then remove those that are too many.

        May be called from any thread, from one at a time.

        Parameters
        ----------
        model
            Of any kind.
        spare
            Paths of files that stay, because somebody runs them.

        Returns
        -------
        Path
            Absolute.

        Raises
        ------
        InputError
            If the folder is missing, full or cannot be written, or if the model could not be
            loaded again; the older files are all there.

        """
        self._clear_begun()
        paths = self._paths()
        self._last = max([self._last, *(self._number(path) for path in paths)]) + 1
        target = self._folder / f'{self._name}.model.{self._last:06d}.npz'
        save_model(model, target)
        for path in paths[: len(paths) + 1 - KEPT]:
            if str(path) not in spare:
                _remove(path)
        return target

    def _clear_begun(self) -> None:
        """Remove what somebody was writing when the power went."""
        begun = re.compile(rf'\.{self._name}\.model\.\d+\.npz\..+')
        for path in self._listed():
            if begun.fullmatch(path.name):
                _remove(path)

    def _paths(self) -> list[Path]:
        """Return the files there are, the oldest first."""
        pattern = re.compile(rf'{self._name}\.model\.\d+\.npz')
        found = [path for path in self._listed() if pattern.fullmatch(path.name)]
        return sorted(found, key=self._number)

    def _listed(self) -> list[Path]:
        try:
            return list(self._folder.iterdir())
        # Writing tells why.
        except OSError:
            return []

    @staticmethod
    def _number(path: Path) -> int:
        return int(path.name.split('.')[-2])


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        msg = f'{path}: the old model cannot be removed ({error.strerror}); remove it'
        raise InputError(msg) from error


FORMAT = f'{CHECKPOINT_FORMAT} 2'


class Checkpoints:
    """
    The last few checkpoints under one name.

    As long as the object is not closed no other, in whatever process, can have this name in this
    folder. That is how it knows that half-written files were left by somebody who is dead; they
    are removed. A folder that is not there is made. One that cannot be made or written is no
    reason to stop: there is nothing to resume from, or it can still be read; ``trouble`` says at
    once why nothing can be written, and `write` tries again.

    Parameters
    ----------
    folder
        Where they are.
    name
        Letters, digits, ``_`` and ``-``.
    identity
        What a checkpoint must agree in to be resumed, such as settings, number of channels and a
        hash of given feature maps: JSON values by name.
    keep
        How many readable ones are kept.
    words
        A sentence for names in the identity whose values would tell a reader nothing, such as a
        hash: what it means that they differ, and what to do.

    Attributes
    ----------
    skipped
        A sentence for each checkpoint that `newest` or `readable` could not read, or that was
        skipped.
    path
        Of the checkpoint that was read last, if there was one.
    trouble
        Why nothing could be written at the start; empty if it could.

    Raises
    ------
    InputError
        If the name cannot be one or is in use, or if there is a checkpoint of another identity;
        all files are left alone then.

    """

    def __init__(
        self,
        folder: str | Path,
        name: str,
        identity: Mapping[str, Any],
        keep: int = 3,
        words: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        if not re.fullmatch(r'[A-Za-z0-9_-]+', name):
            msg = f'{name!r} cannot be the name of checkpoints: use letters, digits, _ and -'
            raise InputError(msg)
        self._folder = Path(folder)
        self._name = name
        self._identity = json.loads(json.dumps(dict(identity), allow_nan=False))
        self._keep = keep
        self._words = words
        self._damaged: set[Path] = set()
        self._lock: IO[bytes] | None = None
        self.skipped: list[str] = []
        self.path: Path | None = None
        self.trouble = ''
        self._refuse_others()
        # Without a lock nothing is written, and `write` tries again.
        try:
            self._take()
        except OSError as error:
            self.trouble = self._obstacle(error)

    def close(self) -> None:
        """Leave the name to others."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def newest(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """
        Return numbers and arrays of the newest checkpoint that can be read, if there is one.

        Those that cannot are named in ``skipped``.
        """
        return next(self.readable(), None)

    def readable(self) -> Iterator[tuple[dict[str, Any], dict[str, NDArray[Any]]]]:
        """Yield numbers and arrays of each checkpoint that can be read, the newest first."""
        self.skipped.clear()
        for path in reversed(self._paths()):
            try:
                header, arrays = _read(path)
            except InputError:
                self._damaged.add(path)
                self.skipped.append(f'{path}: the checkpoint is damaged or cut off, and skipped')
                continue
            self.path = path
            yield dict(header['numbers']), arrays

    def skip(self, why: str) -> None:
        """Take the one that was read last for damaged, because of what is in it."""
        if self.path is not None:
            self._damaged.add(self.path)
            self.skipped.append(f'{self.path}: skipped, because {why}')
            self.path = None

    def write(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Path:
        """
        Write a checkpoint, then remove those that are too many.

        May be called from any thread, from one at a time; nothing may change the arrays
        meanwhile, see `CheckpointThread`.

        Parameters
        ----------
        numbers
            JSON values only, all numbers finite.
        arrays
            By name.

        Returns
        -------
        Path
            Of the new file, which outlives a power cut.

        Raises
        ------
        InputError
            If the folder is full or cannot be made or written; the older ones are all there.

        """
        try:
            self._take()
        except OSError as error:
            raise InputError(self._obstacle(error)) from error
        paths = self._paths()
        number = 1 + max((self._number(path) for path in paths), default=0)
        target = self._folder / f'{self._name}.{number:06d}.npz'
        header = {'format': FORMAT, 'identity': self._identity, 'numbers': dict(numbers)}
        write_container(target, header, arrays, 'checkpoint')
        self._forget([*paths, target])
        return target

    def _obstacle(self, error: OSError) -> str:
        return (
            f'{self._folder}: no checkpoint can be written here ({error.strerror}); make it a '
            'folder with room that may be written'
        )

    def _forget(self, paths: list[Path]) -> None:
        """Remove all that are older than the oldest readable one to keep."""
        readable = [path for path in paths if path not in self._damaged]
        oldest = readable[-self._keep :][0] if len(readable) >= self._keep else paths[0]
        try:
            for path in paths[: paths.index(oldest)]:
                path.unlink(missing_ok=True)
        except OSError as error:
            msg = f'{path}: the old checkpoint cannot be removed ({error.strerror}); remove it'
            raise InputError(msg) from error

    def _take(self) -> None:
        """Take the name, and clear up after whoever had it when the power went."""
        if self._lock is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f'.{self._name}.lock'
        lock = path.open('ab')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            msg = (
                f'{self._folder}: somebody else writes checkpoints named {self._name} here; end '
                'that process or choose another name or folder'
            )
            raise InputError(msg) from error
        self._lock = lock
        begun = re.compile(rf'\.{self._name}\.\d+\.npz\..+')
        for entry in os.scandir(self._folder):
            if begun.fullmatch(entry.name):
                Path(entry.path).unlink(missing_ok=True)

    def _refuse_others(self) -> None:
        """Refuse checkpoints that something else has written; damaged ones cannot tell."""
        for path in self._paths():
            try:
                header, _ = _read(path)
            except InputError:
                self._damaged.add(path)
                continue
            refusal = self._refusal(header)
            if refusal:
                msg = f'{path}: {refusal}'
                raise InputError(msg)

    def _refusal(self, header: dict[str, Any]) -> str:
        """Return why it cannot be resumed, or an empty string."""
        cure = 'choose another name or folder, or remove it'
        if header.get('format') != FORMAT:
            return f'this is no "{FORMAT}"; {cure}'
        found, wanted = header['identity'], self._identity
        names = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
        told = [self._words[name] for name in names if name in self._words]
        if told or not names:
            return '; '.join(told)
        unlike = ', '.join(f'{name} {found.get(name)}, not {wanted.get(name)}' for name in names)
        return f'this is a checkpoint of something else: it has {unlike}; {cure}'

    def _paths(self) -> list[Path]:
        """Return the checkpoints there are, the oldest first."""
        pattern = re.compile(rf'{self._name}\.\d+\.npz')
        try:
            found = [path for path in self._folder.iterdir() if pattern.fullmatch(path.name)]
        except OSError:
            return []
        return sorted(found, key=self._number)

    @staticmethod
    def _number(path: Path) -> int:
        return int(path.name.split('.')[1])


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a file, whose header has the form of all checkpoints."""
    header, arrays = read_container(path)
    if header.get('format') == FORMAT:
        for name in ('identity', 'numbers'):
            if not isinstance(header.get(name), dict):
                msg = f'{path}: its {name} are missing'
                raise InputError(msg)
    return header, arrays


class CheckpointThread:
    """
    Writes one checkpoint at a time in a thread.

    Parameters
    ----------
    checkpoints
        Where to.

    Attributes
    ----------
    written
        How many were written.
    path
        Of the last one that was written.
    trouble
        Why none can be written, or the last one could not be; empty if all is well.

    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._thread: Thread | None = None
        self.written = 0
        self.path: Path | None = None
        self.trouble = checkpoints.trouble

    @property
    def busy(self) -> bool:
        """Whether one is being written."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bool:
        """
        Copy numbers and arrays and begin to write them.

        The caller may change the arrays as soon as this returns: after the time of a copy.

        Returns
        -------
        bool
            False if the one before is still being written; nothing is done then.

        """
        if self.busy:
            return False
        copies = {name: np.array(array) for name, array in arrays.items()}
        # No daemon: a process that ends lets it write to the end.
        self._thread = Thread(target=self._write, args=(dict(numbers), copies))
        self._thread.start()
        return True

    def finish(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()

    def _write(self, numbers: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        try:
            self.path = self._checkpoints.write(numbers, arrays)
        except InputError as error:
            self.trouble = str(error)
        # A bug must not end in a thread where nobody hears of it.
        except Exception as error:  # noqa: BLE001 - told where the other troubles are
            self.trouble = f'{type(error).__name__} in a checkpoint, please report it: {error}'
        else:
            self.written += 1
            self.trouble = ''
