# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One job at a time in a thread, whose result is picked up between messages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future


class Background:
    """
    Does what takes long, such as reading and writing files, while messages go on.

    Parameters
    ----------
    name
        Of the thread.

    """

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._job: tuple[Future[Any], Callable[[Any], object]] | None = None

    @property
    def busy(self) -> bool:
        """Whether a job runs, or its result was not picked up yet."""
        return self._job is not None

    def begin(self, work: Callable[[], Any], then: Callable[[Any], object]) -> None:
        """Begin a job; ``then`` is called by `look` with what it returned."""
        self._job = (self._pool.submit(work), then)

    def look(self) -> None:
        """Pick up the result if it is there; what the job raised is raised here."""
        if self._job is not None and self._job[0].done():
            (future, then), self._job = self._job, None
            then(future.result())

    def wait(self) -> None:
        """Wait until the job is done."""
        if self._job is not None:
            self._job[0].exception()

    def close(self) -> None:
        """Wait for the job that runs, if there is one; its result is lost."""
        self._pool.shutdown(wait=True, cancel_futures=True)
