# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node never dies of a message."""

from __future__ import annotations

import traceback
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Guard:
    """
    Runs callbacks so that an exception is counted and logged, and the node goes on.

    Parameters
    ----------
    log
        Logs one text; called for the first exception of each kind, with its traceback.
    alive
        Whether the middleware is up. A signal shuts it down in the middle of a callback, whose
        next publishing then fails: that is no bug.

    """

    def __init__(
        self, log: Callable[[str], object], alive: Callable[[], bool] = lambda: True
    ) -> None:
        self._log = log
        self._alive = alive
        self._seen: set[str] = set()
        self.count = 0

    def __call__(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the callback guarded; it returns its last argument if it fails."""

        def guarded(*arguments: object) -> object:
            try:
                return callback(*arguments)
            # Every exception here is a bug, but none is worth a robot that stops.
            except Exception as error:  # noqa: BLE001 - see above
                if self._alive():
                    self._report(error)
                # To a service the last argument is the response, which is then unsuccessful.
                return arguments[-1] if arguments else None

        return guarded

    def _report(self, error: Exception) -> None:
        self.count += 1
        kind = f'{type(error).__name__}: {error}'
        if kind not in self._seen and len(self._seen) < 100:
            self._seen.add(kind)
            self._log(f'Bug, please report it; the node goes on.\n{traceback.format_exc()}')
