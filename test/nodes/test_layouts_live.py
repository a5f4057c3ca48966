# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Layouts for Foxglove and PlotJuggler against the topics of running nodes, over DDS."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from layouts import CONFIG, in_namespace, load
from ros_talk import Board
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.interface.messages import PUBLISHED


@pytest.mark.parametrize('name', ['', 'car1'])
def test_running_nodes_advertise_what_the_layouts_name(name, talk, start, model_path, tmp_path):
    folder, prefix, robot = CONFIG, '', ()
    if name:
        in_namespace(name, tmp_path)
        folder, prefix, robot = tmp_path, f'/{name}', ('-r', f'__ns:=/{name}')
    start('filter_node', *robot, model=model_path)
    start('slot_car_node', *robot)
    board = Board(talk)
    messages = talk.listen(Float64MultiArray, f'{prefix}/status')
    topics = {f'{prefix}/{each}' for each in (*PUBLISHED, 'imu', 'reference')}
    layouts = load(folder, topics | {'/diagnostics'})
    wanted = layouts.of_foxglove + layouts.of_plotjuggler
    names = {each.topic for each in wanted}
    types: dict[str, list[str]] = {}

    def advertised() -> bool:
        types.update(talk.node.get_topic_names_and_types())
        return names <= types.keys() and all(map(talk.node.count_publishers, names))

    talk.until(advertised, f'all of {sorted(names)}')
    for full_name, kinds in types.items():
        topic = PUBLISHED.get(full_name.removeprefix(prefix).lstrip('/'))
        if full_name in names and topic is not None:
            assert kinds == [topic.msgtype]
    talk.until(lambda: messages, 'a status')
    labels = messages[0].layout.dim[0].label.split(',')
    numbers = [each for each in wanted if each.steps[:1] == ('data',)]
    assert numbers
    for each in numbers:
        entry = int(each.steps[1].strip('[]'))
        assert labels[entry] == {'state': 'status'}.get(each.label, each.label)
        assert entry < len(messages[0].data)
    # What Foxglove picks out of the diagnostics.
    node = layouts.foxglove['globalVariables']['node']
    talk.until(lambda: board.value(node, 'status'), f'diagnostics of {node}')
    assert board.status(node).message
    assert 'cause' in {each.key for each in board.status(node).values}
