# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials kept between runs: what did not change is not computed again."""

from __future__ import annotations

import hashlib
from importlib import metadata
import os
from pathlib import Path
import pickle
import platform
import sys
from typing import Any, TYPE_CHECKING

from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.comparison.sources import fingerprint
from two_manifold_ros.comparison.trial import Trial
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.comparison.method import Lesson, Method
    from two_manifold_ros.ticks.segments import Segment

MOST_TRIALS = 200
"""Kept; the oldest go first. One takes a megabyte or less."""

_LIBRARIES = ('numpy', 'scipy', 'numba', 'scikit-learn', 'hmmlearn')


def usual_folder() -> Path | None:
    """Return the folder for caches that the user's system prescribes (XDG), if there is one."""
    base = Path(os.environ.get('XDG_CACHE_HOME', ''))
    if not base.is_absolute():
        try:
            base = Path.home() / '.cache'
        except RuntimeError:
            return None
    return base / 'two_manifold_ros' / 'comparison'


def key_of(method: Method, lesson: Lesson, segments: Sequence[Segment]) -> str:
    """
    Return a name for all that a trial depends on.

    The method and its settings, what it learns from and follows, the source files that it is
    made of, and the versions of the libraries below.
    """
    digest = hashlib.sha256()
    # Pickled to be hashed only; nothing is ever unpickled.
    digest.update(pickle.dumps((method, lesson, tuple(segments)), protocol=5))
    digest.update(fingerprint(type(method).__module__, Trial.__module__).encode())
    machine = [sys.version, platform.machine(), HAVE_NUMBA, *map(_version, _LIBRARIES)]
    digest.update(repr(machine).encode())
    return digest.hexdigest()


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


class Cache:
    """
    A folder of trials.

    A damaged or missing entry is no error, nor is a folder that cannot be written.

    Parameters
    ----------
    folder
        Made when first written to.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: str) -> Trial | None:
        """Return the trial of a key, if it was kept and is whole."""
        try:
            header, arrays = read_container(self._path(key))
            count = int(header['segments'])

            def kept(name: str) -> tuple[NDArray[Any], ...] | None:
                """Return the array of each segment, if the trial had such arrays."""
                return tuple(arrays[f'{name}_{i}'] for i in range(count)) if header[name] else None

            positions = tuple(arrays[f'positions_{index}'] for index in range(count))
            return Trial(positions, kept('linear'), dict(header['chosen']), kept('valid'))
        except (InputError, OSError, LookupError, TypeError, ValueError):
            return None

    def keep(self, key: str, trial: Trial) -> None:
        """Keep a trial if the folder can be written, at the cost of the oldest ones."""
        header = {
            'segments': len(trial.positions),
            'linear': trial.linear is not None,
            'valid': trial.valid is not None,
            'chosen': trial.chosen,
        }
        arrays: dict[str, NDArray[Any]] = {}
        for index, positions in enumerate(trial.positions):
            arrays[f'positions_{index}'] = positions
        for index, positions in enumerate(trial.linear or ()):
            arrays[f'linear_{index}'] = positions
        for index, valid in enumerate(trial.valid or ()):
            arrays[f'valid_{index}'] = valid
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_container(self._path(key), header, arrays)
            self._forget_oldest()
        except (InputError, OSError):
            # Only the next run takes longer.
            return

    def _path(self, key: str) -> Path:
        return self._folder / f'{key}.npz'

    def _forget_oldest(self) -> None:
        kept = sorted(self._folder.glob('*.npz'), key=lambda path: path.stat().st_mtime_ns)
        for path in kept[:-MOST_TRIALS]:
            path.unlink(missing_ok=True)
