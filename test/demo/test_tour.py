# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo with fewer laps: real node process, real topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='the demo needs ROS 2')

from two_manifold_ros.demo import tour
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_tour_leaves_everything_and_the_node_equals_evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The node tests switch numba off for their processes; here both sides must compute alike.
    monkeypatch.delenv('TWO_MANIFOLD_NUMBA', raising=False)
    # What it sets itself, it sets for good: setting it before makes for its end.
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.setenv(name, '')
    monkeypatch.setattr(tour, 'LAPS', 6)
    monkeypatch.setattr(tour, 'TEST_LAPS_S', 12.0)
    monkeypatch.setattr(tour, 'SPEED', 8.0)
    folder = tmp_path / 'tour'

    tour.run_tour(str(folder))

    said = capsys.readouterr().out
    assert 'bit for bit' in said
    assert '[6/6]' in said
    for name in ('recording', 'model.npz', 'predictions', 'figure.png', 'filter_node.log'):
        assert (folder / name).exists()
    assert 'tracking' in (folder / 'filter_node.log').read_text()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / 'thesis.tex').write_text('years of work')
    with pytest.raises(InputError, match='was not made by the demo'):
        tour.run_tour(str(tmp_path))
    assert (tmp_path / 'thesis.tex').read_text() == 'years of work'


def test_a_folder_of_an_earlier_demo_is_made_anew(tmp_path: Path) -> None:
    folder = tour._fresh_folder(tmp_path / 'demo')
    (folder / 'old').touch()
    assert not (tour._fresh_folder(folder) / 'old').exists()
