# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for launch and its like that only remember what they were given."""

from collections.abc import Iterator, Mapping
from pathlib import Path
import re
import sys
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import pytest


class Remembered:
    """An object that keeps the arguments it was made with."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.args = args
        self.kwargs = kwargs


class Double(ModuleType):
    """A module in which every name is a class of its own."""

    def __getattr__(self, name: str) -> type:
        if name.startswith('__'):
            raise AttributeError(name)
        made = type(name, (Remembered,), {})
        setattr(self, name, made)
        return made


class Asked(dict[str, str]):
    """The table of configurations, which remembers the ``names`` that it was asked for."""

    names: set[str]

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return super().__getitem__(name)


def describe(path: Path, missing: str = '', **given: str) -> Remembered:
    """
    Execute a launch file on the stand-ins with the arguments ``given``; return its description.

    It has all names ``declared`` and ``asked`` for, the ``warnings``, and the ``table`` of values;
    what an OpaqueFunction returned is among its keywords as ``made``.
    """

    def find(package: str) -> str:
        if package == missing:
            raise KeyError(package)
        return f'/opt/{package}'

    warnings: list[str] = []
    text = path.read_text()
    imported = {
        'ament_index_python.packages',
        *re.findall(r'^from (launch\S*) import', text, re.MULTILINE),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in imported | {name.partition('.')[0] for name in imported}:
            double = Double(name)
            double.__path__ = []
            patch.setitem(sys.modules, name, double)
        patch.setattr(sys.modules['ament_index_python.packages'], 'get_package_prefix', find)
        if 'launch.logging' in imported:
            logger = SimpleNamespace(warning=warnings.append)
            patch.setattr(sys.modules['launch.logging'], 'get_logger', lambda _: logger)
        names: dict[str, Any] = {}
        exec(compile(text, path, 'exec'), names)  # noqa: S102 - our own launch file
        description = names['generate_launch_description']()
    actions = description.args[0]
    declared = [each for each in actions if type(each).__name__ == 'DeclareLaunchArgument']
    table: dict[str, str] = {}
    for each in declared:
        table[each.args[0]] = text_of(each.kwargs.get('default_value', ''), table)
    asked = Asked(table | given)
    asked.names = set()
    for each in actions:
        if type(each).__name__ == 'OpaqueFunction':
            context = SimpleNamespace(launch_configurations=asked)
            each.kwargs['made'] = each.kwargs['function'](context)
    description.asked, description.declared = asked.names, set(table)
    description.warnings, description.table = warnings, asked
    return description


def everything(part: object) -> Iterator[Remembered]:
    """Yield every object in a description, and what launch files' callbacks would add."""
    if isinstance(part, Remembered):
        yield part
        # What an OpaqueFunction adds was made by `describe`.
        kwargs = {name: each for name, each in part.kwargs.items() if name != 'function'}
        yield from everything([part.args, kwargs])
    elif isinstance(part, Mapping):
        yield from everything(list(part.keys()) + list(part.values()))
    elif isinstance(part, list | tuple) or type(part).__name__ == 'dict_items':
        for each in part:
            yield from everything(each)
    elif isinstance(part, FunctionType):
        running = SimpleNamespace(launch_configurations={'rviz': 'true'}, is_shutdown=False)
        yield from everything(part(SimpleNamespace(returncode=0), running))


def named(description: Remembered, kind: str) -> list[Any]:
    return [part for part in everything(description) if type(part).__name__ == kind]


def parameters(description: Remembered) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the file of parameters and the values of each of our nodes, by executable."""
    found = {}
    for node in named(description, 'Node'):
        if node.kwargs['package'] == 'two_manifold_ros':
            file, *given = (each for each in node.kwargs['parameters'] if each)
            values = {name: value for part in given for name, value in part.items()}
            texts = {name: text_of(value, description.table) for name, value in values.items()}
            found[node.kwargs['executable']] = text_of(file, description.table), texts
    return found


def text_of(part: Any, table: dict[str, str]) -> str:  # noqa: ANN401 - any stand-in
    """Return a substitution in words."""
    if not isinstance(part, Remembered):
        return str(part)
    content: Any = part.args[0] if part.args else part.kwargs['text']
    kind = type(part).__name__
    if kind == 'LaunchConfiguration':
        return table[content]
    if kind == 'PathJoinSubstitution':
        return '/'.join(text_of(each, table) for each in content)
    return text_of(content, table)
