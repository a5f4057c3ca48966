# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hands what an updater node has learned to a running filter node."""

from __future__ import annotations

from time import monotonic
from typing import Any, TYPE_CHECKING

from rclpy.clock import Clock
from rclpy.clock_type import ClockType

from two_manifold_ros.adapting.contest_settings import ContestSettings
from two_manifold_ros.adapting.snapshot_files import SnapshotFiles
from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.filter_client import FilterClient
from two_manifold_ros.nodes.promotion import Promotion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rclpy.node import Node

    from two_manifold_ros.nodes.guarding import Guard
    from two_manifold_ros.nodes.updater_session import UpdaterSession

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
