# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An oval whose usual speed varies along a lap, as a circuit and as drives along it."""

from dataclasses import dataclass, replace

import numpy as np

from two_manifold_ros.laps.timing import LapState, LapTimer
from two_manifold_ros.model.circuit import Circuit

LAP_S = 12.0
SECOND = 1_000_000_000
BEGIN_NS = 1_700_000_000 * SECOND
"""A stamp of a real clock, so that what loses digits shows."""


def line(shares: np.ndarray) -> np.ndarray:
    """Return positions (..., 2) at shares of a lap, metres, on a circle of 100 m around."""
    angle = 2.0 * np.pi * np.asarray(shares)
    return 50.0 / np.pi * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def shares_at(laps: np.ndarray) -> np.ndarray:
    """Return shares of the way at shares of the time of a lap: slow and fast parts."""
    laps = np.asarray(laps)
    return laps + 0.4 * np.sin(2.0 * np.pi * laps) / (2.0 * np.pi)


def laps_at(shares: np.ndarray) -> np.ndarray:
    """Return the inverse of `shares_at`."""
    fine = np.linspace(-1.0, 30.0, 310_001)
    return np.interp(shares, shares_at(fine), fine)


def oval(count: int = 600, **changes: object) -> Circuit:
    """Return the circuit, whose start line is at (50 / pi, 0)."""
    shares = np.arange(count) / count
    angle = 2.0 * np.pi * shares
    seconds = LAP_S * laps_at(np.arange(count + 1) / count)
    seconds[0] = 0.0
    usual = Circuit(
        points=line(shares), headings=np.stack([-np.sin(angle), np.cos(angle)], axis=1),
        seconds=seconds, deviations=np.zeros(count), spreads=np.zeros(count + 1), sureness=1.0,
        repeated=1.0, length_m=100.0, reach_m=3.0,
    )  # fmt: skip
    return replace(usual, **changes)


@dataclass(frozen=True)
class Vehicle:
    """Positions and velocities (T, 2) at stamps (T,), ns."""

    stamps: np.ndarray
    shares: np.ndarray  # (T,) of the way since lap 0, unwrapped
    positions: np.ndarray
    directions: np.ndarray

    def push(self, timer: LapTimer, keep: np.ndarray | None = None) -> list[LapState | None]:
        """Push all ticks, or those to keep, and return the states."""
        ticks = range(len(self.stamps)) if keep is None else np.flatnonzero(keep).tolist()
        return [
            timer.follow(int(self.stamps[k]), self.positions[k], self.directions[k], COVARIANCE)
            for k in ticks
        ]


COVARIANCE = 0.01 * np.eye(2)
"""A standard deviation of 0.1 m."""


def vehicle(shares: np.ndarray, period_s: float = 0.1, noise_m: float = 0.0) -> Vehicle:
    """Return a vehicle at shares of the way, one at each tick; its heading is never backward."""
    angle = 2.0 * np.pi * shares
    rng = np.random.default_rng(5)
    positions = line(shares) + noise_m * rng.normal(size=(len(shares), 2))
    speed = np.maximum(np.gradient(shares), 0.0) * 100.0 / period_s
    directions = speed[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    stamps = BEGIN_NS + np.round(np.arange(len(shares)) * period_s * 1e9).astype(np.int64)
    return Vehicle(stamps, shares, positions, directions)


def driven(lap_times: list[float], begin: float = -0.2, period_s: float = 0.1) -> Vehicle:
    """Drive laps of so many seconds, and a share of a lap before and behind them."""
    edges = np.cumsum([0.0, *lap_times])
    before, after = -begin * lap_times[0], -begin * lap_times[-1]
    times = np.array([-before, *edges, edges[-1] + after])
    laps = np.array([begin, *range(len(edges)), len(lap_times) - begin])
    ticks = np.arange(-before, edges[-1] + after, period_s)
    return vehicle(shares_at(np.interp(ticks, times, laps)), period_s)
