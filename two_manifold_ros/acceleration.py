# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compile hot loops with numba where it is installed.

Numba is optional at run time: without it every function decorated here runs as plain Python, so
a loop that matters also has a NumPy form which gives the same numbers (see
``hse_hmm/arithmetic.py``). No threads (numba's default threading layer aborts the process when
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


def _find_numba() -> Any:  # noqa: ANN401 - a module or nothing
    if os.environ.get('TWO_MANIFOLD_NUMBA', '1') == '0':
        return None
    try:
        return importlib.import_module('numba')
    except ImportError:
        return None


_numba = _find_numba()
HAVE_NUMBA = _numba is not None
"""Whether loops are compiled; the environment variable TWO_MANIFOLD_NUMBA=0 says no."""


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, or leave it as it is without numba."""
    if _numba is None:
        return function
    fast: Function = _numba.njit(fastmath=set(FASTMATH))(function)
    return fast
