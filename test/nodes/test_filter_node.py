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
from ros_talk import Board, Health, numbers_of, ros, stamp_of
from sensor_msgs.msg import Imu, MagneticField
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import REJECTIONS
from two_manifold_ros.interface.status import CODES, OUTSIDE
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.nodes.running import make_executor
from two_manifold_ros.nodes.watching import listen
from two_manifold_ros.simulation.slot_car_run import sensor_readings

SAMPLE_S = 0.02


def test_a_drive_is_filtered_as_without_a_node(domain, drive, model_path):
    """In this process, on the clock of the drive."""
    model = load_model(model_path)
    stamps, own = drive.stamps_ns[:400].tolist(), Filter(model)
    wanted = [each for pair in zip(stamps, drive.imu, strict=False) for each in own.push(*pair)]
    with ros(domain, model=model_path, input_timeout_s=60.0):
        executor, node = make_executor(), FilterNode()
        executor.add_node(node)
        while node.is_configuring:
            executor.spin_once(timeout_sec=0.1)
        found = []
        node._estimates.publish = found.append
        for stamp, sample in zip(stamps, drive.imu, strict=False):
            node._on_imu(raw_imu(stamp, sample))
        counts = node._counts()
        node.destroy_node()
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


def test_numbers_and_reasons_come_without_a_clock_or_a_model(talk, start, drive, model_path):
    node = start('filter_node', use_sim_time='true', input_timeout_s=0.3, modle=model_path)
    health, heard = Health(talk), talk.listen(Float64MultiArray, 'status')
    talk.until(lambda: heard, 'the status')
    numbers = numbers_of(heard[-1])
    assert numbers['status'] == OUTSIDE
    assert math.isnan(numbers['received'])
    assert node.alive
    node.stop()
    assert node.said.count('modle (did you mean model?)') == 1
    start('filter_node', use_sim_time='true', model=model_path, input_timeout_s=0.3)
    imu, other = talk.publisher(Imu, 'imu'), talk.node.create_publisher(Imu, 'imu', 10)
    feed = Feed(talk, drive, imu)
    feed.send(10)
    health.until_value('cause', 'no_clock')
    assert 'no time came on /clock yet' in health.why

    def hear(name: str, level: int, why: str, values: Mapping[str, str], nodes: int) -> None:
        assert (name, level, values['cause'], nodes) == ('filter_node', 2, 'no_clock', 1)
        raise EOFError(why)

    with pytest.raises(EOFError, match='/imu'):
        listen(hear, lambda: None, 20.0, lambda: False)
    feed.go_on(SAMPLE_S)
    talk.until(lambda: 'publishers are on /imu (/test, /test)' in health.why, 'both to be named')
    talk.node.destroy_publisher(other)


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


def test_two_nodes_in_one_namespace_are_reported_apart_and_warn(talk, start, drive, model_path):
    names = 'filter_a', 'filter_b'
    nodes = {
        name: start('filter_node', '-r', f'__node:={name}', model=model_path, input_timeout_s=60.0)
        for name in names
    }
    board, imu = Board(talk), talk.publisher(Imu, 'imu')
    talk.until(lambda: imu.get_subscription_count() == 2, 'both nodes')

    def both(key: str, *values: str) -> bool:
        return tuple(board.value(name, key) for name in names) == values

    talk.until(lambda: both('status', *['waiting for data'] * 2), 'both to be configured')
    talk.until(
        lambda: all('also published by' in node.said for node in nodes.values()), 'warnings'
    )
    for name, other in (names, names[::-1]):
        (line,) = (each for each in nodes[name].said.splitlines() if 'also published by' in each)
        # The middleware may know a publisher before it knows whose it is.
        assert f'/{other}' in line or 'an unnamed node' in line
        assert f'/{name},' not in line
        assert '__ns:=' in line
    Feed(talk, drive, imu).send(400)
    talk.until(lambda: both('cause', *['shared_output'] * 2), 'the cause in the diagnostics')
    for name, other in (names, names[::-1]):
        talk.until(lambda: f'/{other}' in board.status(name).message, 'the name of the other')  # noqa: B023
    assert {board.status(name).level for name in names} == {DiagnosticStatus.WARN}
    assert all('State: tracking' in node.said for node in nodes.values())
    # A service belongs to one node, and not to whoever hears the call first, or to both.
    assert talk.call(SetBool, 'filter_a/enable', data=False).success
    talk.until(lambda: board.value('filter_a', 'cause') == 'disabled', 'one to be disabled')
    assert 'disabled' not in nodes['filter_b'].said
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


def test_the_way_to_tracking_and_every_count_on_it(talk, start, drive, model_path):
    start('filter_node', model=model_path, input_timeout_s=0.5, status_rate_hz=50.0)
    health, heard = Health(talk), talk.listen(Float64MultiArray, 'status', 1000)

    def until(status: Status, malformed: int = 0) -> dict[str, float]:
        def come() -> bool:
            newest = numbers_of(heard[-1]) if heard else {'status': OUTSIDE}
            return newest['status'] == CODES[status] and newest['malformed'] >= malformed

        talk.until(come, f'{status}, with {malformed} malformed')
        return numbers_of(heard[-1])

    assert math.isnan(until(Status.WAITING)['evidence'])
    imu = connect(talk, health)
    feed = Feed(talk, drive, imu)
    feed.send(200)
    for feed.spoil in (
        lambda message: setattr(message.linear_acceleration, 'x', math.nan),
        lambda message: setattr(message.header.stamp, 'sec', message.header.stamp.sec + 10**6),
        lambda _: None,
    ):
        feed.send(1)
    feed.send(197)
    imu.publish(b'garbage')
    tracking = until(Status.TRACKING, malformed=1)
    assert (tracking['valid'], tracking['level']) == (1.0, 0.0)
    assert (tracking['non_finite'], tracking['wild_stamp']) == (1.0, 1.0)
    assert 0.0 < tracking['ellipse_m'] < 1.0
    assert tracking['processing_max_us'] >= tracking['processing_p50_us'] > 0.0
    silent = until(Status.NO_DATA)
    assert (silent['valid'], silent['level']) == (0.0, 2.0)
    assert silent['ticks_since_good_sample'] >= 4
    assert math.isnan(silent['ellipse_m'])
    # Counts are not known while it is configured, which is over sooner or later than discovery.
    published = [each for each in map(numbers_of, heard) if each['status'] != OUTSIDE]
    for each in published:
        rejected = sum(each[cause] for cause in REJECTIONS)
        assert each['received'] == each['used'] + each['waiting'] + rejected
    codes = [each['status'] for each in published]
    way = [code for code, before in zip(codes, [None, *codes], strict=False) if code != before]
    wanted = (Status.WAITING, Status.FILLING, Status.TRACKING, Status.NO_DATA)
    seen = iter(way)
    assert all(CODES[status] in seen for status in wanted)


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
