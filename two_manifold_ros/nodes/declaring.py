# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Declare a table of parameters on a node."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import Settable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rclpy.node import Node
    import rclpy.parameter

    from two_manifold_ros.interface.parameters import Parameter


def declare(
    node: Node, table: Iterable[Parameter], locked: Callable[[], str] = lambda: ''
) -> None:
    """
    Declare a table and refuse changes that would silently do nothing.

    Parameters
    ----------
    node
        Where the parameters are declared.
    table
        All parameters of the node.
    locked
        Says why parameters that are not always settable cannot be changed now, or an empty
        string if they can.

    Raises
    ------
    InputError
        If a value given at start has a wrong type, is out of range or is not a known word.

    """
    by_name = {parameter.name: parameter for parameter in table}
    for parameter in by_name.values():
        _declare_one(node, parameter)

    def check(changes: list[rclpy.parameter.Parameter]) -> SetParametersResult:
        for change in changes:
            parameter = by_name.get(change.name)
            if parameter is None:
                continue
            held = '' if parameter.settable is Settable.ALWAYS else locked()
            reason = held or parameter.refusal(change.value)
            if reason:
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)


def _declare_one(node: Node, parameter: Parameter) -> None:
    try:
        value = node.declare_parameter(
            parameter.name, parameter.default, descriptor(parameter)
        ).value
    # rclpy raises several unrelated types for a wrong type and for a value out of range.
    except Exception as error:
        msg = (
            f'Parameter {parameter.name} cannot be used ({error}): give a {parameter.kind}'
            f'{f", {parameter.constraint}" if parameter.constraint else ""}.'
        )
        raise InputError(msg) from error
    reason = parameter.refusal(value)
    if reason:
        raise InputError(reason)


def values(node: Node, table: Iterable[Parameter]) -> dict[str, Any]:
    """Return the present values of a table, arrays as lists without empty strings."""
    found: dict[str, Any] = {}
    for parameter in table:
        value = node.get_parameter(parameter.name).value
        if isinstance(parameter.default, list):
            value = [entry for entry in value if entry != '']
        found[parameter.name] = value
    return found


def descriptor(parameter: Parameter) -> ParameterDescriptor:
    """Return what ``ros2 param describe`` shows of a parameter."""
    units = f' [{parameter.units}]' if parameter.units else ''
    message = ParameterDescriptor(
        name=parameter.name,
        description=f'{parameter.description}{units}',
        read_only=parameter.settable is Settable.NEVER,
    )
    if parameter.choices:
        message.additional_constraints = f'one of {parameter.constraint}'
    if parameter.low is not None and parameter.high is not None:
        if parameter.kind == 'double':
            limits = FloatingPointRange(from_value=parameter.low, to_value=parameter.high)
            message.floating_point_range = [limits]
        elif parameter.kind == 'integer':
            limits = IntegerRange(from_value=int(parameter.low), to_value=int(parameter.high))
            message.integer_range = [limits]
    return message
