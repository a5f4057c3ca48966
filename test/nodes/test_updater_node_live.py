# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The updater as a process: it learns over DDS, and what it learned outlives it."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from imu_feed import connect
from ros_talk import Health
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from updater_feed import SMALL

from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.nodes.updater import UpdaterNode
from two_manifold_ros.simulation.slot_car_messages import imu_message, reference_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rclpy.publisher import Publisher
    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

Start: TypeAlias = 'Callable[..., NodeProcess]'

CHOSEN = {
    name: getattr(SMALL, name)
    for name in (
        'rate_hz',
        'window_s',
        'features',
        'observation_features',
        'states',
        'rank',
        'fold_every',
        'warm_up_s',
    )
}
# What it is doing must still be told when the feed has just ended.
CHOSEN |= {'learner': 'tpsr', 'horizons': list(SMALL.horizons)}
CHOSEN |= {'learning_share': 1.0, 'input_timeout_s': 20.0}


class Feed:
    """Both publishers of a drive, from which the node has heard."""

    def __init__(self, talk: Talk, drive: SlotCarRun) -> None:
        self._talk = talk
        self._drive = drive
        self.health = Health(talk)
        self._reference: Publisher = talk.node.create_publisher(PoseStamped, 'reference', 1000)
        self._imu = connect(talk, self.health)
        self.health.until_value('reference_type', 'geometry_msgs/msg/PoseStamped')

    def send(self, part: slice) -> None:
        """Publish a part quickly, but never more at once than fits into the queues."""
        drive = self._drive
        rows = zip(
            drive.stamps_ns.tolist(), drive.imu, drive.positions, drive.quaternions, strict=True
        )
        for index, (stamp, sample, position, quaternion) in list(enumerate(rows))[part]:
            self._imu.publish(
                to_message('sensor_msgs/msg/Imu', imu_message(stamp, sample, np.zeros(6)))
            )
            if index % 5 == 0:
                fields = reference_message(stamp, position, quaternion)
                self._reference.publish(to_message('geometry_msgs/msg/PoseStamped', fields))
            self._talk.spin(0.0003)


def test_it_learns_and_publishes_and_what_it_learned_outlives_a_kill_in_a_checkpoint(
    talk: Talk, start: Start, drive: SlotCarRun, tmp_path: Path
) -> None:
    kept = {**CHOSEN, 'checkpoint_folder': tmp_path, 'checkpoint_s': 1.0}
    node = start('updater_node', **kept)
    feed = Feed(talk, drive)
    check_what_is_published(feed, talk)
    talk.until(lambda: 'checkpoint' in feed.health.values, 'the first checkpoint')
    before = int(feed.health.values['checkpoint_samples'])
    assert before > 0
    client = talk.node.create_client(Trigger, 'adapting/save')
    talk.until(client.service_is_ready, 'the service save')
    client.call_async(Trigger.Request())
    feed.send(slice(-20, None))
    assert node.stop(signal.SIGKILL) == -signal.SIGKILL
    assert 'Learns from /imu (sensor_msgs/msg/Imu, best effort) with positions' in node.log()

    again = start('updater_node', **kept)
    feed.health.until_value('received', '0')
    assert feed.health.values['warm_up'] == '1'
    assert int(feed.health.values['samples_learned']) >= before
    forget = talk.node.create_client(Trigger, 'adapting/forget')

    def forgot() -> bool:
        # Every time anew, because for a while the service of the dead one still seems ready.
        forget.call_async(Trigger.Request())
        return feed.health.values['samples_learned'] == '0'

    talk.until(forgot, 'what was learned to be forgotten')
    assert again.stop(signal.SIGTERM) == 0
    assert 'resumed at ' in again.log()
    assert f'samples from {tmp_path}/updater.' in again.log()
    assert 'Stopped; ' in again.log()
    assert 'rosout' not in again.log()
    # Nothing half-written is left.
    assert all(each.name.count('.') == 2 for each in tmp_path.glob('*.npz*'))


def check_what_is_published(feed: Feed, talk: Talk) -> None:
    positions = talk.listen(PoseWithCovarianceStamped, 'adapting/position')
    learning = talk.listen(Float64MultiArray, 'adapting/learning')
    feed.send(slice(0, -20))
    talk.until(lambda: len(positions) > 100, 'positions')
    last = positions[-1]
    assert last.header.frame_id == 'map'
    assert np.isfinite([last.pose.pose.position.x, *last.pose.covariance]).all()

    def told() -> dict[str, float]:
        names = learning[-1].layout.dim[0].label.split(',')
        return dict(zip(names, learning[-1].data, strict=True))

    talk.until(lambda: told()['learned'] > 300, 'more to be learned')
    feed.health.clear()
    talk.until(lambda: feed.health.values, 'diagnostics')
    assert int(feed.health.values['samples_learned']) > 300
    assert feed.health.values['callback_errors'] == '0'
    assert told()['singular_0'] > told()['singular_1'] > 0.0
    assert told()['update_s'] > 0.0
    # A filter node may be there as well, and its topics are its own.
    assert not talk.node.get_publishers_info_by_topic('/position')


def test_without_a_folder_nothing_can_be_saved() -> None:
    node = SimpleNamespace(resuming=None)
    answer = UpdaterNode._on_save(node, Trigger.Request(), Trigger.Response())
    assert (answer.success, answer.message) == (False, 'no checkpoint_folder is given')
