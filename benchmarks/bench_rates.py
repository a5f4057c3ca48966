# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
One drive at several rates: errors, share published, ellipses and time until found.

A belief that does not depend on the rate of its ticks gives the same at each, but for what
the signal itself gains. Run `./run bench rates`, or name worlds after it.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
import multiprocessing
import os
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.threads import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

from gauntlet_drives import make_case, other_days
from gauntlet_scores import follow, Following, moves
import numpy as np

from two_manifold_ros.route.learning import Tuning
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from gauntlet_drives import Case, Drive

    from two_manifold_ros.typing import Bools, Floats

RATES_HZ = (5.0, 10.0, 20.0, 50.0)
AHEAD_S = (0.0, 1.0, 2.0)
"""Whole ticks at every rate."""

WORLDS = ('slot_car', 'rc_car', 'figure_eight')
"""Two small and fast vehicles, and a large one on a route that crosses itself."""


class Figures(NamedTuple):
    """
    How a model follows drives.

    Parameters
    ----------
    rmse_m, median_m, published
        Over all ticks after the first window, and the share of them that is published.
    inside : (A, 2)
        Shares of the published positions in the 68 % and the 95 % ellipse, by time ahead.
    found, found_s
        Share of moves that are found within 1.5 windows, and the median time it takes.

    """

    rmse_m: float
    median_m: float
    published: float
    inside: Floats
    found: float
    found_s: float

    def __str__(self) -> str:
        ellipses = '   '.join(f'{100 * one:3.0f} /{100 * two:4.0f}' for one, two in self.inside)
        return (
            f'{self.rmse_m:7.3f} {self.median_m:7.3f} {100 * self.published:6.1f}   {ellipses}  '
            f'{100 * self.found:5.0f} {self.found_s:5.1f}'
        )


def figures_at(
    rate_hz: float, case: Case, drives: list[Drive], window_s: float, sharpness: float | None
) -> Figures:
    """Train at a rate and follow drives; without a sharpness it is that of the default."""
    settings = RouteSettings(
        rate_hz=rate_hz,
        window=round(window_s * rate_hz),
        horizons=tuple(round(rate_hz * seconds) for seconds in AHEAD_S),
        sharpness=sharpness,
    )
    model = train_model(case.training, settings)
    followings = [follow(model, drive) for drive in drives]

    def every(value: Callable[[Following], Floats | Bools], horizon: int = 0) -> Floats:
        parts = [value(each)[each.known(horizon)] for each in followings]
        return np.concatenate(parts).astype(np.float64)

    errors, published = every(Following.errors), every(lambda each: each.published)
    inside = np.empty((len(AHEAD_S), 2))
    for horizon, level in np.ndindex(inside.shape):
        shown = every(lambda each: each.published, horizon) > 0.0
        inside[horizon, level] = every(partial(_inside, horizon, level), horizon)[shown].mean()
    found = moves(model, case) or {'found': np.nan, 'found_median_windows': None}
    return Figures(
        float(np.sqrt(np.square(errors).mean())),
        float(np.median(errors)),
        float(published.mean()),
        inside,
        found['found'],
        window_s * (found['found_median_windows'] or np.nan),
    )


def _inside(horizon: int, level: int, following: Following) -> Bools:
    return following.inside(horizon, level)


def compare(name: str, days: int) -> list[str]:
    """Return the rows of a world."""
    case = make_case(name)
    drives = [case.followed, *other_days(name)][:days]
    usual = train_model(case.training, RouteSettings(max_step_load=0.0))
    native_hz = 1e9 / float(np.median(np.diff(case.training[0].imu.stamps)))
    rows = []
    for rate_hz in sorted({*RATES_HZ, usual.rate_hz}):
        if rate_hz > 1.05 * native_hz:
            continue
        is_usual = rate_hz == usual.rate_hz
        mark = '*' if is_usual else ' '
        window_s = usual.window / usual.rate_hz
        both = ('both', None), ('a tick', Tuning.sharpness)
        kinds = both[:1] if is_usual else (('a second', None), both[1])
        for words, sharpness in kinds:
            figures = figures_at(rate_hz, case, drives, window_s, sharpness)
            rows.append(f'  {name:13s} {rate_hz:4.0f}{mark} {words:9s} {figures}')
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', default=WORLDS, metavar='WORLD')
    parser.add_argument('--days', type=int, default=3, help='followed (default: %(default)s)')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
    args = parser.parse_args()
    ahead = '   '.join(f'{f"+{seconds:g} s":>9s}' for seconds in AHEAD_S)
    print('* the usual rate; sharpness: the same for a second or for a tick; moves found within')
    print('1.5 windows, %, and the median time until found, s; errors in metres')
    print(f'  {"world":13s}   Hz  sharpness    RMSE  median publ %   {ahead}  found    s')
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(args.jobs, context) as pool:
        for rows in pool.map(partial(compare, days=args.days), args.names):
            print('\n'.join(rows), flush=True)


if __name__ == '__main__':
    main()
