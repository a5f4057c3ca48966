# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long the window still holds what was before a vehicle was put down elsewhere."""

from __future__ import annotations

from two_manifold_ros.windows.familiarity import UNFAMILIAR

LONGEST = 4
"""Windows of doubt that are excused: who is carried for longer may as well be elsewhere."""

LATELY = 10
"""
Newest ticks of which one has to be familiar when doubt begins.

A hand makes windows unlike any at once, and doubt has to gather.
"""


class Aftermath:
    """
    Excuse windows that are unlike any because the vehicle was moved.

    A window with two places in it, or with the hand that carried the vehicle, is unfamiliar even
    on the trained route. What was familiar until lately when the doubt began is excused until a
    whole window was seen after it ended.

    Parameters
    ----------
    width
        Ticks in a window.

    """

    def __init__(self, width: int) -> None:
        self._width = width
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._familiar = 0
        self._doubted = 0
        self._excusable = False
        self._left = 0

    @property
    def lasts(self) -> bool:
        """Whether the familiarity of the newest window is excused."""
        return self._left > 0

    def push(self, familiarity: float, *, doubted: bool) -> bool:
        """
        Take what is known of a tick.

        Parameters
        ----------
        familiarity
            After it; NaN until the window is full.
        doubted
            Whether the vehicle is probably elsewhere than believed.

        Returns
        -------
        bool
            Whether the aftermath has just ended, so that familiarity has to be averaged anew.

        """
        self._familiar = LATELY if familiarity <= UNFAMILIAR else max(self._familiar - 1, 0)
        if doubted and not self._doubted:
            self._excusable = self.lasts or self._familiar > 0
        self._doubted = self._doubted + 1 if doubted else 0
        if doubted and self._excusable and self._doubted <= LONGEST * self._width:
            self._left = self._width
            return False
        lasted = self.lasts
        self._left = max(self._left - 1, 0)
        return lasted and not self.lasts
