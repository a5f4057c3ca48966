# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page docs/parameters.md; run this module to print it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from two_manifold_ros.nodes.parameters import PARAMETERS

if TYPE_CHECKING:
    from two_manifold_ros.nodes.parameter import Parameter

_HEAD = """\
# Parameters

This page is written by `python -m two_manifold_ros.nodes.parameter_page` from the tables that the
nodes declare their parameters from; a test compares the two.

*Changeable* says until when `ros2 param set` is accepted; later it is refused with the reason.
"""
_COLUMNS = ('Parameter', 'Type', 'Default', 'Allowed', 'Changeable', 'Meaning')


def parameter_page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for node, table in PARAMETERS.items():
        rows = [_COLUMNS, tuple('---' for _ in _COLUMNS), *map(_row, table)]
        lines = [f'| {" | ".join(row)} |' for row in rows]
        parts.append(f'## {node}\n\n' + '\n'.join(lines) + '\n')
    return '\n'.join(parts)


def _row(parameter: Parameter) -> tuple[str, ...]:
    units = f' {parameter.units}' if parameter.units else ''
    allowed = parameter.constraint.replace("''", 'empty').replace("'", '`')
    return (
        f'`{parameter.name}`',
        parameter.kind,
        f'`{json.dumps(parameter.default)}`{units}',
        f'{allowed}{units}' if allowed else '',
        parameter.settable.value,
        parameter.description,
    )


if __name__ == '__main__':
    sys.stdout.write(parameter_page())
