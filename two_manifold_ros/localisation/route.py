# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The training drives as a map that a belief can live on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.localisation.pace import Paces
    from two_manifold_ros.localisation.pace_signs import PaceSigns
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Route:
    """
    The training drives, end to end, in N steps of the map: ``FINENESS`` of them to a tick.

    Parameters
    ----------
    features : (f, N)
        Whitened features of each step that tell the place.
    whitening : (f, f)
        From ``whitening``, multiplied to the right of the first f features of a live tick.
    signs
        What all features tell of the pace, if anything.
    gains : (m,)
        Of the slow means, from ``gains_for``.
    since_begin : (N,) int64
        Steps since the beginning of the segment.
    passes : (N, p) int64
        Other passes of the same place, -1 where there are no more.
    shifts : (N, p) int64
        Paces to change by when going over to each.
    states : (N, k)
        Two-manifold state after each step, the constant first; a step without one, near the ends
        of a segment, has that of another pass of the place, else the prior [1, 0, ..., 0].
    paces
        See ``Paces``.
    sharpness
        Weight of an observation: of the exponent of its Gaussian likelihood, per feature.
    surprise
        Usual surprise on laps that are not on the map, see ``Surprise``.
    hop
        Chance per tick to go over to another pass of the same place.

    """

    features: Floats
    whitening: Floats
    signs: PaceSigns | None
    gains: Floats
    since_begin: Ints
    passes: Ints
    shifts: Ints
    states: Floats
    paces: Paces
    sharpness: float
    surprise: float
    hop: float

    @property
    def bandwidth(self) -> float:
        """Width of the Gaussian that compares whitened features."""
        return float((len(self.features) / self.sharpness) ** 0.5)
