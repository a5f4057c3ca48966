# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Readable tables on standard output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

# Wide enough for our tables where no terminal says how wide it is.
_PIPED_WIDTH = 120
_NUMBER = re.compile(r'[-+±]?[\d.]|nan$|-$|$')


def console() -> Console:
    """Return a console for standard output as it is now."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=_PIPED_WIDTH)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """
    Print a table; columns that hold numbers only are aligned to the right.

    Parameters
    ----------
    title
        Printed above the table, may be empty.
    header
        Column names, units included.
    rows
        Cells as text.

    """
    table = Table(title=escape(title) or None, title_justify='left', box=box.SIMPLE_HEAD)
    for index, name in enumerate(header):
        numeric = all(_NUMBER.match(row[index]) for row in rows)
        table.add_column(escape(name), justify='right' if numeric else 'left')
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console().print(table)
