# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every manifold learner does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.kernels.extension import Extension
    from two_manifold_ros.typing import Floats
    from two_manifold_ros.windows.window_set import WindowSet


@dataclass(frozen=True)
class Embedding:
    """
    A low-rank centred embedding of a set of windows.

    Parameters
    ----------
    coordinates : (n, m)
        Rows whose inner products are the learned, centred kernel; column means are zero.
    extension
        The same coordinates for new windows.
    bandwidth
        Of the Gaussian weights, in units of standardised window distance.
    notes
        Sentences that have to be said aloud.

    """

    coordinates: Floats
    extension: Extension
    bandwidth: float
    notes: tuple[str, ...] = ()


class ManifoldLearner(Protocol):
    """Turns a set of windows into an embedding."""

    def fit(self, windows: WindowSet) -> Embedding:
        """
        Embed the windows.

        Raises
        ------
        InputError
            If there are too few windows for the dimension asked for.

        """
        ...
