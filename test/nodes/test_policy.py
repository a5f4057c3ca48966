# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The SROS2 policy allows what the nodes do, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy
from rclpy.expand_topic_name import expand_topic_name
from ros_talk import given

from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.nodes.running import make_executor
from two_manifold_ros.nodes.slot_car_node import SlotCarNode
from two_manifold_ros.nodes.trainer_node import TrainerNode
from two_manifold_ros.nodes.updater_node import UpdaterNode

if TYPE_CHECKING:
    from collections.abc import Iterator

POLICY = Path(__file__).resolve().parents[2] / 'config' / 'two_manifold_policy.xml'
REFERENCE = 'geometry_msgs/msg/PoseStamped'
RIGHTS = ('publish', 'subscribe', 'reply', 'request')


def allowed(name: str) -> dict[str, set[str]]:
    """Return the full names that the policy allows a node, by right."""
    (profile,) = ET.parse(POLICY).iterfind(  # noqa: S314 - a file of ours
        f"./enclaves/enclave[@path='/two_manifold/{name}']/profiles/profile[@node='{name}']"
    )
    found: dict[str, set[str]] = {right: set() for right in RIGHTS}
    for group in profile:
        for right, verdict in group.attrib.items():
            assert verdict == 'ALLOW'
            found[right] |= {
                expand_topic_name(each.text or '', name, profile.attrib['ns']) for each in group
            }
    return found


def done_by(node: Any) -> dict[str, set[str]]:  # noqa: ANN401 - any node
    """Return the full names of what a node does, by right."""
    asked = node.get_name(), node.get_namespace()
    found = {
        'publish': node.get_publisher_names_and_types_by_node(*asked),
        'subscribe': node.get_subscriber_names_and_types_by_node(*asked),
        'reply': node.get_service_names_and_types_by_node(*asked),
        'request': node.get_client_names_and_types_by_node(*asked),
    }
    return {right: {name for name, _ in names} for right, names in found.items()}


@pytest.fixture
def doing(domain: str) -> Iterator[Any]:
    """Return a function that says what a node with some parameters does."""

    def look(kind: Any, **parameters: object) -> dict[str, set[str]]:  # noqa: ANN401 - a class
        args = ['--ros-args', *given(parameters | {'use_sim_time': 'true'})]
        rclpy.init(args=args, domain_id=int(domain))
        node = None
        executor = make_executor()
        try:
            node = kind()
            executor.add_node(node)
            # What it publishes when it is configured.
            while getattr(node, 'is_configuring', False):
                executor.spin_once(timeout_sec=0.1)
            return done_by(node)
        finally:
            executor.shutdown()
            if node is not None:
                node.destroy_node()
            rclpy.shutdown()

    yield look
    rclpy.try_shutdown()


def test_the_version_is_the_one_that_sros2_reads() -> None:
    policy = ET.parse(POLICY).getroot()  # noqa: S314 - a file of ours
    assert policy.attrib == {'version': '0.2.0'}
    assert [each.tag for each in policy] == ['enclaves']


def test_filter_node(doing: Any, model_path: Path) -> None:  # noqa: ANN401 - a function
    wanted = allowed('filter_node')
    # With the parameter publish_tf, whose messages the wheels do not bring.
    wanted['publish'].remove('/tf')
    assert doing(FilterNode, model=model_path) == wanted


def test_updater_node(doing: Any, model_path: Path, tmp_path: Path) -> None:  # noqa: ANN401
    of_imu = doing(
        UpdaterNode,
        model=model_path,
        reference_type=REFERENCE,
        filter_node='filter_node',
        checkpoint_folder=tmp_path,
    )
    of_image = doing(UpdaterNode, input='image', reference_type=REFERENCE)
    assert {right: of_imu[right] | of_image[right] for right in RIGHTS} == allowed('updater_node')


def test_trainer_and_slot_car_node(doing: Any, tmp_path: Path) -> None:  # noqa: ANN401
    live = doing(TrainerNode, model=tmp_path / 'new.npz', reference_type=REFERENCE)
    assert live == allowed('trainer_node')
    assert doing(SlotCarNode) == allowed('slot_car_node')
