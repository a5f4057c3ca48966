# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks: in the terminal they look as on a page; no benchmark."""

from __future__ import annotations

import math


def table(head: str, rows: list[list[str]], *, aligned: bool = True) -> str:
    """Return a Markdown table; the columns of the head are separated by commas."""
    names = head.split(', ')
    full = ([*row, *[''] * (len(names) - len(row))] for row in rows)
    lines = [names, ['---'] * len(names), *full]
    widths = [max(map(len, column)) if aligned else 0 for column in zip(*lines, strict=True)]
    return '\n'.join('| ' + ' | '.join(map(str.ljust, line, widths)) + ' |' for line in lines)


def metres(value: float | None) -> str:
    """Return an error with two digits, or with all digits before the point."""
    if value is None or not math.isfinite(value):
        return '-'
    return f'{value:.{3 if value < 0.1 else 2 if value < 1.0 else 1 if value < 10.0 else 0}f}'


def percent(value: float | None, digits: int = 0) -> str:
    return '-' if value is None else f'{100.0 * value:.{digits}f} %'
