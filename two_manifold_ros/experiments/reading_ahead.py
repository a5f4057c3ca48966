# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make what comes next while the last thing is being worked on."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import cast, TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

Item = TypeVar('Item')

_END = object()


def reading_ahead(items: Iterator[Item], most: int) -> Iterator[Item]:
    """
    Yield the same items in the same order, which one thread makes ahead of their use.

    Parameters
    ----------
    items
        What they are made by: another core is of use to it as far as it leaves the interpreter
        alone, as NumPy does in long operations.
    most
        Items that are ready, at most.

    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix='reading_ahead') as thread:
        ready: deque[Future[object]] = deque(thread.submit(next, items, _END) for _ in range(most))
        while (item := ready.popleft().result()) is not _END:
            ready.append(thread.submit(next, items, _END))
            yield cast('Item', item)
