# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
One drive at several rates: errors, share told, time until found and ellipses beside each other.

A belief that does not depend on the rate of its ticks gives the same at each, but for what
the signal itself gains. Run `./run bench rates`, or name worlds after it.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
import multiprocessing
import os
from typing import TYPE_CHECKING

from two_manifold_ros.threads import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

from gauntlet_drives import make_case, other_days
from gauntlet_scores import follow, moves
import numpy as np

from two_manifold_ros.route.learning import Tuning
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from gauntlet_scores import Following

RATES_HZ = (5.0, 10.0, 20.0, 50.0)
AHEAD_S = (0.0, 1.0, 2.0)
"""Whole ticks at every rate."""

WORLDS = ('slot_car', 'rc_car', 'kart', 'figure_eight')
"""Two small and fast vehicles, a large one, and a route that crosses itself."""

SHARPNESSES = ('a second', 'a tick')


def compare(name: str, days: int) -> list[str]:
    """Return the rows of a world."""
    case = make_case(name)
    drives = [case.followed, *other_days(name)][:days]
    usual = train_model(case.training, TrainingSettings(max_step_load=0.0))
    window_s = usual.window / usual.rate_hz
    imu = case.training[0].imu
    native_hz = 1e9 / float(np.median(np.diff(imu.stamps)))
    rows = []
    for rate_hz in RATES_HZ:
        if rate_hz > 1.05 * native_hz:
            continue
        for of in SHARPNESSES:
            sharpness = Tuning.sharpness
            if of == 'a second':
                sharpness = min(sharpness * usual.rate_hz / rate_hz, 1.0)
            settings = TrainingSettings(
                rate_hz=rate_hz,
                window=round(window_s * rate_hz),
                horizons=tuple(round(rate_hz * seconds) for seconds in AHEAD_S),
                sharpness=sharpness,
            )
            model = train_model(case.training, settings)
            found = moves(model, case)
            followings = [follow(model, drive) for drive in drives]
            rows.append(
                f'  {name:13s} {rate_hz:4.0f}{"*" if rate_hz == usual.rate_hz else " "} '
                f'{of:9s} {sharpness:5.2f} {summarise(followings)}  '
                f'{100.0 * found["found"] if found else np.nan:5.0f} '
                f'{window_s * ((found or {}).get("found_median_windows") or np.nan):5.1f}'
            )
    return rows


def summarise(followings: list[Following]) -> str:
    """Return errors, the share told, and ellipses over all drives of a model."""
    known = [each.known() for each in followings]
    errors = np.concatenate([f.errors()[k] for f, k in zip(followings, known, strict=True)])
    told = np.concatenate([f.published[k] for f, k in zip(followings, known, strict=True)])
    ellipses = []
    for horizon in range(len(AHEAD_S)):
        shares = []
        for level in range(2):
            inside = [
                each.inside(horizon, level)[each.known(horizon) & each.published]
                for each in followings
            ]
            shares.append(100.0 * float(np.concatenate(inside).mean()))
        ellipses.append(f'{shares[0]:3.0f} /{shares[1]:4.0f}')
    rms = float(np.sqrt(np.square(errors).mean()))
    return (
        f'{rms:7.3f} {float(np.median(errors)):7.3f} {100.0 * told.mean():6.1f}   '
        f'{"   ".join(ellipses)}'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', default=WORLDS, metavar='WORLD')
    parser.add_argument('--days', type=int, default=3, help='followed (default: %(default)s)')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
    args = parser.parse_args()
    ahead = '   '.join(f'{f"+{seconds:g} s":>9s}' for seconds in AHEAD_S)
    print('* the usual rate; sharpness: the same for a second or for a tick; moves found within')
    print('1.5 windows, %, and the median time until found, s; errors in metres')
    print(f'  {"world":13s}   Hz  sharpness         RMSE  median told %   {ahead}  found   s')
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(args.jobs, context) as pool:
        for rows in pool.map(partial(compare, days=args.days), args.names):
            print('\n'.join(rows), flush=True)


if __name__ == '__main__':
    main()
