# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every manifold learner does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.kernels.extension import Extension
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Embedding:
    """
    A low-rank centred embedding of a set of points.

    Parameters
    ----------
    coordinates : (n, m)
        Rows whose inner products are the learned, centred kernel; column means are zero.
    extension
        The same coordinates for new points; a training point gets its own row.
    eigenvalues : (m,)
        Of the learner's own operator, leading first.
    bandwidth
        Of the Gaussian weights, in units of distance; 0 where there are none.
    notes
        Sentences that have to be said aloud.

    """

    coordinates: Floats
    extension: Extension
    eigenvalues: Floats
    bandwidth: float = 0.0
    notes: tuple[str, ...] = ()


class ManifoldLearner(Protocol):
    """
    Turns a set of points into an embedding, by the same rules for every learner.

    Only distances count: neither where the points lie nor how they are turned nor a column that
    is constant has an effect. Copies of a point are points like all others, at distance 0. A
    graph that falls into pieces is joined by the shortest edges between them, and a note says so.
    The same points give the same bytes, and nothing that is returned is infinite or NaN. The
    extension gives a training point its own row, unless points at equal distances leave open
    which are its neighbours, or a docstring says otherwise.
    """

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points.

        Raises
        ------
        InputError
            If there are too few points for the dimension asked for, or most are identical.

        """
        ...
