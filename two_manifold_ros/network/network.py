# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a belief on a network knows beside the map of its places, and how it is learned."""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

STOPPING = (0.15, 0.3, 0.45, 0.6, 0.75)
"""Speed ratios between standing and driving as usual: of who brakes, lifts or pulls away."""

USUAL = tuple(0.85 * 1.06**step for step in range(11))
"""Usual speed ratios: as fine as drivers of one day differ from those of another."""

RATIOS = np.array([0.0, *STOPPING, *STOPPING, *USUAL])
"""All speed ratios of a cell: of standing, braking, pulling away and driving as usual."""

FIRST_USUAL = 1 + 2 * len(STOPPING)
"""First of the usual speed ratios."""

RATIO_MEMORIES = 9.0
"""Memories of the observations until a usual speed ratio is forgotten."""

BRAKES, CHANGES, STOPS, DRIVES_ON = 23.0, 0.75, 4.5, 1.3
"""Memories until a driver brakes, is at the next of ``STOPPING``, stands, and drives on."""


class Network(NamedTuple):
    """
    Headings of the roads, and what shows how fast a vehicle is wherever it is.

    At each place (P,) there are the heading of the road in ``courses``, rad, and the usual speed.
    A vehicle turns in a tick to the left by ``turning`` (d,) times the observation plus
    ``turning_offset``, rad, with the standard deviation ``turning_spread`` from the change of the
    courses along a move. On any road turns in a tick, ascending ``turns`` (n,), rad, have the
    likelihoods ``chances`` (n,) over that of a turn that is as expected. At some ``speeds`` (s,),
    ascending, m/s, the samples within a tick shake by ``shakes`` (s, d), logarithms of
    standardised spreads, see `shakes_of`, with ``scales`` about them. Above ``largest_misfit``, a
    mean of `misfits` over a window of ticks, a vehicle is not the trained one.
    """

    courses: Floats
    usual_mps: Floats
    turning: Floats
    turning_offset: float
    turning_spread: float
    turns: Floats
    chances: Floats
    speeds: Floats
    shakes: Floats
    scales: Floats
    largest_misfit: float


def usual_ratios(spread: float) -> Floats:
    """Return the probabilities (R,) of ``RATIOS`` of vehicles that drive as usual."""
    chances = np.zeros(len(RATIOS))
    chances[FIRST_USUAL:] = np.exp(-0.5 * np.square(np.log(RATIOS[FIRST_USUAL:]) / spread))
    return np.asarray(chances / chances.sum())


def exchanges_of_ratios(spread: float, period_s: float, memory_s: float) -> Floats:
    """
    Return the probabilities (R, R) per tick to change from one of ``RATIOS`` to another.

    Usual ones wander about 1 with that standard deviation, each to the next. A driver who brakes
    goes down step by step, stands or not, and comes up step by step.
    """
    ticks = memory_s / period_s
    steps, count = len(STOPPING), len(RATIOS)
    step = math.log(USUAL[1] / USUAL[0])
    # An Ornstein-Uhlenbeck process, as a random walk on the grid.
    diffuses = spread * spread / (RATIO_MEMORIES * ticks) / (step * step)
    usual = usual_ratios(spread)
    chances = np.zeros((count, count))
    changes, brakes, stops, goes = (
        -math.expm1(-1.0 / (each * ticks)) for each in (CHANGES, BRAKES, STOPS, DRIVES_ON)
    )
    for i in range(FIRST_USUAL, count):
        drawn = -0.5 * math.log(RATIOS[i]) / (RATIO_MEMORIES * ticks * step)
        if i < count - 1:
            chances[i, i + 1] = max(diffuses + drawn, 0.0)
        if i > FIRST_USUAL:
            chances[i, i - 1] = max(diffuses - drawn, 0.0)
        chances[i, steps] += brakes
    for down in range(1, 1 + steps):
        up = down + steps
        chances[down, down - 1] = changes if down > 1 else stops
        chances[down, up] = changes
        if up < FIRST_USUAL - 1:
            chances[up, up + 1] = changes
        else:
            chances[up] += changes * usual
        chances[up, down] = brakes
    chances[0, 1 + steps] = goes
    # Where ticks are as long as a memory, more than all would change.
    chances /= np.maximum(chances.sum(axis=1), 1.0)[:, None]
    return chances + np.diag(1.0 - chances.sum(axis=1))


LEAST_SHAKE = 1e-4
"""Spread of a channel at least, standard deviations: one that is stuck has none."""

MISFIT_TAIL = 5.0
"""Degrees of freedom of the t density that misfits are from: a jolt does not decide alone."""


def shakes_of(spreads: Floats) -> Floats:
    """Return what shows how much ticks shake: logarithms of standardised spreads."""
    return np.log(spreads + LEAST_SHAKE)


def misfits(shaken: Floats, shakes: Floats, scales: Floats) -> Floats:
    """Return how unlike that of any speed is what shakes in ticks (..., d): mean log densities."""
    apart = (shaken[..., None, :] - shakes) / scales
    logs = np.log1p(np.square(apart) / MISFIT_TAIL)
    return np.asarray(logs.mean(axis=-1).min(axis=-1))


def interpolated(wanted: Floats | Ints, known: Floats | Ints, rows: Floats) -> Floats:
    """Return rows (n, d) known at ascending numbers, such as ticks, at wanted ones: (m, d)."""
    return np.stack([np.interp(wanted, known, column) for column in rows.T], axis=1)
