# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""With numba, without it, and with one that is broken."""

from __future__ import annotations

from typing import NoReturn

import pytest

from two_manifold_ros import acceleration


def _find(monkeypatch: pytest.MonkeyPatch, error: Exception) -> tuple[object, str]:
    def load(_: str) -> NoReturn:
        raise error

    monkeypatch.setenv('TWO_MANIFOLD_NUMBA', '1')
    monkeypatch.setattr(acceleration.importlib, 'import_module', load)
    return acceleration._find_numba()


@pytest.mark.parametrize(
    ('error', 'words'),
    [
        (ModuleNotFoundError("No module named 'numba'"), 'not installed'),
        (ImportError('Numba needs NumPy 2.2 or less'), 'broken (ImportError: Numba needs NumPy'),
        (SystemError('initialization of _internal failed'), 'broken (SystemError: init'),
        (OSError('libllvmlite.so: cannot open'), 'broken (OSError: libllvmlite.so'),
    ],
)
def test_a_numba_that_cannot_be_used_is_left_aside_and_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    module, loops = _find(monkeypatch, error)
    assert module is None
    assert loops.startswith('as NumPy, since ')
    assert words in loops


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TWO_MANIFOLD_NUMBA', '0')
    assert acceleration._find_numba() == (None, 'as NumPy, since TWO_MANIFOLD_NUMBA is 0')


def test_loops_without_numba_are_plain_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, '_numba', None)

    def double(number: float) -> float:
        return 2.0 * number

    assert acceleration.compiled(double) is double
