# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Edges that join the pieces of a neighbour graph."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.kernels.graph import affinity_graph, connect

if TYPE_CHECKING:
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats, Ints


class Bridges(NamedTuple):
    """
    Edges between pieces, each in both directions; none where the graph is in one piece.

    Parameters
    ----------
    first, second : (b,) int64
        Ends.
    squared : (b,)
        Squared lengths.
    notes
        Sentences that have to be said aloud.

    """

    first: Ints
    second: Ints
    squared: Floats
    notes: tuple[str, ...]


def find_bridges(samples: Samples, indices: Ints) -> Bridges:
    """Return the edges by which ``connect`` joins the graph of (n, kappa) neighbours."""
    ones = affinity_graph(indices, np.zeros(indices.shape), np.inf)
    joined, components = connect(ones, samples, np.inf)
    if components == 1:
        none = np.empty(0, dtype=np.int64)
        return Bridges(none, none, np.empty(0), ())
    added = (joined - ones).tocoo()
    first, second = added.row.astype(np.int64), added.col.astype(np.int64)
    squared = np.square(samples.rows(first) - samples.rows(second)).sum(axis=1)
    return Bridges(first, second, squared, notes_on_pieces(components, indices.shape[1]))


def notes_on_pieces(components: int, neighbours: int) -> tuple[str, ...]:
    """Return the sentence about a graph that fell into pieces, none about one that did not."""
    if components == 1:
        return ()
    note = (
        f'the neighbour graph fell into {components} pieces, joined by their nearest points; '
        f'more than {neighbours} neighbours would connect it'
    )
    return (note,)
