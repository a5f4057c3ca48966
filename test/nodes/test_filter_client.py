# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a filter node goes to the right one, and its answers are read rightly."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.task import Future
from std_srvs.srv import Trigger
from two_manifold_ros.nodes.handing_over import FilterClient, HandingOver

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.log import Guard

if TYPE_CHECKING:
    from collections.abc import Callable


class FakeClient:
    """A service that answers when the test says so."""

    def __init__(self) -> None:
        self.ready = True
        self.asked: list[Any] = []
        self.future = Future()

    def service_is_ready(self) -> bool:
        return self.ready

    def call_async(self, request: object) -> Future:
        self.asked.append(request)
        return self.future


class FakeNode:
    """Remembers what was made of it."""

    def __init__(self, namespace: str = '/') -> None:
        self._namespace = namespace
        self.clients: dict[str, FakeClient] = {}
        self.topics: dict[str, Callable[[DiagnosticArray], object]] = {}

    def get_namespace(self) -> str:
        return self._namespace

    def create_client(self, _: object, name: str) -> FakeClient:
        self.clients[name] = FakeClient()
        return self.clients[name]

    def create_subscription(
        self, _: object, topic: str, callback: Callable[[DiagnosticArray], object], __: object
    ) -> None:
        self.topics[topic] = callback


class Bench:
    def __init__(self, name: str = 'filter_node', namespace: str = '/') -> None:
        self.node = FakeNode(namespace)
        self.heard: list[dict[str, str]] = []
        self.answers: list[str] = []
        self.bugs: list[object] = []
        guard = Guard(self.bugs.append)
        self.client = FilterClient(self.node, name, guard, self.heard.append)

    def answer(self, service: str, response: object) -> str:
        self.node.clients[service].future.set_result(response)
        return self.answers[-1]


@pytest.mark.parametrize(
    ('name', 'namespace', 'full', 'beside'),
    [
        ('filter_node', '/', '/filter_node', ''),
        ('filter_node', '/car', '/car/filter_node', '/car'),
        ('/other/filter', '/car', '/other/filter', '/other'),
    ],
)
def test_names(name: str, namespace: str, full: str, beside: str) -> None:
    bench = Bench(name, namespace)
    assert bench.client.name == full
    assert set(bench.node.clients) == {
        f'{full}/set_parameters',
        f'{beside}/swap_model',
        f'{beside}/take_back_model',
    }
    assert set(bench.node.topics) == {f'{beside}/diagnostics'}


def test_only_the_diagnostics_of_the_node_meant_are_heard() -> None:
    bench = Bench(namespace='/car')
    statuses = [
        DiagnosticStatus(name=name, values=[KeyValue(key='model', value=name)])
        for name in ('filter_node', 'car/filter_node', 'car/updater_node')
    ]
    bench.node.topics['/car/diagnostics'](DiagnosticArray(status=statuses))
    assert bench.heard == [{'model': 'car/filter_node'}]


@pytest.mark.parametrize(('success', 'word', 'read'), [(True, 'x', ''), (False, 'x', 'x')])
def test_answers_to_swap_and_take_back(success: bool, word: str, read: str) -> None:
    bench = Bench()
    bench.client.swap(bench.answers.append)
    bench.client.take_back(bench.answers.append)
    assert bench.answers == []
    response = Trigger.Response(success=success, message=word)
    assert bench.answer('/swap_model', response) == read
    assert bench.answer('/take_back_model', response) == read


def test_a_refusal_without_a_reason_is_one() -> None:
    bench = Bench()
    bench.client.swap(bench.answers.append)
    assert bench.answer('/swap_model', Trigger.Response()) == 'refused without a reason'


def test_the_next_model_is_a_parameter() -> None:
    bench = Bench()
    bench.client.name_next('new.npz', bench.answers.append)
    service = '/filter_node/set_parameters'
    ((parameter,),) = [each.parameters for each in bench.node.clients[service].asked]
    assert (parameter.name, parameter.value.string_value) == ('next_model', 'new.npz')
    refused = SetParametersResult(successful=False, reason='locked')
    assert bench.answer(service, SetParameters.Response(results=[refused])) == 'locked'


def test_a_service_that_is_not_there_is_a_refusal() -> None:
    bench = Bench()
    bench.node.clients['/swap_model'].ready = False
    bench.client.swap(bench.answers.append)
    assert bench.answers == ['its services cannot be found']


def test_a_call_that_fails_is_a_bug_that_is_told() -> None:
    bench = Bench()
    bench.client.swap(bench.answers.append)
    bench.node.clients['/swap_model'].future.set_exception(RuntimeError('broken'))
    assert bench.answers == []
    assert len(bench.bugs) == 1


def test_without_a_folder_nothing_can_be_handed_over() -> None:
    chosen = {'filter_node': 'f', 'hand_over_folder': '', 'checkpoint_folder': ''}
    with pytest.raises(InputError, match='set the parameter hand_over_folder'):
        HandingOver(FakeNode(), SimpleNamespace(), chosen, Guard(print))
