# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo with fewer laps, on real nodes and without them."""

import pytest

from two_manifold_ros import demo

SHORT = (
    'simulate -o recording --laps 6',
    'train recording -o model.npz --until 40 --rate 20 --window 20',
)


@pytest.mark.slow
@pytest.mark.parametrize('with_nodes', [True, False])
def test_the_tour_ends_with_a_vehicle_that_is_followed(with_nodes, tmp_path, monkeypatch, capfd):
    if with_nodes:
        pytest.importorskip('rclpy', reason='the demo needs ROS 2')
    else:
        monkeypatch.setattr(demo, 'find_spec', lambda _: None)
    for name in ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_DOMAIN_ID'):
        monkeypatch.setenv(name, '0')
    folder = tmp_path / 'tour'
    assert demo.run_tour(str(folder), way=SHORT) == 0
    said = capfd.readouterr().out
    assert ('  tracking\n' in said) == with_nodes
    assert ('replayed' in said) == (folder / 'predictions').exists() == (not with_nodes)
    # The same folder is taken again, and the first command that fails ends it.
    assert demo.run_tour(str(folder), way=('info none.npz', *SHORT)) == 2
    assert not (folder / 'recording').exists()
