# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tell the user what is going on, stage by stage."""

from __future__ import annotations

from contextlib import contextmanager
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WIDTH = 30


class Stages:
    """
    Numbered stages on standard output.

    Parameters
    ----------
    count
        How many there will be.

    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._number = 0

    @contextmanager
    def stage(self, title: str) -> Iterator[Callable[[float], None]]:
        """Announce a stage, hand out a function that shows its share done, and time it."""
        self._number += 1
        head = f'[{self._number}/{self._count}] {title}'
        print(head, flush=True)
        began = time.monotonic()
        terminal = sys.stdout.isatty()
        last = [began]

        def show(share: float) -> None:
            now = time.monotonic()
            if now - last[0] < (0.2 if terminal else 5.0):
                return
            last[0] = now
            if terminal:
                filled = round(WIDTH * share)
                print(f'\r      {"#" * filled}{"." * (WIDTH - filled)} {share:4.0%}', end='')
            else:
                print(f'      {share:.0%}')
            sys.stdout.flush()

        yield show
        if terminal and last[0] > began:
            print('\r' + ' ' * (WIDTH + 14) + '\r', end='')
        print(f'      {time.monotonic() - began:.1f} s', flush=True)
