# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Frozen models on disk."""

from __future__ import annotations

from dataclasses import replace
import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.adapting.checkpoints import KEPT, SnapshotFiles
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import load_model

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.model.model import Model


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def numbered(*numbers: int) -> list[str]:
    return [f'robot.model.{number:06d}.npz' for number in numbers]


def test_what_is_written_can_be_loaded(tmp_path: Path, tpsr_model: Model) -> None:
    path = SnapshotFiles(tmp_path, 'robot').write(tpsr_model)
    assert path.is_absolute()
    assert names(tmp_path) == numbered(1)
    loaded = load_model(path)
    assert np.array_equal(loaded.tables.weights, tpsr_model.tables.weights)  # type: ignore[attr-defined]


def test_the_newest_are_kept_and_one_in_use_as_well(tmp_path: Path, tpsr_model: Model) -> None:
    files = SnapshotFiles(tmp_path, 'robot')
    first = files.write(tpsr_model)
    for _ in range(KEPT + 1):
        files.write(tpsr_model, {str(first)})
    assert names(tmp_path) == numbered(1, 3, 4, 5)
    files.write(tpsr_model)
    assert names(tmp_path) == numbered(4, 5, 6)


def test_numbers_go_on_after_a_restart_and_others_files_stay(
    tmp_path: Path, tpsr_model: Model
) -> None:
    others = ['robot.000001.npz', 'robot2.model.000007.npz', 'robot.model.x.npz', '.robot.lock']
    for name in (*others, *numbered(12), '.robot.model.000013.npz.x7'):
        (tmp_path / name).write_bytes(b'')
    SnapshotFiles(tmp_path, 'robot').write(tpsr_model)
    assert names(tmp_path) == sorted([*others, *numbered(12, 13)])


def test_a_number_is_not_used_again_when_its_file_is_gone(
    tmp_path: Path, tpsr_model: Model
) -> None:
    files = SnapshotFiles(tmp_path, 'robot')
    files.write(tpsr_model).unlink()
    assert files.write(tpsr_model).name == numbered(2)[0]


def test_a_model_that_could_not_be_loaded_is_not_written(
    tmp_path: Path, tpsr_model: Model
) -> None:
    broken = replace(tpsr_model, state_bound=np.nan)
    with pytest.raises(InputError):
        SnapshotFiles(tmp_path, 'robot').write(broken)
    assert names(tmp_path) == []


@pytest.mark.parametrize('name', ['', 'a/b', '../a', 'a.b', 'a*'])
def test_what_cannot_be_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match='use letters'):
        SnapshotFiles(tmp_path, name)


def test_a_missing_folder(tmp_path: Path, tpsr_model: Model) -> None:
    with pytest.raises(InputError, match='cannot be written'):
        SnapshotFiles(tmp_path / 'missing', 'robot').write(tpsr_model)


def test_a_full_disk_costs_no_older_file(
    tmp_path: Path, tpsr_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SnapshotFiles(tmp_path, 'robot')
    for _ in range(KEPT):
        files.write(tpsr_model)

    def full(_: int) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(InputError, match='No space left'):
        files.write(tpsr_model)
    assert names(tmp_path) == numbered(1, 2, 3)


def test_a_folder_is_made_and_one_that_cannot_be_is_told_before_there_is_a_model(
    tmp_path: Path,
) -> None:
    assert SnapshotFiles(tmp_path / 'a' / 'b', 'robot').obstacle() == ''
    assert names(tmp_path / 'a' / 'b') == []
    (tmp_path / 'file').touch()
    told = SnapshotFiles(tmp_path / 'file' / 'b', 'robot').obstacle()
    assert told.startswith(f'{tmp_path}/file/b: no model can be written here (Not a directory)')
