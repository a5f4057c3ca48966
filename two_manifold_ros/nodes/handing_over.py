# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hand what an updater node has learned to a running filter node."""

from __future__ import annotations

from time import monotonic
from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from two_manifold_ros.adapting.checkpoints import SnapshotFiles
from two_manifold_ros.adapting.handover import Promotion
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import ContestSettings
from two_manifold_ros.interface.topics import DIAGNOSTICS
from two_manifold_ros.nodes.publishing import quality

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rclpy.client import Client
    from rclpy.node import Node

    from two_manifold_ros.adapting.handover import Answer
    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.interface.log import Guard


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


LOOK_EVERY_S = 0.2
"""A handover takes a few steps, and between two of them nothing may be waited for."""


class HandingOver:
    """
    A `Promotion` with a filter node at the other end.

    Parameters
    ----------
    node
        The updater node.
    session
        What it learns, and the samples and positions that it takes.
    chosen
        Its parameters.
    guard
        Of its callbacks.

    Raises
    ------
    InputError
        If there is no folder for the models.

    """

    def __init__(
        self, node: Node, session: UpdaterSession, chosen: Mapping[str, Any], guard: Guard
    ) -> None:
        folder = chosen['hand_over_folder'] or chosen['checkpoint_folder']
        if not folder:
            msg = (
                f'Models are to be handed over to {chosen["filter_node"]}, but there is no folder '
                'for them: set the parameter hand_over_folder or checkpoint_folder.'
            )
            raise InputError(msg)
        self._files = SnapshotFiles(folder, chosen['checkpoint_name'])
        self._client = FilterClient(node, chosen['filter_node'], guard, self._on_filter)
        self._promotion = Promotion(
            self._client,
            self._files,
            ContestSettings(margin=chosen['hand_over_margin']),
            lambda: session.learner.model(),  # noqa: PLW0108 - another learner may be there by then
            node.get_logger().info,
            node.get_logger().warning,
        )
        # Guarded, so that no bug in here keeps the session from learning.
        session.on_sample.append(guard(self._promotion.take))
        session.on_position.append(guard(self._promotion.reach))
        # Not the ROS clock: it may stand still, and filter nodes answer all the same.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(LOOK_EVERY_S, guard(self._look), clock=steady)

    def values(self) -> dict[str, float | str]:
        """Return numbers and words for the diagnostics."""
        return self._promotion.values()

    def troubles(self) -> dict[str, str]:
        """Return a sentence by cause for what lasts."""
        found = {'promotion': self._promotion.obstacle, 'hand_over_folder': self._files.obstacle()}
        return {cause: f'Nothing is handed over: {why}' for cause, why in found.items() if why}

    def close(self) -> None:
        """Let what is being written end."""
        self._promotion.close()

    def _look(self) -> None:
        self._promotion.look(monotonic())

    def _on_filter(self, told: Mapping[str, str]) -> None:
        self._promotion.hear(told, monotonic())
