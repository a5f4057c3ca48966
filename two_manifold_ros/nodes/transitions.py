# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A lifecycle transition that is not possible now is refused, and the node lives on."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from lifecycle_msgs.srv import ChangeState
from rclpy._rclpy_pybind11 import RCLError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.lifecycle import LifecycleNode


def refuse_impossible(node: LifecycleNode) -> None:
    """
    Answer requests for transitions that are not possible, of which rclpy would end the node.

    A lifecycle manager that is late, or was started anew, makes such requests.
    """
    for service in node.services:
        if service.srv_type is ChangeState:
            service.callback = _refusing(service.callback, node.get_logger().warning)


def _refusing(
    change: Callable[[Any, Any], Any], warn: Callable[[str], object]
) -> Callable[[Any, Any], Any]:
    def answer(request: ChangeState.Request, response: ChangeState.Response) -> object:
        try:
            return change(request, response)
        except RCLError:
            asked = request.transition.label or f'number {request.transition.id}'
            warn(f'The transition {asked} was asked for, which is not possible in this state')
            response.success = False
            return response

    return answer
