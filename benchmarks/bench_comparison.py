# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
This package beside every rival, on the recordings and on a kart.

All methods have the time scale that a training chooses. The protocol of the paper is run by
`two-manifold reproduce slot-car`.

Run `python benchmarks/bench_comparison.py`; the real recordings are looked for in
`shared/recordings` beside the checkout and passed over where they are absent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tables import metres, table
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.comparison.comparing import compare, Plan, plan_bags, plan_share
from two_manifold_ros.comparison.rivals import methods_named, NAMES
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'


def errors_of(plan: Plan) -> dict[str, Floats]:
    """Return the RMSE of each method at every horizon, NaN for one that failed."""
    result = compare(plan, methods_named(NAMES))
    horizons = len(result.horizons)
    found = {}
    for each in result.results:
        if each.failure:
            print(f'  {each.name} failed: {each.failure}')
        scores = each.scores or ()
        values = [np.nan if (m := score.all.rmse_m) is None else m for score in scores]
        found[each.name] = np.array(values or [np.nan] * horizons)
    return found


def kart_plan() -> Plan:
    """Return laps of a kart to cut, with an IMU at 10 Hz."""
    kart = replace(world_named('kart'), rate_hz=10.0)
    return plan_share(drive(kart, laps=22).recording, TrainingSettings())


def real_plans() -> list[tuple[str, Plan]]:
    if not RECORDINGS.is_dir():
        print('the real recordings are not beside the checkout; only the simulator is run')
        return []
    runs = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in range(1, 8)]
    every = TrainingSettings(horizons=(0, 25, 50))
    return [
        (
            'f1tenth_ipz10, 20 Hz, last 30 % of one bag',
            plan_share(read_recording(RECORDINGS / 'f1tenth_ipz10'), TrainingSettings()),
        ),
        ('f1tenth_ipz20, run_1..6 -> run_7, 25 Hz', plan_bags(runs[:6], runs[6:], every)),
    ]


def section() -> str:
    """
    Methods of `two-manifold compare`: RMSE in metres, now / at the middle horizon.

    Every method learns from the same recordings. `previous` and `imu-only` get true positions.
    """
    plans = [*real_plans(), ('kart, 22 laps', kart_plan())]
    names: dict[str, list[str]] = defaultdict(list)
    for _, plan in plans:
        shown = [0, len(plan.train.horizons) // 2]
        for name, errors in errors_of(plan).items():
            names[name].append(' / '.join(metres(errors[each]) for each in shown))
    head = ', '.join(['method', *(title.split(',')[0] for title, _ in plans)])
    return table(head, [[f'`{name}`', *cells] for name, cells in names.items()], aligned=False)


if __name__ == '__main__':
    print(section())
