# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rviz layout, against what the nodes advertise."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from launch_double import describe, named
import numpy as np
import pytest
from snapshots import estimate_with

from two_manifold_ros.interface.messages import markers_message, PUBLISHED, Scene, Topic
from two_manifold_ros.simulation.slot_car_run import REFERENCE_TYPE, TRACK_FRAME

yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

LAYOUT = Path(__file__).resolve().parents[2] / 'config' / 'two_manifold.rviz'
DISPLAYS = {
    'rviz_default_plugins/MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'rviz_default_plugins/PointCloud2': 'sensor_msgs/msg/PointCloud2',
    'rviz_default_plugins/Path': 'nav_msgs/msg/Path',
    'rviz_default_plugins/PoseWithCovariance': 'geometry_msgs/msg/PoseWithCovarianceStamped',
    'rviz_default_plugins/Pose': 'geometry_msgs/msg/PoseStamped',
}
OTHERS = {
    'rviz_common/Displays',
    'rviz_common/Views',
    'rviz_default_plugins/FocusCamera',
    'rviz_default_plugins/Grid',
    'rviz_default_plugins/Interact',
    'rviz_default_plugins/Measure',
    'rviz_default_plugins/MoveCamera',
    'rviz_default_plugins/TopDownOrtho',
}
ADVERTISED = {f'/{name}': topic for name, topic in PUBLISHED.items()}
ADVERTISED['/reference'] = Topic('reference', REFERENCE_TYPE)


@pytest.fixture(scope='module')
def layout() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(LAYOUT.read_text())
    return content


@pytest.fixture(scope='module')
def displays(layout: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in layout['Visualization Manager']['Displays'] if 'Topic' in each]


def classes(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        if part.get('Class'):
            yield part['Class']
        for each in part.values():
            yield from classes(each)
    elif isinstance(part, list):
        for each in part:
            yield from classes(each)


def test_every_class_is_one_that_rviz_knows(layout: dict[str, Any]) -> None:
    assert set(classes(layout)) <= OTHERS | set(DISPLAYS)


def test_topics_types_and_quality_are_what_is_advertised(displays: list[dict[str, Any]]) -> None:
    for display in displays:
        wanted = display['Topic']
        topic = ADVERTISED[wanted['Value']]
        assert DISPLAYS[display['Class']] == topic.msgtype
        assert wanted['Reliability Policy'] == ('Reliable' if topic.reliable else 'Best Effort')
        assert wanted['Durability Policy'] == ('Transient Local' if topic.latched else 'Volatile')
        # A display draws the newest message; more may be kept for who records.
        assert 0 < wanted['Depth'] <= topic.depth
        assert wanted['History Policy'] == 'Keep Last'


def test_track_position_ellipse_and_path_are_shown(displays: list[dict[str, Any]]) -> None:
    shown = {display['Topic']['Value']: display for display in displays if display['Enabled']}
    assert {'/markers', '/position', '/predicted_path'} <= set(shown)
    # Those of a tick at which the track is drawn as well.
    model: Any = SimpleNamespace(track=np.eye(2), rate_hz=10.0, period_ns=10**8)
    message = markers_message(estimate_with(), Scene(model, 'map', 'car'))
    drawn = {marker['ns'] for marker in message['markers']}
    assert shown['/markers']['Namespaces'] == dict.fromkeys(sorted(drawn), True)


def test_the_fixed_frame_is_that_of_the_launch_file(layout: dict[str, Any]) -> None:
    frame = layout['Visualization Manager']['Global Options']['Fixed Frame']
    description = describe(LAYOUT.parents[1] / 'launch' / 'onboard.launch.py')
    (declared,) = (
        each.kwargs
        for each in named(description, 'DeclareLaunchArgument')
        if each.args == ('fixed_frame',)
    )
    assert frame == declared['default_value'] == TRACK_FRAME
