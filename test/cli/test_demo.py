# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo with fewer laps, on a real node, and reading back what the node published."""

from pathlib import Path
import subprocess
import sys
from types import SimpleNamespace

import pytest

from two_manifold_ros import demo
from two_manifold_ros.demo import read_run
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.messages import header
from two_manifold_ros.recordings.bag_writer import BagWriter

STAMP = 1_700_000_000_123_456_789


def test_paths_come_back_at_the_horizons(tmp_path):
    # Between the horizons there are other poses.
    places = [(1.0, 2.0), (2.0, 9.0), (3.0, 4.0)]
    poses = [
        {'header': header(STAMP + each * 10**8, 'map'), 'pose': {'position': {'x': x, 'y': y}}}
        for each, (x, y) in enumerate(places)
    ]
    path = {'header': header(STAMP, 'map'), 'poses': poses}
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write('/predicted_path', 'nav_msgs/msg/Path', STAMP, path)
    model = SimpleNamespace(horizons=(0, 1), period_ns=2 * 10**8)
    stamps, positions = read_run(tmp_path / 'bag', model)
    assert stamps.tolist() == [STAMP]
    assert positions.tolist() == [[[1.0, 2.0], [3.0, 4.0]]]


@pytest.mark.slow
def test_the_tour_leaves_everything_and_the_node_equals_evaluate(tmp_path):
    pytest.importorskip('rclpy', reason='the demo needs ROS 2')
    folder = tmp_path / 'tour'
    command = [sys.executable, str(Path(__file__).with_name('stalled_tour.py')), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert 'the node stalls' in said
    assert 'bit for bit' in said, said
    assert '[6/6]' in said
    for name in ('recording', 'model.npz', 'predictions', 'filter_node.log'):
        assert (folder / name).exists()
    log = (folder / 'filter_node.log').read_text()
    assert 'tracking' in log
    # The warning of a copy that is meant would look like a bug; the stall has one of its own.
    assert 'duplicate_stamp' not in log


@pytest.mark.slow
def test_without_ros_the_tour_replays_into_a_bag(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, 'find_spec', lambda _: None)
    monkeypatch.setattr(demo, 'LAPS', 6)
    monkeypatch.setattr(demo, 'TEST_LAPS_S', 12.0)
    monkeypatch.setitem(sys.modules, 'two_manifold_ros.nodes.bag_session', None)
    demo.run_tour(str(tmp_path / 'tour'))
    said = capsys.readouterr().out
    assert 'no node runs' in said
    assert 'The filter published bit for bit' in said
    assert 'DDS' not in said
    left = {each.name for each in (tmp_path / 'tour').iterdir()}
    assert {'recording', 'model.npz', 'predictions'} <= left
    assert 'filter_node.log' not in left


def test_a_folder_of_another_user_is_left_alone(tmp_path):
    (tmp_path / 'thesis.tex').write_text('years of work')
    with pytest.raises(InputError, match='was not made here'):
        demo.run_tour(str(tmp_path))
    assert (tmp_path / 'thesis.tex').read_text() == 'years of work'
