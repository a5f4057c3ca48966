# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node as a process, over DDS: alone, and beside another one."""

from collections.abc import Mapping
import math

import numpy as np
import pytest
from raw_imu import raw_imu

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, Vector3
from imu_feed import connect, Feed
from nav_msgs.msg import Odometry
from rclpy.node import Node
from ros_talk import Board, configured, Health, numbers_of, stamp_of
from sensor_msgs.msg import Imu, MagneticField
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.status import OUTSIDE
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.nodes.watching import listen
from two_manifold_ros.simulation.slot_car_run import sensor_readings

SAMPLE_S = 0.02


def test_a_drive_is_filtered_as_without_a_node(domain, drive, model_path):
    """In this process, on the clock of the drive."""
    model = load_model(model_path)
    stamps, own = drive.stamps_ns[:400].tolist(), Filter(model)
    wanted = [each for pair in zip(stamps, drive.imu, strict=False) for each in own.push(*pair)]
    with configured(FilterNode, domain, model=model_path, input_timeout_s=60.0) as node:
        found = []
        node._estimates.publish = found.append
        for stamp, sample in zip(stamps, drive.imu, strict=False):
            node._on_imu(raw_imu(stamp, sample))
        counts = node._counts()
    valid = [each for each in wanted if each.valid]
    assert counts['published'] == len(found) == len(valid) > 40
    assert [each.stamp_ns for each in found] == [each.stamp_ns for each in valid]
    assert all(
        np.array_equal(one.positions, other.positions)
        for one, other in zip(found, valid, strict=True)
    )


def test_reset_and_enable(talk, start, drive, model_path):
    start('filter_node', model=model_path, input_timeout_s=60.0)
    health = Health(talk)
    health.until('waiting for the first IMU message on /imu')
    feed = Feed(talk, drive, connect(talk, health))
    feed.send(150)
    health.until_value('published', '10')
    assert talk.call(Trigger, 'filter_node/reset').success
    feed.send(50)
    health.until('filling the window')
    assert talk.call(SetBool, 'filter_node/enable', data=False).success
    health.until('disabled by the service enable')
    feed.send(150)
    assert talk.call(SetBool, 'filter_node/enable', data=True).success
    feed.send(50)
    health.until('filling the window: 9 of 20 ticks')
    assert health.values['published'] == '10'


def test_a_sensor_is_used_when_it_comes_and_gone_on_without(talk, start, drive, sensed_path):
    start(
        'filter_node',
        model=sensed_path,
        sensor_topics='["compass"]',
        input_timeout_s=60.0,
        status_rate_hz=50.0,
    )
    health = Health(talk)
    health.until('waiting for the first IMU message on /imu')
    feed = Feed(talk, drive, connect(talk, health))
    odometry = talk.listen(Odometry, 'odometry')
    feed.go_on(SAMPLE_S)
    health.until('nothing came from the sensor on /compass yet, and the filter goes on without it')
    talk.until(lambda: odometry, 'odometry')
    compass = talk.publisher(MagneticField, 'compass')
    readings = sensor_readings(drive, 'magnetometer')
    step = talk.meanwhile

    def read() -> None:
        x, y, z = readings[feed.sent].tolist()
        compass.publish(MagneticField(magnetic_field=Vector3(x=x, y=y, z=z)))
        step()

    talk.meanwhile = read
    talk.until(lambda: 'compass' not in health.why, 'no complaint')
    talk.meanwhile = step
    health.until('nothing came from the sensor on /compass for')
    assert health.values['cause'] == 'sensor_gone'


def test_silence_and_wrong_types_have_a_reason(talk, start, drive, model_path):
    start('filter_node', '-r', 'imu:=driver/data', model=model_path, input_timeout_s=0.3)
    health = Health(talk)
    health.until('it has no publisher; remap imu')
    spare = talk.node.create_publisher(Imu, 'spare', 1)
    health.until('remap imu to the topic of the driver, /spare')
    talk.node.destroy_publisher(spare)
    wrong = talk.node.create_publisher(PoseStamped, 'driver/data', 1)
    health.until('published as geometry_msgs/msg/PoseStamped, not as sensor_msgs/msg/Imu')
    talk.node.destroy_publisher(wrong)
    imu = talk.publisher(Imu, 'driver/data')
    health.until('its publisher is there but silent')
    assert health.level == 2
    Feed(talk, drive, imu).send(10)
    health.until('no IMU message on /driver/data for')


def test_numbers_come_without_a_clock_or_a_model(talk, start, model_path):
    node = start('filter_node', use_sim_time='true', modle=model_path)
    heard = talk.listen(Float64MultiArray, 'status')
    talk.until(lambda: heard, 'the status')
    numbers = numbers_of(heard[-1])
    assert numbers['status'] == OUTSIDE
    assert math.isnan(numbers['received'])
    assert node.said.count('modle (did you mean model?)') == 1


def test_a_short_time_counts_from_the_discovery_and_namesakes_are_counted(talk):
    context = talk.node.context
    nodes = [
        Node(name, context=context, start_parameter_services=False, enable_rosout=False)
        for name in ('twin', 'twin', 'single')
    ]
    publishers = [node.create_publisher(DiagnosticArray, '/diagnostics', 10) for node in nodes]
    heard: dict[str, tuple[int, str, Mapping[str, str], int]] = {}

    def hear(name: str, level: int, why: str, values: Mapping[str, str], count: int) -> None:
        heard[name] = level, why, values, count

    def publish() -> None:
        for node, publisher in zip(nodes, publishers, strict=True):
            values = [KeyValue(key='a', value='b')]
            status = DiagnosticStatus(name=node.get_name(), message='w', values=values)
            publisher.publish(DiagnosticArray(status=[status]))

    listen(hear, publish, 0.1, lambda: False)
    for node in nodes:
        node.destroy_node()
    assert heard == {'twin': (0, 'w', {'a': 'b'}, 2), 'single': (0, 'w', {'a': 'b'}, 1)}


def test_two_nodes_in_one_namespace_are_reported_apart_and_warn(talk, start, model_path):
    names = 'filter_a', 'filter_b'
    nodes = {
        name: start('filter_node', '-r', f'__node:={name}', model=model_path) for name in names
    }
    board = Board(talk)
    for name, other in (names, names[::-1]):
        said, of_other = nodes[name], f'/{other}'
        # The middleware may know a publisher before it knows whose it is.
        talk.until(lambda said=said: 'also published by' in said.said, f'a warning of {name}')
        (line,) = (each for each in said.said.splitlines() if 'also published by' in each)
        assert of_other in line or 'an unnamed node' in line
        assert f'/{name},' not in line
        assert '__ns:=' in line
    # A service belongs to one node, and not to whoever hears the call first, or to both.
    assert talk.call(SetBool, 'filter_a/enable', data=False).success
    talk.until(lambda: board.value('filter_a', 'cause') == 'disabled', 'one to be disabled')
    assert board.value('filter_b', 'cause') != 'disabled'
    assert nodes['filter_b'].stop() == 0
    talk.until(lambda: 'Over after' in nodes['filter_a'].said, 'the warning to be over')


def test_frames_and_receive_time(talk, start, drive, model_path):
    start(
        'filter_node',
        model=model_path,
        track_frame='world',
        child_frame='car',
        use_receive_time='true',
    )
    odometry = talk.listen(Odometry, 'odometry')
    feed = Feed(talk, drive, talk.publisher(Imu, 'imu'))
    feed.spoil = lambda message: setattr(message.header, 'stamp', Time())
    begin = talk.node.get_clock().now().nanoseconds
    feed.go_on(SAMPLE_S)
    talk.until(lambda: odometry, 'odometry')
    assert stamp_of(odometry[0]) > begin
    assert (odometry[0].header.frame_id, odometry[0].child_frame_id) == ('world', 'car')


def test_robots_in_namespaces_share_diagnostics_alone(talk, start, model_path, tmp_path):
    board, file = Board(talk), tmp_path / 'mine.yaml'
    file.write_text('filter_node:\n  ros__parameters:\n    track_frame: odom\n')
    chosen = '--params-file', str(file)
    nodes = [
        start('filter_node', '-r', f'__ns:=/car{car}', *chosen, model=model_path) for car in (1, 2)
    ]
    names = 'car1/filter_node', 'car2/filter_node'
    for name in names:
        talk.until(
            lambda name=name: board.value(name, 'cause') == 'no_publisher', f'words of {name}'
        )
        talk.listen(Odometry, f'/{name.partition("/")[0]}/odometry')
    hardware = [board.status(name).hardware_id for name in names]
    assert all(hardware)
    assert hardware[0] != hardware[1]
    assert {board.value(name, 'imu_frame') for name in names} == {'imu_link'}
    assert not any('also published by' in node.said for node in nodes)
    # ROS 2 takes it for one of another node.
    assert all(f'{file} has parameters of /filter_node' in node.said for node in nodes)
