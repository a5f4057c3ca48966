# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What sensors beside the IMU bring the map of a route.

Run `python benchmarks/bench_sensors.py`. Simulated slot cars learn from 20 laps with a
magnetometer and the speed of a wheel, `train --sensor-topic`, and are followed on 10 laps of
another day, with each sensor alone and with all. Ratios are those of mean errors with the sensor
and without it, on the same drive, of all ticks after the first window.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gauntlet_drives import Drive
import numpy as np

from two_manifold_ros.evaluation.evaluate import run_filter
from two_manifold_ros.model.model import SensedRouteModel
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.simulation.slot_car_sensors import SENSORS
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

CARS = tuple(range(4))
TRAINING_LAPS, TEST_LAPS = 20, 10


def driven(seed: int) -> tuple[SensedRouteModel, Drive, Recording]:
    """Return the map of a car, and a drive on another day with the truth."""
    # No two drives have a seed in common.
    first, second = (SlotCarSettings(seed=100 * seed + each) for each in range(2))
    training = run_to_recording(simulate(first, laps=TRAINING_LAPS), tuple(SENSORS))
    run = simulate(second, laps=TEST_LAPS)
    model = train_model([training], TrainingSettings())
    assert isinstance(model, SensedRouteModel)  # noqa: S101 - sensors of the simulated car change
    on_route = np.ones(len(run.imu), dtype=np.bool_)
    drive = Drive('slot car', run.stamps_ns, run.imu, run.positions[:, :2], on_route)
    return model, drive, run_to_recording(run, tuple(SENSORS))


def errors_of(
    model: SensedRouteModel, drive: Drive, topics: Sequence[str], test: Recording
) -> Floats:
    """Follow a drive with some sensors; return errors (T,), metres."""
    sensors = tuple(each for each in model.sensors if each.topic in topics)
    run = run_filter(replace(model, sensors=sensors), test, lambda *_: None)
    apart = run.positions[:, 0] - drive.truths_at(run.stamps)
    return np.asarray(np.linalg.norm(apart, axis=1))


def show(words: str, ratios: Sequence[float]) -> None:
    mean = np.exp(np.log(ratios).mean())
    print(f'  {words:40s}{mean:8.3f}{min(ratios):7.3f}{max(ratios):7.3f}', flush=True)


def main() -> None:
    """Print what sensors bring."""
    cars = [driven(seed) for seed in CARS]
    topics = {name: sensor.topic for name, sensor in SENSORS.items()}
    alone = [errors_of(model, drive, (), test) for model, drive, test in cars]
    usual_mm = 1e3 * np.mean([errors.mean() for errors in alone])
    print(
        f'{len(CARS)} simulated slot cars on another day: mean error {usual_mm:.1f} mm by the IMU'
    )
    print('alone, and over it with sensors: geometric mean, least and most')
    for name, chosen in {
        **{n: (t,) for n, t in topics.items()},
        'all': (*topics.values(),),
    }.items():
        found = [errors_of(model, drive, chosen, test) for model, drive, test in cars]
        pairs = zip(found, alone, strict=True)
        show(name, [float(each.mean() / usual.mean()) for each, usual in pairs])


if __name__ == '__main__':
    main()
