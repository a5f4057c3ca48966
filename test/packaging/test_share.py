# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The share folder without an install; test_installs.py looks at installed ones."""

from pathlib import Path

import pytest

from two_manifold_ros import share
from two_manifold_ros.errors import InputError


def test_in_a_checkout_it_is_the_checkout(
    monkeypatch: pytest.MonkeyPatch, checkout: Path, tmp_path: Path
) -> None:
    linked = tmp_path / 'two_manifold_ros'
    linked.symlink_to(checkout / 'two_manifold_ros')
    monkeypatch.setattr(share, '__file__', str(linked / 'share.py'))
    assert share.share_folder() == checkout


def test_another_packages_share_folder_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ('other', 'two_manifold_ros'):
        folder = tmp_path / 'share' / name
        folder.mkdir(parents=True)
        (folder / 'package.xml').write_text('')
    module = tmp_path / 'lib' / 'python3' / 'site-packages' / 'two_manifold_ros' / 'share.py'
    monkeypatch.setattr(share, '__file__', str(module))
    assert share.share_folder() == tmp_path / 'share' / 'two_manifold_ros'


def test_an_install_without_data_files_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(share, '__file__', str(tmp_path / 'two_manifold_ros' / 'share.py'))
    with pytest.raises(InputError, match=r'without its data files.*install it with pip or colcon'):
        share.share_folder()
