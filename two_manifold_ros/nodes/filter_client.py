# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node asks of a filter node, and hears from it."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.outputs.topics import DIAGNOSTICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rclpy.client import Client
    from rclpy.node import Node

    from two_manifold_ros.nodes.guarding import Guard
    from two_manifold_ros.nodes.handover import Answer


class FilterClient:
    """
    The `Requests` of a handover, over services that answer later.

    Parameters
    ----------
    node
        That asks.
    name
        Of the filter node; in the same namespace if it does not begin with a slash.
    guard
        Of the node's callbacks.
    heard
        Called with the values by key of each of its diagnostics.

    """

    def __init__(
        self, node: Node, name: str, guard: Guard, heard: Callable[[Mapping[str, str]], object]
    ) -> None:
        self.name = name if name.startswith('/') else f'{node.get_namespace().rstrip("/")}/{name}'
        self._guard = guard
        self._heard = heard
        namespace = self.name.rpartition('/')[0]
        self._set = node.create_client(SetParameters, f'{self.name}/set_parameters')
        self._swap = node.create_client(Trigger, f'{namespace}/swap_model')
        self._take_back = node.create_client(Trigger, f'{namespace}/take_back_model')
        node.create_subscription(
            DiagnosticArray,
            f'{namespace}/{DIAGNOSTICS.name}',
            guard(self._on_diagnostics),
            quality(DIAGNOSTICS),
        )

    def name_next(self, path: str, answer: Answer) -> None:
        """Set the parameter ``next_model``."""
        parameters = [Parameter('next_model', value=path).to_parameter_msg()]
        self._ask(self._set, SetParameters.Request(parameters=parameters), _refusal_to_set, answer)

    def swap(self, answer: Answer) -> None:
        """Call the service ``swap_model``."""
        self._ask(self._swap, Trigger.Request(), _refusal, answer)

    def take_back(self, answer: Answer) -> None:
        """Call the service ``take_back_model``."""
        self._ask(self._take_back, Trigger.Request(), _refusal, answer)

    def _ask(
        self, client: Client, request: object, read: Callable[[Any], str], answer: Answer
    ) -> None:
        if not client.service_is_ready():
            answer('its services cannot be found')
            return
        # Waiting for the answer here would keep the executor from ever bringing it.
        future = client.call_async(request)
        future.add_done_callback(self._guard(lambda done: answer(read(done.result()))))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self.name.lstrip('/'):
                self._heard({each.key: each.value for each in status.values})


def _refusal(response: Trigger.Response) -> str:
    return '' if response.success else response.message or 'refused without a reason'


def _refusal_to_set(response: SetParameters.Response) -> str:
    (result,) = response.results
    return '' if result.successful else result.reason or 'refused without a reason'
