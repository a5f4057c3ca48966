# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Folders for results: made, made again where a marker allows it, or refused."""

from pathlib import Path

import pytest

from two_manifold_ros.cli.options import make_folder
from two_manifold_ros.errors import InputError


def test_a_folder_with_results_is_kept(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / 'a' / 'b')
    (folder / 'old').touch()
    assert make_folder(str(folder)) == folder
    assert [each.name for each in folder.iterdir()] == ['old']


def test_only_a_folder_with_the_marker_is_made_again(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / 'marked', '.mark')
    (folder / 'old').touch()
    make_folder(folder, '.mark')
    assert [each.name for each in folder.iterdir()] == ['.mark']
    (tmp_path / 'thesis.tex').touch()
    with pytest.raises(InputError, match='was not made here'):
        make_folder(tmp_path, '.mark')
    assert (tmp_path / 'thesis.tex').exists()


@pytest.mark.parametrize('marker', [None, '.mark'])
@pytest.mark.parametrize('name', ['file', 'file/new'])
def test_a_file_in_its_place_is_refused_and_kept(
    name: str, marker: str | None, tmp_path: Path
) -> None:
    (tmp_path / 'file').write_text('kept')
    with pytest.raises(InputError, match=str(tmp_path / name)):
        make_folder(tmp_path / name, marker)
    assert Path(tmp_path / 'file').read_text() == 'kept'
