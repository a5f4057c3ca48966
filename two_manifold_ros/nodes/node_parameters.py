# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Declare the parameters of a node, and read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import NodeParameters, Settable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node
    import rclpy.parameter

    from two_manifold_ros.interface.parameters import Parameter

Chosen = TypeVar('Chosen', bound=NodeParameters)


def declare(
    node: Node, parameters: type[Chosen], locked: Callable[[], str] = lambda: ''
) -> Chosen:
    """
    Declare all parameters, refuse changes that would silently do nothing, and return the values.

    Parameters
    ----------
    node
        Node on which the parameters are declared.
    parameters
        Parameters of the node.
    locked
        Returns why parameters that are not always settable cannot be changed now, or an empty
        string if they can.

    Raises
    ------
    InputError
        If a value given at start has a wrong type, is out of range or is not a known word.

    """
    table = {parameter.name: parameter for parameter in parameters.table()}
    for parameter in table.values():
        _declare_one(node, parameter)

    def check(changes: list[rclpy.parameter.Parameter]) -> SetParametersResult:
        for change in changes:
            parameter = table.get(change.name)
            if parameter is None:
                continue
            held = '' if parameter.settable is Settable.ALWAYS else locked()
            reason = held or parameter.refusal(change.value)
            if reason:
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    return read(node, parameters)


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
    """Return what ``ros2 param describe`` shows of a parameter."""
    units = f' [{parameter.units}]' if parameter.units else ''
    message = ParameterDescriptor(
        name=parameter.name,
        description=f'{parameter.description}{units}',
        read_only=parameter.settable is Settable.NEVER,
    )
    if parameter.choices:
        message.additional_constraints = f'one of {parameter.constraint}'
    low, high = parameter.low, parameter.high
    if low is not None and high is not None:
        if parameter.kind == 'double':
            message.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        else:
            limits = IntegerRange(from_value=int(low), to_value=int(high))
            message.integer_range = [limits]
    return message
