# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compile each loop once for all processes of tests, and again after any change of a source."""

from __future__ import annotations

from functools import partial
import hashlib
from pathlib import Path
import shutil
import time
from types import SimpleNamespace

from two_manifold_ros import acceleration

KEPT = Path(__file__).resolve().parents[1] / '.pytest_cache' / 'compiled'
PACKAGE = Path(acceleration.__file__).parent
FORGOTTEN_S = 24 * 3600.0
"""Nobody runs the tests for that long: what nobody has begun with since is of older sources."""


def digest_of_sources(package: Path = PACKAGE) -> str:
    """
    Return a name for what all sources say.

    Numba itself looks only at the file of a function, not at those of the functions that it calls
    or of the constants that it was compiled with. Of its own version and the CPU it takes care.
    """
    digest = hashlib.sha256()
    for path in sorted(package.rglob('*.py')):
        digest.update(f'{path.relative_to(package)} {path.stat().st_size}\n'.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def keep_compiled(folder: Path = KEPT) -> None:
    """Keep what numba compiles, if it is there; before anything that is to be compiled loads."""
    numba = acceleration._numba
    if numba is None:
        return
    ours = folder / digest_of_sources()
    try:
        ours.mkdir(parents=True, exist_ok=True)
        ours.touch()
    except OSError:
        # A checkout that is not ours to write into: every process compiles for itself.
        return
    for other in folder.iterdir():
        if time.time() - other.stat().st_mtime > FORGOTTEN_S:
            shutil.rmtree(other, ignore_errors=True)
    numba.config.CACHE_DIR = str(ours)
    acceleration._numba = SimpleNamespace(njit=partial(numba.njit, cache=True))
