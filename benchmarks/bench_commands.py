# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What commands of the vehicle bring a TPSR: `train --method tpsr --command-topic`.

Run `python benchmarks/bench_commands.py`. Drivers of the simulated slot car choose between two
throttles, the timid one the low one where the bold one takes the high one; they are published as
commands. A TPSR learns from one driver, or from as many ticks of both, with commands and without,
and is followed on other drives of either driver. Ratios are those of two errors on the same drive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

CARS, RATE_HZ = tuple(range(10)), 20.0
HORIZONS = (0, 10, 20)
TRAINING_TICKS, TEST_TICKS = 5_000, 1_500
TRAINED = ('the driver itself', 'the other driver', 'both drivers')
DRIVERS = ('timid', 'bold')


def drive(driver: str, seed: int, ticks: int) -> Recording:
    settings = SlotCarSettings(seed=seed, rate_hz=RATE_HZ, driver=driver)
    return run_to_recording(simulate(settings, samples=ticks))


def errors(training: list[Recording], tests: list[Recording], *, commands: bool) -> Floats:
    """Return the RMSE in metres of each test and horizon."""

    def seen(recording: Recording) -> Recording:
        return recording.with_commands_held() if commands else replace(recording, commands=None)

    settings = TrainingSettings(method='tpsr', horizons=HORIZONS)
    model = train_model([seen(each) for each in training], settings)
    scores = [evaluate(model, [seen(test)]).scores for test in tests]
    return np.array([[score.model.all.rmse_m or np.nan for score in each] for each in scores])


def main() -> None:
    """Print a row for each kind of training and horizon."""
    found: dict[str, list[Floats]] = {name: [] for name in TRAINED}
    for car in CARS:
        # No two drives have a seed in common.
        seeds = iter(range(100 * car, 100 * car + 100))
        tests = [drive(driver, next(seeds), TEST_TICKS) for driver in DRIVERS]
        alone = [[drive(driver, next(seeds), TRAINING_TICKS)] for driver in DRIVERS]
        half = TRAINING_TICKS // len(DRIVERS)
        both = [drive(driver, next(seeds), half) for driver in DRIVERS]
        by_training = np.array(
            [
                [errors(each, tests, commands=held) for held in (False, True)]
                for each in (*alone, both)
            ]
        )
        timid, bold, mixed = by_training  # each without and with commands, test, horizon
        found['the driver itself'] += [timid[:, 0], bold[:, 1]]
        found['the other driver'] += [timid[:, 1], bold[:, 0]]
        found['both drivers'] += [mixed[:, 0], mixed[:, 1]]
    print(
        f'RMSE in metres of a TPSR without and with commands, {len(CARS)} cars, each followed on'
    )
    print('a drive of either driver; ratio with / without: geometric mean, least and most')
    print(f'  {"trained on":20s}{"ticks ahead":>12s}{"without":>9s}{"with":>7s}', end='')
    print(f'{"ratio":>8s}{"least":>7s}{"most":>7s}  less error with')
    for name, drives in found.items():
        pairs = np.array(drives)  # drive, without and with, horizon
        for column, ahead in enumerate(HORIZONS):
            without, held = pairs[:, :, column].T
            ratio = held / without
            mean = np.exp(np.log(ratio).mean())
            print(
                f'  {name:20s}{ahead:12d}{without.mean():9.3f}{held.mean():7.3f}{mean:8.2f}'
                f'{ratio.min():7.2f}{ratio.max():7.2f}  {np.sum(ratio < 1.0)} of {len(ratio)}'
            )


if __name__ == '__main__':
    main()
