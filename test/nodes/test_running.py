# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start and end of a node, parameters, machine troubles, messages and what it publishes."""

# A parameter of the test is called as its type.
from __future__ import annotations

from dataclasses import dataclass, replace
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from filter_runs import estimate_with
import numpy as np
from rcl_interfaces.msg import ParameterType
from rclpy.parameter import Parameter as RosParameter
from ros_talk import CHECKOUT, ros
from std_msgs.msg import String

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.messages import choose_scene, Scene, stamp_fields, Topics
from two_manifold_ros.interface.parameters import NodeParameters, parameter, Settable
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.__main__ import NODES, run_node
from two_manifold_ros.nodes.callbacks import EstimatePublishers, GuardedNode
from two_manifold_ros.nodes.running import declare, log_trouble, read
from two_manifold_ros.recordings.ros_messages import to_message

PROGRAM = """
import signal, sys
from rclpy.node import Node
from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.running import run
from two_manifold_ros.processes import Stopping

kind, finishing = sys.argv[1].split(',')

class Learning(Node):
    def __init__(self):
        super().__init__('learning')
        self.exit_status = None
        self.finished = finishing == 'finished'
        self.create_timer(0.01, self.learn)
        if kind == 'declaring':
            try:
                signal.raise_signal(signal.SIGTERM)
            except KeyboardInterrupt:
                raise InputError('no such model')
        if kind == 'refusing':
            raise InputError('no such model')

    def learn(self):
        print('half learned')
        if kind == 'working':
            signal.raise_signal(signal.SIGINT)
        else:
            self.exit_status = 7
        print('learned')

    def destroy_node(self):
        signal.raise_signal(signal.SIGTERM)
        super().destroy_node()
        print('kept')

with Stopping() as stop:
    sys.exit(run(Learning, stop, [], finishing=finishing != 'never'))
"""


@pytest.mark.usefixtures('domain', '_nothing_is_set')
@pytest.mark.parametrize(
    ('kind', 'finishing', 'status', 'said'),
    [
        ('working', 'never', 0, 'half learned\nlearned\nkept\n'),
        ('working', 'unfinished', 130, 'half learned\nlearned\nkept\n'),
        ('working', 'finished', 0, 'half learned\nlearned\nkept\n'),
        ('ending by itself', 'unfinished', 7, 'half learned\nlearned\nkept\n'),
        ('declaring', 'unfinished', 143, ''),
        ('refusing', 'unfinished', 2, ''),
    ],
)
def test_a_signal_ends_it_between_two_callbacks(kind, finishing, status, said):
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, f'{kind},{finishing}'],
        cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=120.0,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (status, said), done.stderr
    assert ('no such model' in done.stderr) == (kind == 'refusing')
    assert 'Traceback' not in done.stderr


@pytest.fixture
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('ROS_LOG_DIR', 'ROS_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures('_nothing_is_set')
def test_the_folder_of_logs_is_made_where_ros_would_make_it(tmp_path, monkeypatch):
    for name, below in (('HOME', '.ros/log'), ('ROS_HOME', 'log'), ('ROS_LOG_DIR', '.')):
        monkeypatch.setenv(name, str(tmp_path / name))
        assert log_trouble() == ''
        assert list((tmp_path / name / below).iterdir()) == []


def test_every_node_has_help_and_arguments_of_none_are_refused(capsys):
    for name in NODES:
        assert run_node(name, [name, '--help']) == 0
        assert f'usage: {name} --ros-args' in capsys.readouterr().out
    for wrong in ('--version', 'model.npz', '-p'):
        given = [wrong, '--ros-args', '-p', 'model:=m']
        assert run_node('filter_node', ['filter_node', *given]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert wrong in line
        assert '--ros-args' in line


@dataclass(frozen=True)
class Chosen(NodeParameters):
    settable: ClassVar[Settable] = Settable.UNCONFIGURED

    word: str = parameter('', 'a', choices=('a', 'b'))
    list: list[str] = parameter('', [], settable=Settable.NEVER)  # noqa: RUF009 - a field
    rate: float = parameter('A rate.', (2.0, 1.0, 3.0, 'Hz'))
    count: int = parameter('', (2, 1, 3, ''))
    next: str = parameter('', 'a', choices=('a', 'b'), settable=Settable.ALWAYS)
    numbers: list[int] = parameter('', [1, 2], settable=Settable.NEVER)  # noqa: RUF009 - a field


def test_descriptors_carry_type_range_units_and_words(talk):
    assert declare(talk.node, Chosen) == Chosen('a', [], 2.0, 2, 'a', [1, 2])
    rate, count, word, listed = talk.node.describe_parameters(['rate', 'count', 'word', 'list'])
    assert rate.type == ParameterType.PARAMETER_DOUBLE
    assert rate.floating_point_range[0].to_value == 3.0
    assert rate.description == 'A rate. [Hz] Settable while unconfigured.'
    assert count.integer_range[0].from_value == 1
    assert word.additional_constraints == "one of 'a', 'b'"
    assert listed.type == ParameterType.PARAMETER_STRING_ARRAY
    assert listed.description.endswith('Settable at start only.')


def test_changes_that_would_do_nothing_are_refused(talk):
    reason = ''
    declare(talk.node, Chosen, locked=lambda: reason)

    def change(name: str, value: object) -> str:
        (result,) = talk.node.set_parameters([RosParameter(name, value=value)])
        return '' if result.successful else result.reason

    assert change('word', 'b') == ''
    assert 'choose one of' in change('word', 'c')
    assert change('rate', 9.0) != ''
    assert 'restart the node' in change('list', ['x'])
    reason = 'too late'
    assert change('word', 'a') == 'too late'
    # All of a file that was dumped, for example, as a message brings it.
    dumped = talk.node.get_parameters([each.name for each in Chosen.table()])
    brought = [RosParameter.from_parameter_msg(each.to_parameter_msg()) for each in dumped]
    assert all(each.successful for each in talk.node.set_parameters(brought))
    assert change('next', 'b') == ''
    assert 'choose one of' in change('next', 'c')
    assert read(talk.node, Chosen).word == 'b'


@pytest.mark.parametrize(
    ('name', 'value'), [('rate', 9.0), ('rate', 'x'), ('word', 'c'), ('count', 0)]
)
def test_a_bad_value_at_start_is_one_clear_sentence(talk, name, value):
    talk.node._parameter_overrides[name] = RosParameter(name, value=value)
    with pytest.raises(InputError, match=name):
        declare(talk.node, Chosen)


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
        shared = callbacks.find_shared(graph(*publishers), ['/odometry'])
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
        assert callbacks.ImuTopic(node).is_published(name) == published


ESTIMATE = estimate_with(velocity=np.array([1.0, 0.0]), velocity_covariance=1e-4 * np.eye(2))


@pytest.mark.usefixtures('text_for_transforms')
def test_transforms_are_those_to_the_frame_of_an_odometry(talk, model_path, monkeypatch):
    def written(msgtype: str, fields: Any) -> Any:  # noqa: ANN401 - as to_message
        assert msgtype == callbacks.TRANSFORM_TYPE
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
