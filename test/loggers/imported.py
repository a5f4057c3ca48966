# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables as files, and the drives in files; not beside `logger_files`, which a fuzzer imports."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from two_manifold_ros.loggers import to_bag
from two_manifold_ros.loggers.columns import parse_columns
from two_manifold_ros.loggers.reading import read_log


def read(*paths: Path, columns: str = '') -> to_bag.Drive:
    return to_bag.drive_of(read_log(paths, parse_columns(columns)))


def write(path: Path, head: str, rows: Iterable[Iterable[Any]], separator: str = ',') -> Path:
    """Return a table with a line for each row."""
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text('\n'.join([head, *(separator.join(map(str, row)) for row in rows)]))
    return path


def written(folder: Path, head: str, cells: Callable[[int], Any], count: int = 100) -> Path:
    """Return a table with the cells of each row."""
    return write(folder / 'a.csv', head, map(cells, range(count)))
