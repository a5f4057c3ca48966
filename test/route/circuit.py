# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A circuit whose every metre looks different, and a vehicle that drives and stops on it."""

from dataclasses import dataclass

import numpy as np

from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.route.route import Route
from two_manifold_ros.route.visits import lay_out, Passes

PERIOD_S = 0.1
LAP_TICKS = 160
CHANNELS = 4
"""Three that show the place, and the forward acceleration in units of ``PULL``."""

PULL = 2.0
"""m/s^2."""

NOISE = 0.15
MEMORY_S = 1.0
TUNING = Tuning(0.3)
AT_REST = np.zeros(CHANNELS)
HORIZONS = (0, 5, 20)


@dataclass(frozen=True)
class Drive:
    """Shares of the way round at each tick (T,), log-ratios, observations (T, d), track (T, 2)."""

    shares: np.ndarray
    log_ratios: np.ndarray
    observations: np.ndarray
    track: np.ndarray


@dataclass(frozen=True)
class Circuit:
    """A closed line, driven in ``LAP_TICKS`` at the usual speed; what is felt is by the seed."""

    seed: int = 0

    def at(self, shares: np.ndarray) -> np.ndarray:
        """Return positions, metres: an ellipse with a bay, nearly of constant speed."""
        angle = 2.0 * np.pi * shares
        reach = 20.0 + 2.0 * np.cos(3.0 * angle)
        return np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=-1)

    def felt(self, shares: np.ndarray) -> np.ndarray:
        """Return usual observations (T, d): three of variance one, and no acceleration."""
        return self._waves(shares, 0)

    def gained(self, shares: np.ndarray) -> np.ndarray:
        """Return what observations gain per unit of log-ratio."""
        return 2.0 * self.felt(shares) + 0.5 * self._waves(shares, 1)

    def _waves(self, shares: np.ndarray, kind: int) -> np.ndarray:
        rng = np.random.default_rng([self.seed, kind])
        orders = np.arange(1, 9)
        phases = rng.uniform(0.0, 2.0 * np.pi, (CHANNELS - 1, len(orders)))
        sizes = rng.normal(size=phases.shape)
        sizes /= np.sqrt(0.5 * np.square(sizes).sum(axis=1, keepdims=True))
        angles = 2.0 * np.pi * np.multiply.outer(shares, orders)
        waves = (np.sin(angles[..., None, :] + phases) * sizes).sum(axis=-1)
        return np.concatenate([waves, np.zeros_like(waves[..., :1])], axis=-1)

    def drive(self, log_ratios: np.ndarray, seed: int, begin: float = 0.0) -> Drive:
        """Drive from a share of the way on, at a log-ratio in each tick; -inf stands."""
        rng = np.random.default_rng(seed)
        speeds = np.exp(log_ratios)
        shares = begin + np.cumsum(np.concatenate([[0.0], speeds[:-1]])) / LAP_TICKS
        moving = np.isfinite(log_ratios)[:, None]
        ratios = np.where(np.isfinite(log_ratios), log_ratios, 0.0)
        felt = self.felt(shares) + ratios[:, None] * self.gained(shares)
        metres = np.linalg.norm(np.gradient(self.at(shares), axis=0), axis=1)
        metres /= np.maximum(np.gradient(shares) * LAP_TICKS, 1e-9)
        felt[:, -1] = np.gradient(speeds) * metres / PERIOD_S**2 / PULL
        noise = NOISE * rng.normal(size=felt.shape)
        seen = np.where(moving, felt + noise, AT_REST + 0.1 * noise)
        return Drive(shares, ratios, seen, self.at(shares))

    def laps(self, count: int, seed: int = 0, spread: float = 0.1) -> Drive:
        """Drive laps, each at its free motion; from one to the next it changes within a second."""
        rng = np.random.default_rng([seed, 7])
        ratios = spread * rng.normal(size=count)
        each = [np.full(round(LAP_TICKS / np.exp(ratio)), ratio) for ratio in ratios]
        ratios = np.pad(np.concatenate(each), 5, mode='edge')
        return self.drive(np.convolve(ratios, np.full(11, 1.0 / 11.0), 'valid'), seed)

    def halting(
        self, before: int, standing: int, after: int, seed: int, begin: float = 0.0
    ) -> Drive:
        """Drive at the usual speed, brake to a standstill within a second, and pull away."""
        ramp = np.log(np.linspace(1.0, 0.0, 11)[1:-1])
        stand = np.full(standing, -np.inf)
        ratios = [np.zeros(before), ramp, stand, ramp[::-1], np.zeros(after)]
        return self.drive(np.concatenate(ratios), seed, begin)


def laid(*drives: Drive) -> Passes:
    seen, tracks = ([getattr(each, name) for each in drives] for name in ('observations', 'track'))
    of_rest = AT_REST, np.full(CHANNELS, 0.02), np.ones(CHANNELS)
    passes = lay_out(seen, tracks, HORIZONS, PERIOD_S, MEMORY_S, *of_rest)
    assert passes is not None
    return passes


def learned(passes: Passes, kept: np.ndarray | None = None) -> Route:
    """Return the map of passes, of all visits if not of those kept."""
    every = np.ones(len(passes.settled), dtype=np.bool_)
    return learn_route(passes, every if kept is None else kept, TUNING)
