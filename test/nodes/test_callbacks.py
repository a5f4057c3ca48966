# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node never dies of a message; from dictionaries to rclpy messages, and estimates on a node."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from filter_runs import estimate_with
import numpy as np
from ros_talk import ros
from std_msgs.msg import String

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.messages import choose_scene, Scene, stamp_fields, Topics
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.callbacks import (
    EstimatePublishers,
    find_shared,
    GuardedNode,
    ImuTopic,
    TRANSFORM_TYPE,
)
from two_manifold_ros.recordings.ros_messages import to_message


@pytest.mark.parametrize('asked', ['', 'reliable'])
def test_a_parameter_of_ros_asks_for_samples_without_loss(domain, asked):
    override = {'qos_overrides./imu.subscription.reliability': asked} if asked else {}
    with ros(domain, **override):
        node = GuardedNode('reader')
        # A second time after a change of the input.
        for _ in range(2):
            subscription = node.subscribe(Topics.IMU, lambda _: None)
            quality = subscription.qos_profile.reliability.name.lower()
            assert quality == (asked or 'best_effort')
            node.destroy_subscription(subscription)
        node.destroy_node()


def test_an_exception_is_counted_and_logged_once_per_kind_unless_ros_goes_down(
    domain, monkeypatch
):
    def broken(value: int) -> None:
        raise ValueError(value % 2)

    def published_in_the_middle_of_it() -> None:
        monkeypatch.setattr(callbacks, 'ok', lambda: False)
        raise RuntimeError

    said: list[str] = []
    with ros(domain):
        node = GuardedNode('logging')
        monkeypatch.setattr(node, 'get_logger', lambda: SimpleNamespace(error=said.append))
        guarded = node.guard(broken)
        # To a service the last argument is the answer.
        assert [guarded(value) for value in range(10)] == [*range(10)]
        node.guard(published_in_the_middle_of_it)()
        assert node.errors == 10
        assert ['in broken' in line for line in said] == [True, True]
        node.destroy_node()


def graph(*publishers: tuple[str, str], kind: str = Topics.IMU.msgtype, to: str = '') -> Any:  # noqa: ANN401
    """Return what stands for the node /mine, where such nodes publish each topic in one type."""
    infos = [
        SimpleNamespace(topic_type=kind, node_namespace=namespace, node_name=name)
        for namespace, name in publishers
    ]
    return SimpleNamespace(
        count_publishers=lambda _: len(infos),
        resolve_topic_name=lambda name: to if name == '/spare' else f'/{name.lstrip("/")}',
        get_publishers_info_by_topic=lambda _: infos,
        get_fully_qualified_name=lambda: '/mine',
    )


def test_other_publishers_of_an_output():
    mine = '/', 'mine'
    for publishers, others in (
        ([mine], None),
        ([mine, ('/car', 'other')], ('/car/other',)),
        # A second node of our own name, and one of which only the endpoint is known.
        ([mine, mine], ('another node of the same name (/mine)',)),
        ([mine, ('_NODE_NAMESPACE_UNKNOWN_', '_NODE_NAME_UNKNOWN_')], ('',)),
    ):
        shared = find_shared(graph(*publishers), ['/odometry'])
        assert shared == ({} if others is None else {'/odometry': others})


def test_a_topic_is_published_beside_imu_in_its_type_under_a_name_that_is_not_remapped():
    one = '/', 'driver'
    for node, name, published in (
        (graph(one, to='/spare'), '/spare', True),
        (graph(to='/spare'), '/spare', False),
        (graph(one, kind='std_msgs/msg/String', to='/spare'), '/spare', False),
        (graph(one, to='/imu'), '/spare', False),
        (graph(one), '/imu', False),
    ):
        assert ImuTopic(node).is_published(name) == published


ESTIMATE = estimate_with(velocity=np.array([1.0, 0.0]), velocity_covariance=1e-4 * np.eye(2))


@pytest.mark.usefixtures('text_for_transforms')
def test_transforms_are_those_to_the_frame_of_an_odometry(talk, model_path, monkeypatch):
    def written(msgtype: str, fields: Any) -> Any:  # noqa: ANN401 - as to_message
        assert msgtype == TRANSFORM_TYPE
        return String(data=fields['transforms'][0]['child_frame_id'])

    monkeypatch.setattr(callbacks, 'to_message', written)
    model, frame = load_model(model_path), OdometryFrame('map', 'base_link')
    publishers = EstimatePublishers(talk.node, choose_scene(model), transform=True, odometry=frame)
    heard = talk.listen(String, '/tf')
    publishers.publish(ESTIMATE)
    header = {'stamp': stamp_fields(ESTIMATE.stamp_ns), 'frame_id': 'odom'}
    fields = {'header': header, 'child_frame_id': 'base_link'}
    frame.take(to_message('nav_msgs/msg/Odometry', fields))
    publishers.publish(ESTIMATE)
    talk.until(lambda: heard, 'a transform')
    assert [each.data for each in heard] == ['odom']


class Laps:
    """What stands for the laps of a model while driving."""

    def __init__(self, frame: str) -> None:
        self.frame, self.asked, self.line = frame, 0, self
        self.before: Laps | None = None

    def push(self, _: Estimate) -> None:
        return None

    def placed(self, given: Estimate) -> Estimate:
        self.asked += 1
        return given

    def go_on(self, before: Laps) -> None:
        self.before = before


def test_laps_are_placed_once_for_subscribers_and_go_on_in_the_frame_of_their_fixes():
    """Those of each route on their own."""
    model: Any = SimpleNamespace(
        frame_id=LAP_FRAME, period_ns=10**8, horizons=(0, 5), route_names=(), route_model=None
    )
    scene = Scene(model, LAP_FRAME, 'base_link')
    one: Any = Laps('map')
    published: list[str] = []
    subscribers = [0]

    def publish(message: Any) -> None:  # noqa: ANN401 - of its topic
        if hasattr(message, 'pose'):
            published.append(message.header.frame_id)

    own = SimpleNamespace(get_subscription_count=lambda: subscribers[0], publish=publish)
    node: Any = SimpleNamespace(create_publisher=lambda *_: own, destroy_publisher=None)
    publishers = EstimatePublishers(node, scene, transform=False, laps={'': one}, placed=True)
    for subscribers[0] in (0, 1):
        publishers.publish(ESTIMATE)
        assert one.asked == subscribers[0]
    assert len(published) == 2
    # A model that knows no laps comes in between.
    publishers.go_on_with(publishers.scene, {})
    publishers.publish(ESTIMATE)
    atlas: dict[str, Any] = {name: Laps('arena') for name in ('a', 'b')}
    publishers.go_on_with(publishers.scene, atlas)
    # Which of them was driven before is not known.
    assert [each.before for each in atlas.values()] == [one, one]
    publishers.publish(replace(ESTIMATE, route='a'))
    later: dict[str, Any] = {name: Laps('map') for name in ('a', 'c')}
    publishers.go_on_with(publishers.scene, later)
    assert [each.before for each in later.values()] == [atlas['a'], None]
    assert published[::2] == ['map', 'arena']
