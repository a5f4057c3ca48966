# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for launch and launch_ros that only remember what they were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import sys
from types import FunctionType, ModuleType
from typing import Any, TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

MODULES = (
    'launch',
    'launch.actions',
    'launch.conditions',
    'launch.event_handlers',
    'launch.events',
    'launch.events.process',
    'launch.launch_description_sources',
    'launch.substitutions',
    'launch_ros',
    'launch_ros.actions',
    'launch_ros.parameter_descriptions',
    'launch_ros.substitutions',
)


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


def describe(path: Path) -> Remembered:
    """Execute a launch file on the stand-ins and return its description."""
    with pytest.MonkeyPatch.context() as patch:
        for name in MODULES:
            double = Double(name)
            double.__path__ = []
            patch.setitem(sys.modules, name, double)
        names: dict[str, Any] = {}
        exec(compile(path.read_text(), path, 'exec'), names)  # noqa: S102 - our own launch file
        described: Remembered = names['generate_launch_description']()
    return described


def everything(part: object) -> Iterator[Remembered]:
    """Yield every object in a description, and what launch files' callbacks would add."""
    if isinstance(part, Remembered):
        yield part
        yield from everything([part.args, part.kwargs])
    elif isinstance(part, Mapping):
        yield from everything(list(part.keys()) + list(part.values()))
    elif isinstance(part, list | tuple) or type(part).__name__ == 'dict_items':
        for each in part:
            yield from everything(each)
    elif isinstance(part, FunctionType):
        yield from everything(part(_FINISHED, None))


def named(description: Remembered, kind: str) -> list[Any]:
    """Return all objects whose class has this name."""
    return [part for part in everything(description) if type(part).__name__ == kind]


class _Finished:
    returncode = 0


_FINISHED = _Finished()
