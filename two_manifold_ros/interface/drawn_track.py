# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The track of a model, thinned for messages and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class DrawnTrack:
    """
    A track, (n, 2) in metres with NaN rows between runs, thinned to a message of 100 kB.

    ``size`` is the longer side of the box around it, metres. ``runs`` have at least two points;
    each keeps its ends, and between them points at even distances.
    """

    def __init__(self, track: Floats, most_points: int = 4000) -> None:
        known = np.isfinite(track).all(axis=1)
        finite = track[known]
        self.size = 1.0 if len(finite) == 0 else max(float(np.ptp(finite, axis=0).max()), 1e-3)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]])))
        runs = [track[start:end] for start, end in edges.reshape(-1, 2) if end - start > 1]
        lengths = [
            np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(run, axis=0).T))]) for run in runs
        ]
        total = sum(float(length[-1]) for length in lengths)
        spacing = total / most_points or self.size
        self.runs: list[Floats] = []
        for run, length in zip(runs, lengths, strict=True):
            keep = np.diff(np.floor(length / spacing), prepend=-1.0) > 0
            keep[-1] = True
            self.runs.append(run[keep])
