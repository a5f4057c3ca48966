# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo with fewer laps, and reading back what the filter published."""

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
def test_the_tour_leaves_everything_and_the_replay_equals_evaluate(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, 'LAPS', 6)
    monkeypatch.setattr(demo, 'TEST_LAPS_S', 12.0)
    demo.run_tour(str(tmp_path / 'tour'))
    said = capsys.readouterr().out
    assert 'The filter published bit for bit' in said
    assert '[6/6]' in said
    left = {each.name for each in (tmp_path / 'tour').iterdir()}
    assert {'recording', 'model.npz', 'predictions', 'figure.png'} <= left


def test_a_folder_of_another_user_is_left_alone(tmp_path):
    (tmp_path / 'thesis.tex').write_text('years of work')
    with pytest.raises(InputError, match='was not made here'):
        demo.run_tour(str(tmp_path))
    assert (tmp_path / 'thesis.tex').read_text() == 'years of work'
