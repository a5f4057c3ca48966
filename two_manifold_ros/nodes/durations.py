# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long things take."""

from __future__ import annotations

from collections import deque

import numpy as np

_KEPT = 1000


class Durations:
    """Quantiles of the last thousand durations."""

    def __init__(self) -> None:
        self._nanoseconds: deque[int] = deque(maxlen=_KEPT)

    def add(self, nanoseconds: int) -> None:
        """Remember one duration."""
        self._nanoseconds.append(nanoseconds)

    def microseconds(self) -> dict[str, float]:
        """Return ``p50``, ``p99`` and ``max``, NaN before the first one."""
        values = np.array(self._nanoseconds or [np.nan]) / 1e3
        p50, p99, longest = np.quantile(values, [0.5, 0.99, 1.0]).tolist()
        return {'p50': p50, 'p99': p99, 'max': longest}
