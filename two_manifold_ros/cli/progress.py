# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error, for what takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType

    from rich.progress import Progress as Bar
    from typing_extensions import Self

Item = TypeVar('Item')

PATIENCE_S = 2.0
LINE_EVERY_S = 5.0


class Progress:
    """
    A context manager that is called with what is done and how far it is.

    Nothing shows during the first two seconds. Then a terminal gets a bar, and anything else,
    such as a log file, a line every few seconds.
    """

    def __init__(self) -> None:
        self._next_line = time.monotonic() + PATIENCE_S
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, what: str, fraction: float) -> None:
        """Say that a part, named in a word or two, is done up to a fraction in [0, 1]."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=what, completed=fraction)
        elif time.monotonic() >= self._next_line:
            if sys.stderr.isatty():
                self._bar = _started_bar(what, fraction)
            else:
                print(f'{what}: {fraction:.0%}', file=sys.stderr, flush=True)
                self._next_line = time.monotonic() + LINE_EVERY_S


def track(items: Collection[Item], what: str) -> Iterator[Item]:
    """Yield the items, showing how many of them are done."""
    with Progress() as progress:
        for number, item in enumerate(items):
            progress(what, number / len(items))
            yield item


def _started_bar(what: str, fraction: float) -> Bar:
    # Needed only on a terminal and only after two seconds.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    bar = Bar(console=Console(stderr=True), transient=True)
    bar.update(bar.add_task(what, total=1.0), completed=fraction)
    bar.start()
    return bar
