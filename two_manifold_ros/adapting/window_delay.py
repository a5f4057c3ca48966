# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From ticks to what a TPSR is learned from, by a delay of one window."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class Sample(NamedTuple):
    """
    What one tick gives to learn, see `Triples`.

    Parameters
    ----------
    test, next_test, history : (D,)
        Features of the windows that begin at the tick and after it, and that end before it.
    observation : (p,)
        Features of the tick.

    """

    test: Floats
    next_test: Floats
    history: Floats
    observation: Floats


class WindowDelay:
    """
    Keep the features of the last windows until the future of a tick is known.

    Parameters
    ----------
    width
        Ticks in a window.

    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._windows: deque[Floats] = deque(maxlen=width + 2)
        self._observations: deque[Floats] = deque(maxlen=width + 1)

    def clear(self) -> None:
        """Forget everything, so that no sample reaches across a seam."""
        self._windows.clear()
        self._observations.clear()

    def push(self, observation: Floats, window: Floats | None) -> Sample | None:
        """
        Take the features of a tick.

        Parameters
        ----------
        observation : (p,)
            Of the tick.
        window : (D,), optional
            Of the window that ends with it, once there is one; the arrays are kept.

        Returns
        -------
        Sample or None
            Of the tick one window ago, if a window before it was seen as well.

        """
        self._observations.append(observation)
        if window is None:
            return None
        windows = self._windows
        windows.append(window)
        if len(windows) < self._width + 2:
            return None
        return Sample(windows[-2], windows[-1], windows[0], self._observations[0])
