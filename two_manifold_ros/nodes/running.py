# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start a node, spin it, and end it cleanly on every signal."""

from __future__ import annotations

import signal
from typing import Any, TYPE_CHECKING

import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.utilities import ok, try_shutdown

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.executors import Executor


def run(create: Callable[[], Any], args: list[str] | None = None) -> int:
    """
    Create a node, spin it until it or somebody else ends it, and return the exit status.

    Parameters
    ----------
    create
        Makes the node once rclpy is up. Its attribute ``exit_status`` is ``None`` as long as it
        wants to go on. An `InputError` is logged and gives status 2.
    args
        Command line, by default the process's own.

    """
    rclpy.init(args=args)
    node = None
    try:
        node = create()
        _spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except InputError as error:
        get_logger('two_manifold_ros').fatal(str(error))
        return 2
    except RCLError:
        # A signal between two calls into rcl shows as this error; anything else is a bug.
        if ok():
            raise
    finally:
        # A second Ctrl-C must not interrupt the cleaning up.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if node is not None:
            node.destroy_node()
        try_shutdown()
    return (node.exit_status if node else None) or 0


def _spin(node: Any) -> None:  # noqa: ANN401 - rclpy has no type for a node that may end
    executor = make_executor()
    executor.add_node(node)
    try:
        # EventsExecutor.spin() without timeout delivers nothing and ignores SIGTERM.
        while ok() and node.exit_status is None:
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
