# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Example configurations of other packages, against what the nodes publish and are called."""

from pathlib import Path
from typing import Any

import pytest

from two_manifold_ros.interface.messages import BASE_FRAME, PUBLISHED
from two_manifold_ros.interface.parameters import PARAMETERS

EXAMPLES = Path(__file__).resolve().parents[2] / 'config' / 'examples'


def example(name: str) -> dict[str, Any]:
    yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
    (section,) = yaml.safe_load((EXAMPLES / f'{name}.yaml').read_text()).values()
    return section['ros__parameters']


def test_every_example_is_explained():
    page = (EXAMPLES.parents[1] / 'docs' / 'integration.md').read_text()
    files = sorted(path.name for path in EXAMPLES.iterdir())
    assert [name for name in files if f'../config/examples/{name}' not in page] == []
    assert len(files) == 3


def test_the_ekf_takes_what_is_estimated_and_publishes_the_other_transform():
    given = example('robot_localization')
    # Not each of them, whose errors are not independent.
    name, _, rest = given['pose0'].partition('_')
    assert rest == 'throttle'
    assert PUBLISHED[name].msgtype == 'geometry_msgs/msg/PoseWithCovarianceStamped'
    assert given['pose0_config'] == [True, True] + 13 * [False]
    assert given['world_frame'] == given['map_frame'] != given['odom_frame']
    assert given['base_link_frame'] == BASE_FRAME
    assert not given['pose0_differential']
    # It is the one that publishes a transform.
    table = {each.name: each.default for each in PARAMETERS['filter_node'].table()}
    assert given['publish_tf']
    assert not table['publish_tf']
    # The IMU is in the estimates already.
    assert not any(name.startswith('imu') for name in given)


def test_the_lifecycle_manager_leads_a_node_that_waits_for_it():
    given = example('nav2_lifecycle_manager')
    assert set(given['node_names']) <= set(PARAMETERS)
    assert 'managed' in {each.name for each in PARAMETERS['filter_node'].table()}
    assert given['bond_timeout'] == 0.0
    # Compiling takes half a minute.
    assert given['service_timeout'] > 30.0


def test_the_aggregator_waits_for_longer_than_diagnostics_take():
    given = example('diagnostic_aggregator')
    robots = {name: each for name, each in given.items() if isinstance(each, dict)}
    assert robots
    for name, robot in robots.items():
        assert robot['startswith'] == [f'{name}/']
        assert robot['timeout'] > 1.0
