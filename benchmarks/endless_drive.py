# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A drive that goes round and round for as long as wanted, with faults strewn in; no benchmark."""

from __future__ import annotations

from collections import Counter
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.typing import Floats

    Sample = tuple[int, Floats, int]

SECOND = 10**9
LAPS = 20
FAULT_EVERY_S = 20.0
"""Seconds of samples from one fault to the next."""

ODD = (
    'non_finite',
    'out_of_range',
    'zero_stamp',
    'duplicate_stamp',
    'out_of_order',
    'wild_stamp',
)
"""Samples that must not be used."""

STEPS_S = (0.3, 1.0, 10.0, -10.0)
"""Seconds without samples, and a clock that is set back."""

NOWHERE = -1
"""Place of a sample that was not driven."""


class EndlessDrive:
    """
    Laps of the slot car from the second on, over and over, the stamps going on.

    Parameters
    ----------
    rate_hz
        Of the IMU.
    seed
        Of the car, not the one that models are trained with; and of the faults.

    Attributes
    ----------
    positions : (N, 2)
        True positions by place.
    sent
        Samples given out, and faults strewn in, by the counter that has to show them.

    """

    def __init__(self, rate_hz: float = 100.0, seed: int = 1) -> None:
        run = simulate(SlotCarSettings(seed=seed, rate_hz=rate_hz), laps=LAPS)
        moving = run.distances >= run.distances[0] + (run.distances[-1] - run.distances[0]) / LAPS
        self._samples = run.imu[moving]
        self._period = round(SECOND / rate_hz)
        self._begin = int(run.stamps_ns[0])
        self._every = round(FAULT_EVERY_S * rate_hz)
        self._random = np.random.default_rng(seed)
        self.positions = run.positions[moving, :2]
        self.sent: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Sample]:
        """Yield stamp, sample and place for ever: faults come after the sample that they mock."""
        stamp, driven = self._begin, 0
        for given in itertools.count(1):
            place = driven % len(self._samples)
            sample = self._samples[place]
            self.sent.update(('received', 'used'))
            yield stamp, sample, place
            if given % self._every == 0:
                kind = (given // self._every) % (len(ODD) + len(STEPS_S))
                if kind < len(ODD):
                    yield self._odd(ODD[kind], stamp, sample)
                else:
                    step = round(STEPS_S[kind - len(ODD)] * SECOND) // self._period
                    self.sent['gaps' if step > 0 else 'jumps_back'] += 1
                    stamp += step * self._period
                    # The car goes on where only the samples are missing.
                    driven += max(step, 0)
            stamp += self._period
            driven += 1

    def _odd(self, cause: str, stamp: int, sample: Floats) -> Sample:
        self.sent['received'] += 1
        self.sent[cause] += 1
        channel = int(self._random.integers(6))
        changed = sample.copy()
        if cause == 'non_finite':
            changed[channel] = np.nan
        elif cause == 'out_of_range':
            changed[channel] = 1e30
        away = {
            'zero_stamp': -stamp,
            'duplicate_stamp': 0,
            'out_of_order': -int(self._random.integers(1, SECOND // 4)),
            'wild_stamp': int(self._random.choice([-1, 1])) * 86_400 * SECOND,
        }
        return stamp + away.get(cause, 1), changed, NOWHERE
