# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compile hot loops with numba where it is installed.

Numba is optional at run time: without it every function decorated here runs as plain Python, so
a loop that matters also has a NumPy form which gives the same numbers (see
``hse_hmm/belief.py``). No threads (numba's default threading layer aborts the process when
two threads enter it), no cache on disk (its files are pickles tied to one CPU), and a fastmath
set that keeps NaN and infinity visible.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar('Function', bound='Callable[..., Any]')

FASTMATH = frozenset({'nsz', 'arcp', 'contract', 'afn', 'reassoc'})


def _find_numba() -> tuple[Any, str]:
    """Return the module or nothing, and how loops run, in words."""
    if os.environ.get('TWO_MANIFOLD_NUMBA', '1') == '0':
        return None, 'as NumPy, since TWO_MANIFOLD_NUMBA is 0'
    try:
        return importlib.import_module('numba'), 'compiled by numba'
    except ModuleNotFoundError:
        return None, 'as NumPy, since numba is not installed'
    # One that does not go with NumPy or with this machine raises almost anything.
    except Exception as error:  # noqa: BLE001 - told when a node starts
        return None, f'as NumPy, since numba is broken ({type(error).__name__}: {error})'


_numba, LOOPS = _find_numba()
HAVE_NUMBA = _numba is not None
"""Whether loops are compiled; the environment variable TWO_MANIFOLD_NUMBA=0 says no."""


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, or leave it as it is without numba."""
    if _numba is None:
        return function
    fast: Function = _numba.njit(fastmath=set(FASTMATH))(function)
    return fast
