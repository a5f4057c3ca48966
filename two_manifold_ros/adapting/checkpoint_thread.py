# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints written beside the learning, which does not wait for the disk."""

from __future__ import annotations

from threading import Thread
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.checkpoints import Checkpoints


class CheckpointThread:
    """
    Writes one checkpoint at a time in a thread.

    Parameters
    ----------
    checkpoints
        Where to.

    Attributes
    ----------
    written
        How many were written.
    path
        Of the last one that was written.
    trouble
        Why none can be written, or the last one could not be; empty if all is well.

    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._thread: Thread | None = None
        self.written = 0
        self.path: Path | None = None
        self.trouble = checkpoints.trouble

    @property
    def busy(self) -> bool:
        """Whether one is being written."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bool:
        """
        Copy numbers and arrays and begin to write them.

        The caller may change the arrays as soon as this returns: after the time of a copy.

        Returns
        -------
        bool
            False if the one before is still being written; nothing is done then.

        """
        if self.busy:
            return False
        copies = {name: np.array(array) for name, array in arrays.items()}
        # No daemon: a process that ends lets it write to the end.
        self._thread = Thread(target=self._write, args=(dict(numbers), copies))
        self._thread.start()
        return True

    def finish(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()

    def _write(self, numbers: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        try:
            self.path = self._checkpoints.write(numbers, arrays)
        except InputError as error:
            self.trouble = str(error)
        # A bug must not end in a thread where nobody hears of it.
        except Exception as error:  # noqa: BLE001 - told where the other troubles are
            self.trouble = f'{type(error).__name__} in a checkpoint, please report it: {error}'
        else:
            self.written += 1
            self.trouble = ''
