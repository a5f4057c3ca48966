# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Frozen models as files: numbered, whole or not there, and the oldest removed."""

from __future__ import annotations

from pathlib import Path
import re
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import save_model

if TYPE_CHECKING:
    from collections.abc import Collection

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
