# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start a node, spin it, and end it cleanly on every signal."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.utilities import ok, try_shutdown

from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.middleware import begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.executors import Executor

    from two_manifold_ros.stopping import Stopping

_BAD_INPUT = 2


def run(create: Callable[[], Any], stop: Stopping, args: list[str] | None = None) -> int:
    """
    Create a node, spin it until it or somebody else ends it, and return the exit status.

    Parameters
    ----------
    create
        Makes the node once rclpy is up. Its attribute ``exit_status`` is ``None`` as long as it
        wants to go on. An `InputError` is logged and gives status 2.
    stop
        What signals do: one that comes before the node is there ends the process at once, later
        ones only between two callbacks, so that nothing is left half done.
    args
        Command line, by default the process's own.

    """
    logger = get_logger('two_manifold_ros')
    node = None
    try:
        begin(args)
        node = create()
        stop.at_once = False
        _spin(node, stop)
    except ExternalShutdownException:
        pass
    except InputError as error:
        # What a signal breaks off looks like a parameter that cannot be declared, or the like.
        if not stop.signal:
            logger.fatal(str(error))
            return _BAD_INPUT
    except RCLError:
        # Somebody shut the middleware down between two calls into it; anything else is a bug.
        if ok():
            raise
    finally:
        stop.at_once = False
        if node is not None:
            node.destroy_node()
        try_shutdown()
    return (node.exit_status if node else None) or 0


def _spin(node: Any, stop: Stopping) -> None:  # noqa: ANN401 - rclpy has no type for a node that may end
    executor = make_executor()
    executor.add_node(node)
    try:
        # EventsExecutor.spin() without timeout delivers nothing; signals are heard in between.
        while ok() and node.exit_status is None and not stop.signal:
            executor.spin_once(timeout_sec=0.1)
    finally:
        executor.shutdown()


def make_executor() -> Executor:
    """
    Return the fastest executor there is.

    The events executor takes less CPU than the single-threaded one at every IMU rate, and the
    multi-threaded one stalls at them (ros2/rclpy issue 1452).
    """
    try:
        # Missing in Humble and in Jazzy before 2025.
        from rclpy.experimental.events_executor import EventsExecutor  # noqa: PLC0415
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()
