# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Example configurations of other packages, against what the nodes publish and are called."""

from pathlib import Path

import pytest

from two_manifold_ros.interface.messages import BASE_FRAME, PUBLISHED
from two_manifold_ros.interface.parameters import PARAMETERS

EXAMPLES = Path(__file__).resolve().parents[2] / 'config' / 'examples'


def test_examples_are_explained_and_name_what_there_is():
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    page = (EXAMPLES.parents[1] / 'docs' / 'integration.md').read_text()
    given = {}
    for path in EXAMPLES.iterdir():
        assert f'../config/examples/{path.name}' in page
        (section,) = yaml.safe_load(path.read_text()).values()
        given[path.stem] = section['ros__parameters']
    ekf, manager = given['robot_localization'], given['nav2_lifecycle_manager']
    topic = PUBLISHED[ekf['pose0'].removesuffix('_throttle')]
    assert topic.msgtype == 'geometry_msgs/msg/PoseWithCovarianceStamped'
    assert ekf['world_frame'] == ekf['map_frame'] != ekf['odom_frame']
    assert ekf['base_link_frame'] == BASE_FRAME
    assert set(manager['node_names']) <= set(PARAMETERS)
    # Compiling takes half a minute.
    assert manager['service_timeout'] > 30.0
    robots = {name: of for name, of in given['diagnostic_aggregator'].items() if type(of) is dict}
    assert robots
    # Diagnostics come once a second.
    assert all(of['startswith'] == [f'{name}/'] for name, of in robots.items())
    assert all(of['timeout'] > 1.0 for of in robots.values())
