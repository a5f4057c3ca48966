# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters as rclpy and ros2 param see them, and a node never dies of a message."""

# A parameter of the test is called as its type.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rcl_interfaces.msg import ParameterType
from rclpy.parameter import Parameter as RosParameter
from ros_talk import ros

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import NodeParameters, parameter, PARAMETERS, Settable
from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.callbacks import find_shared, GuardedNode
from two_manifold_ros.nodes.running import declare, descriptor, read


class Logging(GuardedNode):
    """A node that keeps its log."""

    def __init__(self) -> None:
        super().__init__('logging')
        self.lines: list[str] = []

    def get_logger(self) -> Logging:
        return self

    def error(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def node(domain: str) -> Iterator[Logging]:
    with ros(domain):
        node = Logging()
        yield node
        node.destroy_node()


def test_an_exception_is_counted_and_logged_once_per_kind(node):
    def broken(value: int) -> None:
        raise ValueError(value % 2)

    guarded = node.guard(broken)
    for value in range(10):
        guarded(value)
    assert node.errors == 10
    assert len(node.lines) == 2
    assert 'in broken' in node.lines[0]


def test_a_service_that_fails_still_answers(node):
    def broken(request: object, response: object) -> object:
        raise RuntimeError((request, response))

    assert node.guard(broken)('request', 'response') == 'response'
    assert node.guard(lambda request, _: request)('request', 'response') == 'request'


def test_what_fails_while_the_middleware_goes_down_is_no_bug(node, monkeypatch):
    def published_in_the_middle_of_it() -> None:
        monkeypatch.setattr(callbacks, 'ok', lambda: False)
        raise RuntimeError

    node.guard(published_in_the_middle_of_it)()
    assert (node.errors, node.lines) == (0, [])


@dataclass(frozen=True)
class Chosen(NodeParameters):
    """Parameters of a test."""

    settable: ClassVar[Settable] = Settable.UNCONFIGURED

    word: str = parameter('', 'a', choices=('a', 'b'))
    list: list[str] = parameter('', [], settable=Settable.NEVER)  # noqa: RUF009 - a field
    rate: float = parameter('A rate.', 2.0, (1.0, 3.0), units='Hz')
    count: int = parameter('', 2, (1, 3))
    next: str = parameter('', 'a', choices=('a', 'b'), settable=Settable.ALWAYS)


def test_descriptors_carry_type_range_units_and_words(talk):
    declare(talk.node, Chosen)
    described = {
        each.name: each
        for each in talk.node.describe_parameters(['rate', 'count', 'word', 'list'])
    }
    assert described['rate'].type == ParameterType.PARAMETER_DOUBLE
    assert described['rate'].floating_point_range[0].to_value == 3.0
    assert described['rate'].description == 'A rate. [Hz]'
    assert described['count'].integer_range[0].from_value == 1
    assert described['word'].additional_constraints == "one of 'a', 'b'"
    assert described['list'].type == ParameterType.PARAMETER_STRING_ARRAY
    assert described['list'].read_only
    assert not described['word'].read_only


def test_values_are_typed_and_an_empty_array_is_empty(talk):
    assert declare(talk.node, Chosen) == Chosen('a', [], 2.0, 2, 'a')


def test_changes_that_would_do_nothing_are_refused(talk):
    reason = ''
    declare(talk.node, Chosen, locked=lambda: reason)

    def change(name: str, value: object) -> str:
        (result,) = talk.node.set_parameters([RosParameter(name, value=value)])
        return '' if result.successful else result.reason

    assert change('word', 'b') == ''
    assert 'choose one of' in change('word', 'c')
    assert change('rate', 9.0) != ''
    assert change('list', ['x']) != ''
    reason = 'too late'
    assert change('word', 'a') == 'too late'
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


def test_every_table_makes_descriptors():
    for parameters in PARAMETERS.values():
        for each in parameters.table():
            assert descriptor(each).name == each.name


@pytest.mark.parametrize(
    ('publishers', 'others'),
    [
        ([('/', 'mine')], None),
        ([('/', 'mine'), ('/car', 'other')], ('/car/other',)),
        # A second node of our own name, and one of which only the endpoint is known.
        ([('/', 'mine'), ('/', 'mine')], ('another node of the same name (/mine)',)),
        ([('/', 'mine'), ('_NODE_NAMESPACE_UNKNOWN_', '_NODE_NAME_UNKNOWN_')], ('',)),
    ],
)
def test_other_publishers_of_an_output(publishers, others):
    infos = [
        SimpleNamespace(topic_type='t', node_namespace=namespace, node_name=name)
        for namespace, name in publishers
    ]
    node: Any = SimpleNamespace(
        count_publishers=lambda _: len(infos),
        get_publishers_info_by_topic=lambda _: infos,
        get_fully_qualified_name=lambda: '/mine',
    )
    assert find_shared(node, ['/odometry']) == ({} if others is None else {'/odometry': others})
