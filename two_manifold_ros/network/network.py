# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a belief on a network knows beside the map of its places, and how it is learned."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.network.places import AROUND, Courses, courses_of, turning_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.typing import Bools, Floats

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
"""
Mean times, in memories of the observations: until a driver brakes, at one of ``STOPPING`` until
the next one either way, at the lowest of them until the vehicle stands, until it drives on.

Chosen on the first training of ``./run bench yard``; three others are followed as well with them.
"""


class Network(NamedTuple):
    """
    Headings of the roads, and what shows how fast a vehicle is wherever it is.

    At each place (P,) there are the heading of the road in ``courses``, rad, and the usual speed.
    A vehicle turns in a tick to the left by ``turning`` (d,) times the observation plus
    ``turning_offset``, rad, with the standard deviation ``turning_spread`` from the change of the
    courses along a move. On any road turns in a tick, ascending ``turns`` (n,), rad, have the
    likelihoods ``chances`` (n,) over the likelihood of a turn that is as expected.

    At some ``speeds`` (s,), ascending, m/s, the samples within a tick shake by ``shakes`` (s, d),
    logarithms of standardised spreads, see `shakes_of` and `with_shakes`, with ``scales`` about
    them. Above ``largest_misfit``, a mean of `misfits` over a window of ticks, a vehicle is not
    the trained one.
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
    goes down step by step, stands or not, and comes up step by step to a usual one.
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


SPEEDS = (0.0, 0.08, 0.16, *(0.27 + 0.11 * step for step in range(8)))
"""
Classes of speeds, beside standing, of which it is learned how much ticks shake: shares of the
fastest. At low speeds it changes most.
"""

LEAST_TICKS = 50
"""Ticks of a speed that show how much observations shake."""

TOLERANCE = 2.0
"""Times the spread of turns in training that counts as usual: errors of ticks beside are alike."""

LEAST_TURNING = 0.02
"""Radians that a turn in a tick may differ by from the road, at least: a degree."""

LEAST_SHAKE = 1e-4
"""Spread of a channel at least, standard deviations: one that is stuck has none."""

LEAST_SCALE = 0.05
"""Scale of the logarithm of a spread at least."""

FARTHER, LEAST_FARTHER = 2.0, 0.5
"""
How far above the usual misfit a window is novel, over how far the worst window of training is; and
how far that one is taken to be at least, in usual misfits, since short drives show little.
Chosen in the yard of ``./run bench gauntlet yard``.
"""

MISFIT_TAIL = 5.0
"""Degrees of freedom of the t density that misfits are from: a jolt does not decide alone."""

TURNS = 65
"""Turns in a tick of which it is learned how likely they are on any road."""


class NetworkPasses(NamedTuple):
    """
    Visits of the places of a network, drives over joins behind all others, and their headings.

    ``usual_mps`` (P,) are the usual speeds of the places; ``tracks`` (T, 2), metres, and
    ``observations`` (T, d) those of each segment; ``shakes`` (T, d) how much the samples within a
    tick shake, of each segment that was driven.
    """

    passes: Passes
    courses: Courses
    usual_mps: Floats
    tracks: list[Floats]
    observations: list[Floats]
    shakes: list[Floats]


def learn_network(drives: NetworkPasses, window: int) -> Network:
    """Learn a network for a model with a ``window`` of so many ticks."""
    places, period_s, courses = drives.passes.places, drives.passes.period_s, drives.courses
    along = courses_of(places, courses)
    apart = turning_apart(places, courses, along)
    # A live tick is up to half a place from where it is taken to be.
    grid = 0.5 * turning_apart(places, courses, np.zeros(len(along)))
    spread = TOLERANCE * float(np.sqrt(np.mean(apart**2) + np.mean(grid**2)))
    spread = max(spread, LEAST_TURNING)
    turned = np.concatenate(drives.observations) @ courses.turning + courses.offset
    low, high = float(turned.min()) - 4.0 * spread, float(turned.max()) + 4.0 * spread
    turns = np.linspace(low, high, TURNS)
    off = (turns[:, None] - np.quantile(turned, np.linspace(0.0, 1.0, 2001))) / spread
    chances = np.maximum(np.exp(-0.5 * off**2).mean(axis=1), 1e-9)
    count = len(drives.shakes)
    shaking = _shaking(drives.tracks[:count], drives.shakes, places.standing[:count], period_s)
    means = []
    for each in drives.shakes:
        summed = np.cumsum([0.0, *misfits(each, *shaking[1:])])
        width = min(window, len(each))
        means.append((summed[width:] - summed[:-width]) / width)
    every = np.concatenate(means)
    usual = float(np.median(every))
    return Network(
        along, drives.usual_mps, courses.turning, courses.offset, spread, turns, chances, *shaking,
        largest_misfit=usual + FARTHER * max(float(every.max()) - usual, LEAST_FARTHER * usual),
    )  # fmt: skip


def shakes_of(spreads: Floats) -> Floats:
    """Return what shows how much ticks shake: logarithms of standardised spreads."""
    return np.log(spreads + LEAST_SHAKE)


def misfits(shaken: Floats, shakes: Floats, scales: Floats) -> Floats:
    """
    Return how unlike that of any speed is what shakes in ticks (..., d): (...).

    It is minus the mean log density of a channel, but for a factor, at the speed that suits best.
    """
    apart = (shaken[..., None, :] - shakes) / scales
    logs = np.log1p(np.square(apart) / MISFIT_TAIL)
    return np.asarray(logs.mean(axis=-1).min(axis=-1))


def _spread_about(shaken: Floats) -> tuple[Floats, Floats]:
    """Return the median (d,) of how much ticks (T, d) shake, and the scale about it."""
    middle = np.median(shaken, axis=0)
    # As wide as the standard deviation of a normal distribution.
    scale = 1.4826 * np.median(np.abs(shaken - middle), axis=0)
    return np.asarray(middle), np.maximum(scale, LEAST_SCALE)


def _shaking(
    tracks: Sequence[Floats],
    shakes: Sequence[Floats],
    standing: Sequence[Bools],
    period_s: float,
) -> tuple[Floats, Floats, Floats]:
    """Return speeds, shakes and scales of a `Network`."""
    speeds = []
    for track, still in zip(tracks, standing, strict=True):
        moved = np.full(len(track), np.nan)
        ahead = np.linalg.norm(track[2 * AROUND :] - track[: -2 * AROUND], axis=1)
        moved[AROUND : len(track) - AROUND] = ahead / (2.0 * AROUND * period_s)
        moved[still] = 0.0
        speeds.append(moved)
    speed, shaken = np.concatenate(speeds), np.concatenate(shakes)
    moving = speed[speed > 0.0]
    # Up to what a hundredth of the driving exceeds.
    edges = np.array(SPEEDS) * (float(np.quantile(moving, 0.99)) if len(moving) else 0.0)
    classes = [
        (speed > low) & (speed <= high)
        for low, high in [(-1.0, 0.0), *itertools.pairwise(edges.tolist())]
    ]
    found = [
        (float(speed[chosen].mean()), *_spread_about(shaken[chosen]))
        for chosen in classes
        if chosen.sum() >= LEAST_TICKS
    ]
    # In one class for all of them nothing shows how fast a vehicle is.
    speed_of, middles, scales = zip(*(found or [(0.0, *_spread_about(shaken))]), strict=True)
    return np.array(speed_of), np.array(middles), np.array(scales)
