# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Maps of a few places: as much of a model as a path ahead takes."""

from types import SimpleNamespace
from typing import Any

import numpy as np

LAP = 80
PERIOD_NS = 50_000_000


def ring(
    radius: float = 5.0,
    horizons: tuple[int, ...] = (0, 10, 50),
    ways: dict[int, list[int]] | None = None,
    spots: np.ndarray | None = None,
    lines: object = None,
    per_tick: float = 1.0,
    period_ns: int = PERIOD_NS,
    noise: float = 1e-6,
) -> Any:  # noqa: ANN401 - as much of a model as is asked for
    """
    Return a model of a lap of ``LAP`` places on a circle, or of other places and ways.

    Positions at a place have the standard deviation ``noise``, m.
    """
    if spots is None:
        angles = 2.0 * np.pi * np.arange(LAP) / LAP
        spots = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    count = len(spots)
    ways = {each: [(each + 1) % count] for each in range(count)} if ways is None else ways
    ends = {each: [(each, 0, 1.0)] for each in ways}
    for each, to in ways.items():
        ends[each] += [(other, 1, to.count(other) / len(to)) for other in sorted({*to})]
    targets_of, steps_of, shares_of = (
        np.array([way[part] for each in range(count) for way in ends[each]]) for part in range(3)
    )
    at = np.arange(count)
    targets = []
    for horizon in (*horizons, 0):
        there = at
        for _ in range(round(horizon * per_tick)):
            there = np.array([ways[each][0] for each in there.tolist()])
        targets.append(spots[there])
    geometry = SimpleNamespace(
        begins=np.cumsum([0, *(len(ends[each]) for each in range(count))]),
        targets_of=targets_of, steps_of=steps_of, shares_of=shares_of,
    )  # fmt: skip
    readout = SimpleNamespace(
        targets=np.stack(targets, axis=1),
        covariances=np.tile(noise**2 * np.eye(2), (count, len(targets), 1, 1)),
    )
    motion = SimpleNamespace(rates=np.full(count, per_tick))
    route = SimpleNamespace(geometry=geometry, motion=motion, readout=readout)
    return SimpleNamespace(route=route, horizons=horizons, period_ns=period_ns, lines=lines)
