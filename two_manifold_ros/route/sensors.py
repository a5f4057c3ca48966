# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Sensors beside the IMU: what they read at each place, and a belief that uses those in order.

Each sensor is a factor of its own in the likelihood, conditional on place and speed ratio: without
it there is left, to the bit, the belief of a map that never had it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.route.belief import plain, prepared, RouteBelief, SensorOffsets
from two_manifold_ros.route.route import Route, RouteLikelihood, ROWS, SETTLED
from two_manifold_ros.route.steps import (
    Buffers,
    mean_state,
    Prepared,
    see,
    take_features,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.ticks.segments import Channels
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Sensor:
    """
    A sensor beside the IMU, heard on a ``topic``, as a map knows it.

    Samples beyond the range of its ``channels`` count as missing. ``most_still`` are the most
    ticks in a row of the training in which it did not change.
    """

    topic: str
    channels: Channels
    likelihood: RouteLikelihood
    most_still: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its channels among those of all sensors, as those of a `HeldStream`."""
        return tuple(f'{self.topic}:{field}' for field in self.channels.names)


@compiled
def weigh_sensor(
    observation: Floats, first: bool, buffers: Buffers, known: Any, weight: float,  # noqa: ANN401
    elsewhere: float, count: int,
) -> tuple[float, float]:  # fmt: skip
    """
    Update a belief with what a sensor reads (d,), if it is in order with probability ``weight``.

    If not, its reading is that of any road. ``known`` are its `Prepared`, the states (P, k), and
    the spread of speed ratios. Returns the probability that it is in order, and that of elsewhere.
    """
    into, likelihood, states, spread = Buffers(*buffers), Prepared(*known[0]), known[1], known[2]
    chances, ratios, spreads = into.chances, into.ratios, into.spreads
    before, active, logs, totals = into.moved, into.active, into.logs, into.totals
    for a in range(count):
        i = active[a]
        for h in range(ROWS):
            before[i, h, 0] = chances[i, h]
            before[i, h, 1] = ratios[i, h]
            before[i, h, 2] = spreads[i, h]
    nowhere, shift = see(observation, first, likelihood, into, active, spread, count)
    broken = math.exp(nowhere.anything - shift)
    sound = elsewhere * broken
    for a in range(count):
        i = active[a]
        for h in range(ROWS):
            if chances[i, h] > 0.0:
                chances[i, h] *= math.exp(logs[a, h] - shift)
                sound += chances[i, h]
    whole = weight * sound + (1.0 - weight) * broken
    totals[:] = 0.0
    for a in range(count):
        i = active[a]
        for h in range(ROWS):
            good = weight * chances[i, h] / whole
            chance = good + (1.0 - weight) * broken * before[i, h, 0] / whole
            chances[i, h] = chance
            totals[h] += chance
            if not chance > 0.0:
                continue
            share = good / chance
            ratio = share * ratios[i, h] + (1.0 - share) * before[i, h, 1]
            new, old = ratios[i, h] - ratio, before[i, h, 1] - ratio
            spreads[i, h] = share * (spreads[i, h] + new * new) + (1.0 - share) * (
                before[i, h, 2] + old * old
            )
            ratios[i, h] = ratio
    totals[ROWS] = elsewhere * broken / whole
    mean_state(chances, active[:count], states, into.state)
    return weight * sound / whole, totals[ROWS]


TRUSTED, BREAK_S, HEAL_S = 0.9, 120.0, 3600.0
"""Probability that a sensor is in order at a start; mean times until it breaks, and heals."""


class _Heard:
    """A sensor while a belief listens to it."""

    def __init__(self, route: Route, sensor: Sensor, period_s: float) -> None:
        likelihood = sensor.likelihood
        starts = route.switching.beginnings.sum(axis=1)
        # Its readings measure no acceleration.
        self.stream = prepared(likelihood, route.motion, starts, 1.0)
        self.known = plain((self.stream, route.readout.states, route.motion.ratio_spread))
        channels = sensor.channels
        self.live = np.flatnonzero(channels.live)
        self.mean, self.scale = channels.mean[self.live], channels.scale[self.live]
        self.limit = channels.limit[self.live]
        self.breaks = -math.expm1(-period_s / BREAK_S)
        self.heals = -math.expm1(-period_s / HEAL_S)
        # As long a standstill as in training is no sign of a sensor that broke.
        self.warm = math.ceil(SETTLED / float(likelihood.gains.min()))
        self.most_still = 2 * sensor.most_still + math.ceil(1.0 / period_s)
        self.offsets = SensorOffsets(replace(route, likelihood=likelihood))
        self.weight = TRUSTED
        self.age = self.still = 0
        self.last = np.full(len(self.live), np.nan)

    def take(self, reading: Floats) -> Floats | None:
        """Return the standardised reading (d,), or ``None`` if it is missing or frozen."""
        values = reading[self.live]
        self.still = self.still + 1 if np.array_equal(values, self.last) else 0
        self.last[:] = values
        # One that is not a number is not within the limit.
        if self.still > self.most_still or not (np.abs(values - self.mean) <= self.limit).all():
            self.age = 0
            return None
        self.age += 1
        observation: Floats = (values - self.mean) / self.scale
        return observation


class SensedBelief(RouteBelief):
    """A `RouteBelief` that also takes sensors."""

    def __init__(self, route: Route, sensors: Sequence[Sensor], period_s: float) -> None:
        self.heard = [_Heard(route, each, period_s) for each in sensors]
        super().__init__(route)

    def sense(self, readings: Sequence[Floats]) -> None:
        """Update with the newest reading (m,) of each sensor, NaN where there is none."""
        for heard, reading in zip(self.heard, readings, strict=True):
            observation = heard.take(reading)
            if observation is None:
                continue
            if heard.age <= min(heard.warm, self._age - 1):
                # It is back: its slow means are not yet those of the road behind.
                stream, first = heard.stream, heard.age == 1
                take_features(observation, stream.gains, stream.slow_means, stream.features, first)
                continue
            weight = heard.weight * (1.0 - heard.breaks) + (1.0 - heard.weight) * heard.heals
            heard.weight, self.elsewhere = weigh_sensor(
                observation - heard.offsets.applied, self._age <= 1, self._buffers, heard.known,
                weight, self.elsewhere, self._count,
            )  # fmt: skip
            heard.offsets.follow(
                observation, self.chances, self.ratios, self._active[: self._count]
            )
