# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One parameter of a node: what the descriptors and the documentation page are made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Value: TypeAlias = bool | int | float | str | list[int] | list[str]


class Settable(Enum):
    """When a parameter may be changed after the node has started."""

    NEVER = 'at start only'
    UNCONFIGURED = 'while unconfigured'
    BEFORE_TRAINING = 'until training begins'
    ALWAYS = 'at any time'


@dataclass(frozen=True)
class Parameter:
    """
    A parameter of a node.

    Parameters
    ----------
    name
        In words, with the unit at the end where there is one.
    default
        Also gives the type. An array of strings holds one empty string where it is empty,
        because neither YAML files nor rclpy know the type of an array without entries.
    description
        One sentence.
    settable
        When it may be changed.
    units
        Of the value, or of each entry.
    low, high
        Inclusive range of a number.
    choices
        All words that are allowed; none means any.

    """

    name: str
    default: Value
    description: str
    settable: Settable = Settable.NEVER
    units: str = ''
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The type as ROS calls it, such as ``double`` or ``string_array``."""
        if isinstance(self.default, list):
            return 'integer_array' if isinstance(self.default[0], int) else 'string_array'
        names = {bool: 'bool', int: 'integer', float: 'double', str: 'string'}
        return names[type(self.default)]

    @property
    def constraint(self) -> str:
        """What is allowed, in words; empty if anything is."""
        if self.choices:
            return ', '.join(repr(choice) for choice in self.choices)
        if self.low is not None and self.high is not None:
            return f'{self.low:.12g} to {self.high:.12g}'
        return ''

    def refusal(self, value: Value) -> str:
        """Return why a value of the right type is refused, or an empty string."""
        if self.choices and value not in self.choices:
            return f'{self.name} is {value!r}: choose one of {self.constraint}.'
        return ''
