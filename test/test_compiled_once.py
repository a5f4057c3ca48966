# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was compiled is taken again as long as no source changes."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

from compiled_once import digest_of_sources, FORGOTTEN_S, keep_compiled
import pytest

from two_manifold_ros import acceleration

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def numba(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Put a stand-in in the place of numba, whose compiler returns what it was asked for."""

    def njit(**options: object) -> Any:  # noqa: ANN401 - a decorator
        return lambda _: options

    stand_in = SimpleNamespace(njit=njit, config=SimpleNamespace(CACHE_DIR=''))
    monkeypatch.setattr(acceleration, '_numba', stand_in)
    return stand_in


def test_any_change_of_any_source_gives_another_name(tmp_path: Path) -> None:
    names = []
    for file, text in (('a.py', 'A = 1'), ('a.py', 'A = 2'), ('b/c.py', ''), ('b/c.md', 'words')):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        names.append(digest_of_sources(tmp_path))
    assert len(set(names)) == 3
    assert names[2] == names[3]


def test_loops_are_compiled_as_ever_but_kept(tmp_path: Path, numba: SimpleNamespace) -> None:
    before = acceleration.compiled(print)
    keep_compiled(tmp_path)
    assert acceleration.compiled(print) == {**before, 'cache': True}
    assert str(tmp_path / digest_of_sources()) == numba.config.CACHE_DIR


@pytest.mark.usefixtures('numba')
def test_what_was_kept_for_older_sources_goes_a_day_later(tmp_path: Path) -> None:
    for name, age_s in (('older', 1.1 * FORGOTTEN_S), ('newer', 0.9 * FORGOTTEN_S)):
        (tmp_path / name).mkdir()
        time_ns = (tmp_path / name).stat().st_mtime_ns - round(1e9 * age_s)
        os.utime(tmp_path / name, ns=(time_ns, time_ns))
    keep_compiled(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {'newer', digest_of_sources()}


def test_without_numba_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, '_numba', None)
    keep_compiled(tmp_path)
    assert acceleration._numba is None
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_all_is_as_ever(
    tmp_path: Path, numba: SimpleNamespace
) -> None:
    (tmp_path / 'file').touch()
    keep_compiled(tmp_path / 'file')
    assert acceleration._numba is numba
