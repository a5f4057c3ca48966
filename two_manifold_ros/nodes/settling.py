# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the same has been learned for long enough to make a candidate of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SETTLING_S = 10.0
"""How long something else has to be learned before there is a candidate again: what was learned
in a few seconds finds the next ones unfamiliar."""


class Settling:
    """
    Waits after each change.

    Parameters
    ----------
    changes
        Returns how often what is learned has become something else.

    """

    def __init__(self, changes: Callable[[], int]) -> None:
        self._changes = changes
        self._seen = changes()
        self._until_s = -math.inf

    def changed(self, now_s: float) -> bool:
        """Return whether there was a change since the last call, from which it waits."""
        before, self._seen = self._seen, self._changes()
        if self._seen == before:
            return False
        self._until_s = now_s + SETTLING_S
        return True

    def over(self, now_s: float) -> bool:
        """Return whether it has waited long enough."""
        return now_s >= self._until_s
