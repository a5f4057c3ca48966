# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a belief about the place is judged by: a row for each case, of routes and of networks.

Run `./run bench belief`, or name cases after it: those of the gauntlet with one map, and yards
with a grid of aisles that look alike. Each time a model of a yard is trained on four drives of
forty errands, and drives of twenty other errands on later days are followed, also at other speeds.
The aisles and the vehicle of all yards are the same; numbers were chosen on the first one.

Errors are of all ticks after the first window; `far` is published and farther off than two metres
in a yard, or a quarter of the extent of a route. Twelve cold starts are at any ticks, on a network
on the way: `found` is the median of the ticks until the position and its 95 % ellipse are not far,
published or not; then the same with one position fix at the start, with an error of 3 m in a yard,
or a twentieth of the extent. After a move, `wrong` is published in two windows; `others` is the
most published on other roads.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gauntlet_networks import aisles, all_names, any_case, SEVERAL
from gauntlet_scores import elsewhere, extent_m, follow, moves, trained
import numpy as np
from runner import spread, with_cases
from tables import metres, percent, table

from two_manifold_ros.hse_hmm.readout import CHI_SQUARE
from two_manifold_ros.inspection.lag import AUTO

if TYPE_CHECKING:
    from gauntlet_drives import Case, Drive

    from two_manifold_ros.model.model import ModelHead

YARDS = {'chosen_on': 10, 'yard_1': 0, 'yard_2': 20, 'yard_3': 30}
"""Seed of the first training drive of each yard."""
SPEEDS = {'all': (1.0, 8), 'at 60 %': (0.6, 4), 'at 80 %': (0.8, 4), 'at 115 %': (1.15, 4)}
"""Speed of the driver on whole drives of a yard, over the usual one, and the drives."""

DRIVE_LAPS, MOST_LAPS = 5, 100
"""Of a drive, of four errands each; and more, as a driver chooses a speed for a usual length."""

YARD_FAR_M, FAR, STARTS, START_S, YARD_FIX_M, FIX = 2.0, 0.25, 12, 180.0, 3.0, 0.05

HEAD = (
    'case, drives, RMSE m, median m, RMSE of published, published, far, cold start: found ticks, '
    'published, far, RMSE m, fix: found ticks, published, far, RMSE m, move: wrong, found, '
    'others, us a tick'
)


def trial_of(name: str) -> tuple[Case, dict[str, list[Drive]], float, float]:
    """Return a case, drives by what they are, how far off is far, and the error of a fix."""
    if name not in YARDS:
        case = any_case(name)
        whole_m = extent_m(case.followed)
        return case, {'all': [case.followed]}, FAR * whole_m, FIX * whole_m
    yard, first = aisles(YARDS[name]), 1000 + 10 * YARDS[name]

    def along(speed: float, each: int) -> Drive:
        numbers = {'day': 1 + each, 'seed': first + each, 'lap_ratios': (speed,) * MOST_LAPS}
        return yard.with_laps(DRIVE_LAPS, **numbers)[0]

    drives = {
        what: [along(speed, each) for each in range(count)]
        for what, (speed, count) in SPEEDS.items()
    }
    return yard.case(name, AUTO), drives, YARD_FAR_M, YARD_FIX_M


def followed(model: ModelHead, drives: list[Drive], far_m: float) -> list[str]:
    """Return the cells of drives from where they begin, and the microseconds of a tick."""
    parts = [(each, each.known()) for each in (follow(model, drive) for drive in drives)]
    errors = np.concatenate([each.errors()[known] for each, known in parts])
    shown = np.concatenate([each.published[known] for each, known in parts])
    every, seen = (np.linalg.norm(x) / (len(x) or np.nan) ** 0.5 for x in (errors, errors[shown]))
    shares = (percent(float(np.mean(each)), 1) for each in (shown, shown & (errors > far_m)))
    sizes = map(metres, (every, float(np.median(errors)), seen))
    return [*sizes, *shares, f'{np.mean([each.microseconds.mean() for each, _ in parts]):.0f}']


def starts(model: ModelHead, drives: list[Drive], far_m: float, fix_m: float) -> list[str]:
    """Return the cells of starts at any ticks of the drives, with a fix unless its error is 0."""
    random, ticks, shares, errors = np.random.default_rng(0), [], [], []
    for index in range(STARTS):
        stamps = (drive := drives[index % len(drives)]).stamps
        last = int(np.searchsorted(stamps, stamps[-1] - round(1e9 * START_S)))
        begin = int(random.integers(max(last, 1)))
        end = int(np.searchsorted(stamps, stamps[begin] + round(1e9 * START_S)))
        following = follow(model, drive.part(begin, end), fix_m)
        shown, far = following.published & following.known(), following.errors() > far_m
        axes = np.sqrt(CHI_SQUARE[1] * np.linalg.eigvalsh(following.covariances[:, 0])[:, 1])
        right = np.flatnonzero((axes < far_m) & ~far)
        ticks.append(float(right[0]) if len(right) else np.inf)
        shares.append(np.stack([shown, shown & far], axis=1)[following.known()])
        errors.append(following.errors()[following.known()])
    means = (percent(each, 1) for each in np.concatenate(shares).mean(axis=0).tolist())
    error_m = float(np.sqrt(np.mean(np.square(np.concatenate(errors)))))
    return [f'{np.median(ticks):.0f}', *means, metres(error_m)]


def rows_of(name: str) -> list[list[str]]:
    """Train a case and return its rows, one for each kind of drives."""
    case, drives, far_m, fix_m = trial_of(name)
    model = trained(case.training, (), 'route')
    moved = moves(model, case) or {'wrong': None, 'found': None}
    away = [elsewhere(model, case, each)['published'] for each in case.elsewhere]
    rows = []
    for what, each in drives.items():
        *cells, took = followed(model, each, far_m)
        cells += starts(model, each, far_m, 0.0) + starts(model, each, far_m, fix_m)
        rows.append([name, what, *cells, '', '', '', took])
    most = max((each for each in away if each is not None), default=None)
    rows[0][-4:-1] = [percent(x, 1) for x in (moved['wrong'], moved['found'], most)]
    return rows


def main() -> None:
    known = [each for each in all_names() if each not in (*SEVERAL, 'yard')]
    args = with_cases(argparse.ArgumentParser(description=__doc__), [*known, *YARDS])
    rows = [row for _, found in spread(rows_of, args.names, args.jobs) for row in found]
    print(table(HEAD, rows))


if __name__ == '__main__':
    main()
