# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The SROS2 policy allows what the nodes do, and nothing else."""

from pathlib import Path
import subprocess
from time import monotonic, sleep
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.expand_topic_name import expand_topic_name
from ros_talk import configured

from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.nodes.slot_car_node import SlotCarNode
from two_manifold_ros.nodes.trainer_node import TrainerNode
from two_manifold_ros.nodes.updater_node import UpdaterNode
from two_manifold_ros.processes import free_domains

POLICY = Path(__file__).resolve().parents[2] / 'config' / 'two_manifold_policy.xml'
pytestmark = pytest.mark.usefixtures('domain')  # other computers hear none of these nodes
GRAPH = 'publisher', 'subscriber', 'service', 'client'
RIGHTS = dict(zip(('publish', 'subscribe', 'reply', 'request'), GRAPH, strict=True))


def allowed(name: str, policy: Path = POLICY, robot: str = '') -> dict[str, set[str]]:
    """Return the full names that a policy allows a node of a robot, by right."""
    root = ET.parse(policy).getroot()  # noqa: S314 - a file of ours
    # As SROS 2 reads it.
    assert (root.attrib, [each.tag for each in root]) == ({'version': '0.2.0'}, ['enclaves'])
    (profile,) = root.iterfind(
        f"./enclaves/enclave[@path='/two_manifold/{robot}{name}']/profiles/profile[@node='{name}']"
    )
    found: dict[str, set[str]] = {right: set() for right in RIGHTS}
    for group in profile:
        for right, verdict in group.attrib.items():
            assert verdict == 'ALLOW'
            found[right] |= {
                expand_topic_name(each.text or '', name, profile.attrib['ns']) for each in group
            }
    return found


def doing(
    wanted: dict[str, set[str]],
    kind: Any,  # noqa: ANN401 - the class of a node
    namespace: str = '/',
    **parameters: object,
) -> dict[str, set[str]]:
    """Return the full names of what a node does, by right; wait until it is what is wanted."""
    # The graph is asked by the name of the node.
    domain = str(free_domains(1)[0])
    with configured(kind, domain, namespace, use_sim_time='true', **parameters) as node:
        asked = node.get_name(), node.get_namespace()
        given_up_s = monotonic() + 10.0
        found: dict[str, set[str]] = {}
        while found != wanted and monotonic() < given_up_s:
            for right, kind_of in RIGHTS.items():
                get = getattr(node, f'get_{kind_of}_names_and_types_by_node')
                found[right] = {name for name, _ in get(*asked)}
            sleep(0.01)
        return found


@pytest.mark.usefixtures('text_for_transforms')
def test_each_node_does_what_the_policy_allows_and_nothing_else(model_path, tmp_path):
    transforms = {'publish_tf': 'true', 'odometry_topic': 'odom'}
    update = {'model': model_path, 'filter_node': 'filter_node', 'checkpoint_folder': tmp_path}
    reference = {'reference_type': 'geometry_msgs/msg/PoseStamped'}
    for name, kind, options in (
        ('filter_node', FilterNode, {'model': model_path, **transforms}),
        ('updater_node', UpdaterNode, update | reference),
        ('trainer_node', TrainerNode, {'model': tmp_path / 'new.npz', **reference}),
        ('slot_car_node', SlotCarNode, {}),
    ):
        wanted = allowed(name)
        assert doing(wanted, kind, **options) == wanted


def test_the_policy_of_a_robot_is_made_as_the_page_says(tmp_path):
    page = (POLICY.parents[1] / 'docs' / 'security.md').read_text()
    (line,) = [each for each in page.splitlines() if each.startswith('    sed ')]
    (tmp_path / POLICY.name).write_bytes(POLICY.read_bytes())
    subprocess.run(['/bin/sh', '-c', line], cwd=tmp_path, check=True)
    wanted = allowed('slot_car_node', tmp_path / 'car1_policy.xml', 'car1/')
    assert doing(wanted, SlotCarNode, '/car1') == wanted
    assert {'/car1/imu', '/rosout'} <= wanted['publish']
