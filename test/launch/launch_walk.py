# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes started by launch files, with launch configurations that reach into included files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launch_double import describe, Remembered


def started(path: Path, given: dict[str, str]) -> dict[str, list[Any]]:
    """
    Return the parameters of every node that a launch file describes.

    As in launch itself there is one table of configurations: an argument's default counts only
    where that name has not been set before, by an including file either.

    Parameters
    ----------
    path
        Of the launch file.
    given
        Launch arguments; those that have no default must be there.

    Returns
    -------
    dict
        By executable: names of files as text, and dictionaries with all values as text.

    """
    return dict(_nodes(path, dict(given)))


def _nodes(path: Path, table: dict[str, str]) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = []
    actions: Any = describe(path).args[0]
    for action in actions:
        kind = type(action).__name__
        if kind == 'DeclareLaunchArgument':
            name = action.args[0]
            if name not in table:
                table[name] = _text(action.kwargs['default_value'], table)
        elif kind == 'IncludeLaunchDescription':
            source = path.parent / Path(_text(action.args[0].args[0], table)).name
            for name, value in action.kwargs['launch_arguments']:
                table[name] = _text(value, table)
            found += _nodes(source, table)
        elif kind == 'Node':
            parts = action.kwargs.get('parameters', [])
            found.append(
                (action.kwargs['executable'], [_parameters(each, table) for each in parts])
            )
    return found


def _parameters(part: object, table: dict[str, str]) -> object:
    if isinstance(part, dict):
        return {name: _text(value, table) for name, value in part.items()}
    return _text(part, table)


def _text(part: Any, table: dict[str, str]) -> str:  # noqa: ANN401 - any stand-in
    if not isinstance(part, Remembered):
        return str(part)
    content: Any = part.args[0]
    kind = type(part).__name__
    if kind == 'LaunchConfiguration':
        return table[content]
    if kind == 'PathJoinSubstitution':
        return '/'.join(_text(each, table) for each in content)
    return _text(content, table)
