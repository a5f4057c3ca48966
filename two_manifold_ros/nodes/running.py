# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start the middleware, declare parameters, spin a node, and end it cleanly on every signal."""

from __future__ import annotations

from array import array
from collections.abc import Callable
import os
from pathlib import Path
import sys
import tempfile
from typing import Any, TYPE_CHECKING, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import ok, try_shutdown

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import (
    NodeParameters,
    Parameter,
    Settable,
    unknown_parameters,
)

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.parameter import Parameter as Change

    from two_manifold_ros.processes import Stopping


def log_trouble() -> str:
    """Return why no log file can be written by the rules of rcl_logging, or an empty string."""
    given, ros, home = map(os.environ.get, ('ROS_LOG_DIR', 'ROS_HOME', 'HOME'))
    name = given or (ros and f'{ros}/log') or (home and f'{home}/.ros/log')
    if not name:
        return 'No log file is written, because HOME is not set: set it, or ROS_LOG_DIR.'
    folder = Path(name).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return (
            f'No log file is written, because {folder} cannot be written ({error.strerror}): set '
            'ROS_LOG_DIR to a folder that can.'
        )
    return ''


def start_middleware(args: list[str] | None) -> None:
    """
    Start the middleware, without a log file if there is no place for one, which is warned of.

    An `InputError` says what is wrong with the command line or with a file of parameters.
    """
    given = list(sys.argv if args is None else args)
    trouble = log_trouble()
    if trouble:
        given += ['--ros-args', '--disable-external-lib-logs']
    try:
        rclpy.init(args=given, signal_handler_options=SignalHandlerOptions.NO)
    # Wrong arguments and files of parameters; rclpy has no common class for them but this.
    except RuntimeError as error:
        raise InputError(f'ROS 2 cannot be started: {error}') from error
    if trouble:
        get_logger('two_manifold_ros').warning(trouble)


Chosen = TypeVar('Chosen', bound=NodeParameters)


def declare(
    node: Node, parameters: type[Chosen], locked: Callable[[], str] = lambda: ''
) -> Chosen:
    """
    Declare all parameters, refuse changes that would silently do nothing, and return the values.

    What was given at the start under another name is warned of; an `InputError` refuses a value
    of a wrong type, out of range or that is not a known word. ``locked`` returns why parameters
    that are not always settable cannot be changed now, or an empty string if they can.
    """
    table = {parameter.name: parameter for parameter in parameters.table()}
    for name, parameter in table.items():
        try:
            value = node.declare_parameter(name, parameter.default, descriptor(parameter)).value
        # rclpy raises several unrelated types for a wrong type and for a value out of range.
        except Exception as error:
            raise InputError(
                f'Parameter {name} cannot be used ({error}): give a {parameter.kind}'
                f'{f", {parameter.constraint}" if parameter.constraint else ""}.'
            ) from error
        if reason := parameter.refusal(value):
            raise InputError(reason)

    def check(changes: list[Change]) -> SetParametersResult:
        for change in changes:
            parameter = table.get(change.name)
            # A file that was dumped gives all of them, most with the value that they have.
            if parameter is None or _as_list(change.value) == _as_list(
                node.get_parameter(change.name).value
            ):
                continue
            reason = '' if parameter.settable is Settable.ALWAYS else locked()
            if parameter.settable is Settable.NEVER:
                reason = f'{change.name} can be set at start only: restart the node with it'
            if reason := reason or parameter.refusal(change.value):
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    # ROS ignores parameters that no node declares. It has no public way to ask for those given.
    stray = unknown_parameters(node._parameter_overrides, table, node.get_name())  # noqa: SLF001
    if stray:
        node.get_logger().warning(stray)
    return read(node, parameters)


def _as_list(value: object) -> object:
    """Return a value, an array of a message as the list that a default is."""
    return list(value) if isinstance(value, array | tuple) else value


def read(node: Node, parameters: type[Chosen]) -> Chosen:
    """Return the present values, arrays as lists without empty strings."""
    found = {}
    for parameter in parameters.table():
        value = node.get_parameter(parameter.name).value
        if isinstance(parameter.default, list):
            value = [entry for entry in value if entry != '']
        found[parameter.name] = value
    return parameters(**found)


def descriptor(parameter: Parameter) -> ParameterDescriptor:
    """Return the descriptor of a parameter for ``ros2 param describe``."""
    units = f' [{parameter.units}]' if parameter.units else ''
    # One that is declared as read-only is refused even with the value that it has.
    message = ParameterDescriptor(
        name=parameter.name,
        description=f'{parameter.description}{units} Settable {parameter.settable.value}.',
    )
    if parameter.choices:
        message.additional_constraints = f'one of {parameter.constraint}'
    low, high = parameter.low, parameter.high
    if low is not None and high is not None:
        if parameter.kind == 'double':
            message.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        else:
            message.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
    return message


def run(
    create: Callable[[], Any],
    stop: Stopping,
    args: list[str] | None = None,
    *,
    finishing: bool = False,
) -> int:
    """
    Create a node, spin it until it ends or is stopped, and return the exit status.

    An `InputError` is logged and gives status 2. A signal before the node is there ends the
    process at once, later ones between two callbacks. Of a node that is started for one result
    and not ``finished`` the status is then 128 and the number of the signal, as a shell has it.
    """
    logger = get_logger('two_manifold_ros')
    node = None
    try:
        start_middleware(args)
        node = create()
        stop.at_once = False
        executor = make_executor()
        executor.add_node(node)
        try:
            # EventsExecutor.spin() without timeout delivers nothing; signals are heard in between.
            while ok() and node.exit_status is None and not stop.signal:
                executor.spin_once(timeout_sec=0.1)
        finally:
            executor.shutdown()
    except ExternalShutdownException:
        pass
    except InputError as error:
        # What a signal breaks off looks like a parameter that cannot be declared, or the like.
        if not stop.signal:
            logger.fatal(str(error))
            return 2
    except RCLError:
        # The middleware was shut down between two calls into it; anything else is a bug.
        if ok():
            raise
    finally:
        stop.at_once = False
        if node is not None:
            node.destroy_node()
        try_shutdown()
    if node is not None and node.exit_status is not None:
        return int(node.exit_status)
    unfinished = finishing and not (node is not None and node.finished)
    return 128 + stop.signal if unfinished and stop.signal else 0


def make_executor() -> Executor:
    """Return the executor of the least CPU; the multi-threaded one stalls (rclpy issue 1452)."""
    try:
        # Missing in Humble and in Jazzy before 2025.
        from rclpy.experimental.events_executor import EventsExecutor  # noqa: PLC0415
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()
