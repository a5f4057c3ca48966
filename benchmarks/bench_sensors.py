# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What sensors beside the IMU bring the map of a route, and what they cost when they lie.

Run `python benchmarks/bench_sensors.py`. Simulated slot cars learn from 20 laps with a
magnetometer and the speed of a wheel, `train --sensor-topic`, and are followed on 10 laps of
another day: with each sensor alone, with all, and with one that dies or lies. Ratios are
those of mean errors with the sensor and without it, on the same drive, of all ticks after the
first window; of a sensor that goes wrong half-way, of those after that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.evaluate import run_filter
from two_manifold_ros.model.model import SensedRouteModel
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.simulation.slot_car_sensors import SENSORS
from two_manifold_ros.simulation.track import Track
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.evaluation.evaluate import FilterRun
    from two_manifold_ros.recordings.further_channels import HeldStream
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun
    from two_manifold_ros.typing import Bools, Floats

CARS = tuple(range(4))
TRAINING_LAPS, TEST_LAPS = 20, 10
STRAIGHT = 0.3
"""Turning, rad/m, below which the track is straight: two fifths of it."""

HALF = ('dies', 'freezes', 'jumps')
"""Faults that begin half-way."""


def half_of(values: Floats, later: Floats) -> Floats:
    """Return values (n, m) of which the second half is another."""
    changed: Floats = values.copy()
    changed[len(values) // 2 :] = later[len(values) // 2 :]
    return changed


def faults(values: Floats, seed: int) -> dict[str, Floats]:
    """Return readings (n, m) that are wrong, by what is wrong with them."""
    random = np.random.default_rng(seed)
    mean, spread = values.mean(axis=0), values.std(axis=0)
    along = np.linspace(0.0, 1.0, len(values))[:, None]
    halfway = values[len(values) // 2]
    away: Bools = (np.arange(len(values)) // 500 % 3 == 1)[:, None]
    return {
        'dies': half_of(values, np.full_like(values, np.nan)),
        'freezes': half_of(values, np.broadcast_to(halfway, values.shape)),
        'jumps': half_of(values, values + spread),
        'offset': values + 2.0 * spread,
        'drift': values + 3.0 * spread * along,
        'a fifth too much': 1.2 * values,
        'a swing too large': mean + 1.5 * (values - mean),
        'noise': values + spread * random.standard_normal(values.shape),
        'shuffled': random.permutation(values),
        'another place': np.roll(values, len(values) // 7, axis=0),
        'disturbed now and then': values + 1.5 * spread * away,
    }


def with_values(recording: Recording, topic: str, values: Floats) -> Recording:
    """Return a recording in which a sensor reads other values, no message where they are NaN."""

    def changed(stream: HeldStream) -> HeldStream:
        if stream.topic != topic:
            return stream
        known = np.isfinite(values).all(axis=1)
        return replace(stream, stamps=stream.stamps[known], values=values[known])

    return replace(recording, sensors=tuple(map(changed, recording.sensors)))


class Car:
    """A car, its map, and a drive on another day with the truth."""

    def __init__(self, seed: int) -> None:
        # No two drives have a seed in common.
        first, second = (SlotCarSettings(seed=100 * seed + each) for each in range(2))
        training = run_to_recording(simulate(first, laps=TRAINING_LAPS), tuple(SENSORS))
        self.drive: SlotCarRun = simulate(second, laps=TEST_LAPS)
        self.test = run_to_recording(self.drive, tuple(SENSORS))
        model = train_model([training], TrainingSettings())
        if not isinstance(model, SensedRouteModel):
            msg = 'the sensors of the simulated car never change'
            raise TypeError(msg)
        self.model = model

    def run(self, topics: Sequence[str], test: Recording) -> FilterRun:
        """Follow a drive with some of the sensors."""
        sensors = tuple(each for each in self.model.sensors if each.topic in topics)
        return run_filter(replace(self.model, sensors=sensors), test, lambda *_: None)

    def errors(self, run: FilterRun) -> tuple[Floats, Bools, Bools]:
        """Return errors (T,), metres; where the track is straight; and the second half."""
        track, drive = Track(), self.drive
        first = drive.stamps_ns[0]
        seconds = (run.stamps - first) * 1e-9
        distances = np.interp(seconds, (drive.stamps_ns - first) * 1e-9, drive.distances)
        apart = run.positions[:, 0] - track.position(distances)[:, :2]
        straight = np.abs(track.turning(distances)[:, 2]) < STRAIGHT
        return (
            np.asarray(np.linalg.norm(apart, axis=1)),
            np.asarray(straight),
            np.asarray(seconds > 0.5 * seconds[-1]),
        )


def main() -> None:
    """Print what sensors bring, and what their faults cost."""
    cars = [Car(seed) for seed in CARS]
    topics = {name: sensor.topic for name, sensor in SENSORS.items()}
    alone = [car.errors(car.run((), car.test)) for car in cars]
    print(
        f'Mean error in mm, {len(CARS)} simulated slot cars on another day; ratio to that of the'
    )
    print('IMU alone: geometric mean, least and most')
    print(f'  {"sensors":16s}{"where":14s}{"error":>7s}{"ratio":>8s}{"least":>7s}{"most":>7s}')
    sets: dict[str, tuple[str, ...]] = {'IMU alone': (), **{n: (t,) for n, t in topics.items()}}
    sets['all'] = tuple(topics.values())
    for name, chosen in sets.items():
        with_them = [car.errors(car.run(chosen, car.test)) for car in cars]
        for place in ('overall', 'on straights'):
            pairs = []
            for each in zip(with_them, alone, strict=True):
                straight = each[0][1]
                ticks = straight if place != 'overall' else np.ones_like(straight)
                pairs.append([errors[ticks].mean() for errors, _, _ in each])
            errors, usual = np.array(pairs).T
            ratio = errors / usual
            print(
                f'  {name:16s}{place:14s}{1e3 * errors.mean():7.1f}'
                f'{np.exp(np.log(ratio).mean()):8.3f}{ratio.min():7.3f}{ratio.max():7.3f}'
            )
    print('Ratio of the error with a sensor that is wrong to that without it')
    print(f'  {"sensor":14s}{"what is wrong":24s}{"ratio":>7s}{"least":>7s}{"most":>7s}')
    for number, (name, topic) in enumerate(topics.items()):
        rows: dict[str, list[float]] = {}
        for seed, car, (usual, _, later) in zip(CARS, cars, alone, strict=True):
            values = car.test.sensors[number].values
            for fault, wrong in faults(values, seed).items():
                run = car.run((topic,), with_values(car.test, topic, wrong))
                errors = car.errors(run)[0]
                where = later if fault in HALF else np.ones_like(later)
                ratio = errors[where].mean() / usual[where].mean()
                rows.setdefault(fault, []).append(float(ratio))
        for fault, ratios in rows.items():
            mean = np.exp(np.log(ratios).mean())
            print(f'  {name:14s}{fault:24s}{mean:7.3f}{min(ratios):7.3f}{max(ratios):7.3f}')


if __name__ == '__main__':
    main()
