# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives along the streets of a grid, of which an IMU measures how fast the vehicle turns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from two_manifold_ros.route.visits import lay_out, Passes, Traits

PERIOD_S, MEMORY_S = 0.1, 0.5
BLOCK_M, BEND_M, STRIDE_M = 40.0, 4.0, 1.0
"""Of a street between crossings, the radius of a bend, and what is driven in a tick."""

Node = tuple[int, int]


@dataclass(frozen=True)
class Drive:
    """Positions (T, 2), headings (T,), and observations (T, 3), of which one shows turning."""

    track: np.ndarray
    headings: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True)
class Sensor:
    """Standard deviations of noise, and what is read of a turn: ``gain`` times it and ``bias``."""

    gain: float = 2.0
    bias: float = 0.3
    noise: float = 0.02


def line_of(nodes: Sequence[Node]) -> np.ndarray:
    """Return points (n, 2) every 5 cm along streets, with round corners."""
    corners = BLOCK_M * np.array(nodes, dtype=np.float64)
    parts, last = [], corners[0]
    for before, here, behind in zip(corners, corners[1:], corners[2:], strict=False):
        came, goes = (here - before) / BLOCK_M, (behind - here) / BLOCK_M
        if (came == goes).all():
            continue
        begin = here - BEND_M * came
        parts.append(straight(last, begin))
        angle = np.linspace(0.0, 0.5 * np.pi, round(0.5 * np.pi * BEND_M / 0.05), endpoint=False)
        parts.append(
            begin
            + BEND_M * np.sin(angle)[:, None] * came
            + BEND_M * (1.0 - np.cos(angle))[:, None] * goes
        )
        last = here + BEND_M * goes
    return np.concatenate([*parts, straight(last, corners[-1])])


def straight(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return points every 5 cm from one to another, without the last."""
    count = max(round(float(np.linalg.norm(end - begin)) / 0.05), 1)
    return np.linspace(begin, end, count, endpoint=False)


def driven(
    line: np.ndarray,
    strides: np.ndarray | float = STRIDE_M,
    *,
    seed: int = 0,
    sensor: Sensor | None = None,
    noise_m: float = 0.02,
) -> Drive:
    """Drive along a line to its end by ``strides``, metres in each tick, with noisy positions."""
    rng, sensor = np.random.default_rng(seed), sensor or Sensor()
    steps = np.diff(line, axis=0)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    heading = np.unwrap(np.arctan2(*np.vstack([steps, steps[-1:]]).T[::-1]))
    if np.ndim(strides):
        wanted = np.cumsum(strides)
        wanted = wanted[wanted < along[-1]]
    else:
        wanted = np.arange(0.0, along[-1], strides)
    track = np.stack([np.interp(wanted, along, column) for column in line.T], axis=1)
    headings = np.interp(wanted, along, heading)
    turned = np.diff(headings, prepend=headings[0])
    seen = sensor.noise * rng.normal(size=(len(wanted), 3))
    seen[:, 1] += sensor.gain * turned + sensor.bias
    return Drive(track + noise_m * rng.normal(size=track.shape), headings, seen)


def passes_of(seen: list[np.ndarray], tracks: list[np.ndarray]) -> Passes:
    """Lay out drives as those of a network."""
    none = Traits(*np.zeros((3, 3)))
    passes = lay_out(seen, tracks, (0,), PERIOD_S, MEMORY_S, none, network=True)
    assert passes is not None
    return passes
