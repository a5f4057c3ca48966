# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hand what an updater node has learned to a running filter node."""

from __future__ import annotations

from time import monotonic
from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from two_manifold_ros.adapting.checkpoints import SnapshotFiles
from two_manifold_ros.adapting.promotion import Promotion
from two_manifold_ros.adapting.shadow_filters import HandOverSettings
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.topics import Topics
from two_manifold_ros.nodes.publishing import qos

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rclpy.client import Client

    from two_manifold_ros.adapting.promotion import Answer
    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.interface.parameters import UpdaterParameters
    from two_manifold_ros.nodes.callbacks import GuardedNode


class FilterClient:
    """
    Requests to a filter node, over services that answer later.

    Parameters
    ----------
    node
        Node that asks.
    name
        Name of the filter node; in the same namespace if it does not begin with a slash.

    """

    def __init__(self, node: GuardedNode, name: str) -> None:
        self.name = name if name.startswith('/') else f'{node.get_namespace().rstrip("/")}/{name}'
        self._guard = node.guard
        self._node = node
        self._namespace = self.name.rpartition('/')[0]
        self._set = node.create_client(SetParameters, f'{self.name}/set_parameters')
        self._swap = node.create_client(Trigger, f'{self._namespace}/swap_model')
        self._take_back = node.create_client(Trigger, f'{self._namespace}/take_back_model')

    def listen(self, hear: Callable[[Mapping[str, str]], object]) -> None:
        """Call back with the values by key of each of the filter node's diagnostics."""

        def on_diagnostics(message: DiagnosticArray) -> None:
            for status in message.status:
                if status.name == self.name.lstrip('/'):
                    hear({each.key: each.value for each in status.values})

        self._node.create_subscription(
            DiagnosticArray,
            f'{self._namespace}/{Topics.DIAGNOSTICS.name}',
            self._guard(on_diagnostics),
            qos(Topics.DIAGNOSTICS),
        )

    def name_next(self, path: str, answer: Answer) -> None:
        """Set the parameter ``next_model``."""
        parameters = [Parameter('next_model', value=path).to_parameter_msg()]
        self._ask(self._set, SetParameters.Request(parameters=parameters), answer)

    def swap(self, answer: Answer) -> None:
        """Call the service ``swap_model``."""
        self._ask(self._swap, Trigger.Request(), answer)

    def take_back(self, answer: Answer) -> None:
        """Call the service ``take_back_model``."""
        self._ask(self._take_back, Trigger.Request(), answer)

    def _ask(self, client: Client, request: object, answer: Answer) -> None:
        if not client.service_is_ready():
            answer('its services cannot be found')
            return
        # Waiting for the answer here would keep the executor from ever bringing it.
        future = client.call_async(request)
        future.add_done_callback(self._guard(lambda done: answer(_refusal(done.result()))))


def _refusal(response: Any) -> str:  # noqa: ANN401 - generated classes
    if isinstance(response, SetParameters.Response):
        (result,) = response.results
        return '' if result.successful else result.reason or 'refused without a reason'
    return '' if response.success else response.message or 'refused without a reason'


class Promoter:
    """
    A `Promotion` with a filter node at the other end.

    Parameters
    ----------
    node
        The updater node.
    session
        Its session, whose samples, positions and learner are used.
    chosen
        Its parameters.

    Raises
    ------
    InputError
        If there is no folder for the models.

    """

    def __init__(
        self, node: GuardedNode, session: UpdaterSession, chosen: UpdaterParameters
    ) -> None:
        folder = chosen.hand_over_folder or chosen.checkpoint_folder
        if not folder:
            msg = (
                f'Models are to be handed over to {chosen.filter_node}, but there is no folder '
                'for them: set the parameter hand_over_folder or checkpoint_folder.'
            )
            raise InputError(msg)
        self._files = SnapshotFiles(folder, chosen.checkpoint_name)
        client = FilterClient(node, chosen.filter_node)
        settings = HandOverSettings(margin=chosen.hand_over_margin)
        promotion = self._promotion = Promotion(client, self._files, settings)
        client.listen(lambda told: promotion.hear(told, monotonic()))
        # Guarded, so that no bug in here keeps the session from learning.
        session.on_sample.append(node.guard(promotion.take))
        session.on_position.append(node.guard(promotion.add_reference))
        # A hand-over takes a few steps, and between two of them nothing may be waited for.
        node.every(0.2, lambda: self._look(node, session))

    def _look(self, node: GuardedNode, session: UpdaterSession) -> None:
        """Let the promotion go on, and log what happened."""
        try:
            self._promotion.look(monotonic(), session.learner.model())
        finally:
            for notice in self._promotion.drain_notices():
                if notice.is_warning:
                    node.get_logger().warning(notice.text)
                else:
                    node.get_logger().info(notice.text)

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
