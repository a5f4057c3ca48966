# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where ROS 2 would write log files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.nodes.running import log_trouble

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('ROS_LOG_DIR', 'ROS_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ('name', 'below'), [('ROS_LOG_DIR', '.'), ('ROS_HOME', 'log'), ('HOME', '.ros/log')]
)
def test_the_folder_is_made_where_ros_would_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, below: str
) -> None:
    monkeypatch.setenv(name, str(tmp_path / 'new'))
    assert log_trouble() == ''
    assert list((tmp_path / 'new' / below).iterdir()) == []


def test_without_a_home_there_is_none() -> None:
    assert 'HOME is not set' in log_trouble()


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'file').touch()
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file' / 'log'))
    assert f'{tmp_path}/file/log cannot be written (Not a directory)' in log_trouble()
