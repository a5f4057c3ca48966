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
from typing import NamedTuple, TYPE_CHECKING

from gauntlet_drives import of_world
from gauntlet_scores import listen
import numpy as np
from worlds.drive import drive
from worlds.table import world_named
from worlds.vehicles import DIFFERENCES, FLEET, vehicle

from two_manifold_ros.evaluation.vehicles import measure_vehicle
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.vehicle import VehicleCorrection
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worlds.drive import WorldDrive
    from worlds.vehicles import Differences

    from two_manifold_ros.model.head import ModelHead

WORLD = world_named('car')
LAPS = 2
OWN_DAYS = range(5)
MEASURED_DAY, SCORED_DAY = 10, 11
TIMES = 1.0, 2.0, 3.0


class Score(NamedTuple):
    """Mean error, m, and share of the ticks that are published."""

    error_m: float
    published: float

    def __str__(self) -> str:
        return f'{self.error_m:7.2f}{100.0 * self.published:6.1f}'


def driven(car: int, day: int, differences: Differences, laps: int = LAPS) -> WorldDrive:
    """Return a drive of a car; no two have the same seed."""
    return drive(vehicle(WORLD, car, differences), day=day, laps=laps, seed=100 * car + day)


def trained(drives: Sequence[WorldDrive]) -> ModelHead:
    return train_model([each.recording for each in drives], TrainingSettings())


def score(model: ModelHead, run: WorldDrive, correction: VehicleCorrection | None = None) -> Score:
    live = Filter(model, correction=correction)
    following = listen(live.push, lambda: live.running, of_world(run, 'car'))
    late_ns = round(1e9 * WORLD.positions.late_s)
    stamps, truth = run.recording.imu.stamps, run.truth
    true = truth[np.searchsorted(stamps, following.stamps - late_ns, side='right') - 1]
    after = slice(model.window - 1, None)
    errors = np.linalg.norm(following.positions[:, 0] - true, axis=1)[after]
    return Score(float(errors.mean()), float(following.published[after].mean()))


HEADING = (
    '              own model      as it is           offline        turned,\n'
    'car  times      m   publ.     m   publ. ratio     m   publ. ratio  deg'
)


def show(model: ModelHead, car: int, times: float, differences: Differences) -> list[float]:
    """Print one row; return the ratios and the shares published of the two ways."""
    larger = replace(
        differences,
        angle_deg=times * differences.angle_deg,
        scale=times * differences.scale,
    )
    own = score(
        trained([driven(car, day, larger) for day in OWN_DAYS]),
        run := driven(car, SCORED_DAY, larger, LAPS + 1),
    )
    measured = measure_vehicle(model, [driven(car, MEASURED_DAY, larger, LAPS + 1).recording])
    ways = [score(model, run), score(model, run, VehicleCorrection(model, measured.vehicle))]
    ratios = [each.error_m / own.error_m for each in ways]
    shown = '  '.join(f'{each}{ratio:6.2f}' for each, ratio in zip(ways, ratios, strict=True))
    angle = np.degrees(np.linalg.norm(measured.vehicle.angles))
    print(f'{car:3d}{times:6.0f} {own}  {shown}{angle:6.1f}', flush=True)
    return [*ratios, *(each.published for each in ways)]


def summarise(rows: Sequence[Sequence[float]], what: str) -> None:
    ratios, shares = np.split(np.array(rows), 2, axis=1)
    ways = zip(('as it is', 'offline'), ratios.T, shares.T, strict=True)
    print(
        f'{what}, ratio mean and largest, published mean and least: '
        + '; '.join(
            f'{name} {ratio.mean():.2f} {ratio.max():.2f}, '
            f'{100 * share.mean():.1f} % {100 * share.min():.1f} %'
            for name, ratio, share in ways
        ),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--cars', type=int, nargs='+', default=[4, 5, 6, 7, 8, 9], help='left out (4 to 9)'
    )
    args = parser.parse_args()
    print(f'model of {FLEET - 1} cars, to reach: ratio 1.3 at most, published 95 % at least')
    print(HEADING)
    rows: dict[float, list[list[float]]] = {times: [] for times in TIMES}
    for car in args.cars:
        others = [each for each in range(FLEET) if each != car]
        model = trained([driven(each, 0, DIFFERENCES) for each in others])
        for times in TIMES:
            rows[times].append(show(model, car, times, DIFFERENCES))
    for times, each in rows.items():
        summarise(each, f'{times:.0f} times the differences')


if __name__ == '__main__':
    main()
