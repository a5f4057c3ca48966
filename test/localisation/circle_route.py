# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A route around a circle, made by hand: what is felt there depends on the place alone."""

from collections.abc import Sequence

import numpy as np

from two_manifold_ros.localisation.features import (
    features_along,
    gains_for,
    MEMORIES_S,
    PLACE_MEMORIES,
)
from two_manifold_ros.localisation.pace import FINENESS, make_paces, pace_shifts
from two_manifold_ros.localisation.pace_signs import learn_pace_signs
from two_manifold_ros.localisation.passes import find_passes, Ground
from two_manifold_ros.localisation.refining import refined
from two_manifold_ros.localisation.route import Route
from two_manifold_ros.localisation.whitening import whitening
from two_manifold_ros.readout.targets import velocities

PERIOD_S = 0.05
RADIUS_M = 2.0
NOISE = 0.2


def place_of(turns: np.ndarray) -> np.ndarray:
    """Give the positions after so many turns, metres."""
    angle = 2.0 * np.pi * turns
    return RADIUS_M * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def felt_at(turns: np.ndarray, seed: int) -> np.ndarray:
    """Give noisy observations after so many turns."""
    angle = 2.0 * np.pi * turns
    clean = np.stack([np.cos(angle), np.sin(2.0 * angle), np.cos(3.0 * angle + 1.0)], axis=-1)
    return clean + NOISE * np.random.default_rng(seed).normal(size=clean.shape)


def turns_of(laps: Sequence[int]) -> np.ndarray:
    """Give the turns at each tick of laps that take so many ticks."""
    return np.concatenate([lap + np.arange(ticks) / ticks for lap, ticks in enumerate(laps)])


def make_route(
    laps: Sequence[int],
    *,
    segments: int = 1,
    each_way: int = 3,
    signs: bool = False,
    surprise: float = 1e6,
) -> Route:
    """
    Drive the laps once for each segment and put the segments end to end.

    By default nothing surprises, so that the belief is the same whatever was observed before.
    """
    gains = gains_for(MEMORIES_S, PERIOD_S)
    turns = turns_of(laps)
    drives = [features_along(felt_at(turns, seed), gains) for seed in range(segments)]
    raw = np.concatenate([refined(drive) for drive in drives])
    line = refined(place_of(turns))
    positions = np.tile(line, (segments, 1))
    step_s = PERIOD_S / FINENESS
    ground = Ground(
        len(line) * np.arange(segments + 1),
        positions,
        np.tile(velocities(line, step_s), (segments, 1)),
        step_s,
    )
    passes = find_passes(ground, positions / RADIUS_M)
    place = raw[:, : 3 * (1 + PLACE_MEMORIES)]
    matrix = whitening(place, passes, np.arange(len(raw)))
    return Route(
        features=np.ascontiguousarray((place @ matrix).T),
        whitening=matrix,
        signs=learn_pace_signs(raw, passes, ground.speeds) if signs else None,
        gains=gains,
        since_begin=ground.since_begin,
        passes=passes,
        shifts=pace_shifts(ground.speeds, passes, each_way),
        states=np.hstack([np.ones((len(raw), 1)), positions / RADIUS_M]),
        paces=make_paces(each_way),
        sharpness=1.0,
        surprise=surprise,
        hop=0.05,
    )
