# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A model that was trained on some vehicles, on one that it has not seen.

Run `python benchmarks/bench_vehicles.py`. A fleet of 20 simulated cars, see worlds/vehicles.py,
one drive of each: a model of 19 follows the one that was left out, as it is and measured against
the map, beside a model of five drives of that one. The same with two and three times the usual
differences of the sensors of the one that was left out.
Errors are distances to the true position as late as the receiver has it, of all ticks
after the first window of a drive of another day. The cars 0 to 3 are those on which the method was
chosen; by default others are left out.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from gauntlet_drives import of_world
from gauntlet_scores import listen
import numpy as np
from tables import metres, percent, table
from worlds.drive import drive
from worlds.table import world_named
from worlds.vehicles import DIFFERENCES, FLEET, vehicle

from two_manifold_ros.evaluation.vehicles import measure_vehicle
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worlds.drive import WorldDrive
    from worlds.vehicles import Differences

    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.model.vehicle import Vehicle

WORLD = world_named('car')
LAPS = 2
OWN_DAYS = range(5)
MEASURED_DAY, SCORED_DAY = 10, 11
TIMES = 1.0, 2.0, 3.0


def driven(car: int, day: int, differences: Differences, laps: int = LAPS) -> WorldDrive:
    """Return a drive of a car; no two have the same seed."""
    return drive(vehicle(WORLD, car, differences), day=day, laps=laps, seed=100 * car + day)


def trained(drives: Sequence[WorldDrive]) -> ModelHead:
    return train_model([each.recording for each in drives], TrainingSettings())


def score(
    model: ModelHead, run: WorldDrive, correction: Vehicle | None = None
) -> tuple[float, float]:
    """Return the mean error, m, and the share of the ticks that are published."""
    live = Filter(model, correction=correction)
    following = listen(live.push, lambda: live.running, of_world(run, 'car'))
    late_ns = round(1e9 * WORLD.positions.late_s)
    stamps, truth = run.recording.imu.stamps, run.truth
    true = truth[np.searchsorted(stamps, following.stamps - late_ns, side='right') - 1]
    after = slice(model.window - 1, None)
    errors = np.linalg.norm(following.positions[:, 0] - true, axis=1)[after]
    return float(errors.mean()), float(following.published[after].mean())


def row_of(model: ModelHead, car: int, times: float) -> list[float]:
    """Return error and share published of three ways, and by how much the sensor is turned."""
    larger = replace(
        DIFFERENCES,
        angle_deg=times * DIFFERENCES.angle_deg,
        scale=times * DIFFERENCES.scale,
    )
    own = trained([driven(car, day, larger) for day in OWN_DAYS])
    run = driven(car, SCORED_DAY, larger, LAPS + 1)
    measured = measure_vehicle(model, [driven(car, MEASURED_DAY, larger, LAPS + 1).recording])
    ways = score(own, run), score(model, run), score(model, run, measured.vehicle)
    angle = float(np.degrees(np.linalg.norm(measured.vehicle.angles)))
    return [*(number for way in ways for number in way), angle]


def cells_of(found: Sequence[Sequence[float]]) -> list[str]:
    """Return the cells of a row, or of the means over rows; errors over that of the own model."""
    errors, published = np.array(found)[:, 0:6:2], np.array(found)[:, 1:6:2]
    ratios = (errors / errors[:, :1]).mean(axis=0)
    ways = zip(ratios[1:], published.mean(axis=0)[1:], strict=True)
    numbers = (cell for ratio, share in ways for cell in (f'{ratio:.2f}', percent(share, 1)))
    own = metres(errors[:, 0].mean()), percent(published[:, 0].mean(), 1)
    return [*own, *numbers, f'{np.mean(found, axis=0)[-1]:.1f}']


HEAD = 'times, car, own model m, published, as it is, published, measured, published, turned deg'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--cars', type=int, nargs='+', default=[4, 5, 6, 7, 8, 9], help='left out (4 to 9)'
    )
    found: dict[float, dict[int, list[float]]] = {times: {} for times in TIMES}
    for car in parser.parse_args().cars:
        others = [each for each in range(FLEET) if each != car]
        model = trained([driven(each, 0, DIFFERENCES) for each in others])
        for times in TIMES:
            found[times][car] = row_of(model, car, times)
    rows = []
    for times, cars in found.items():
        rows += [[f'{times:g}', str(car), *cells_of([each])] for car, each in cars.items()]
        rows.append([f'{times:g}', 'mean', *cells_of([*cars.values()])])
    print(f'model of {FLEET - 1} cars, to reach: 1.3 times at most, 95 % published at least')
    print(table(HEAD, rows))


if __name__ == '__main__':
    main()
