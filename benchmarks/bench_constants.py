# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Free numbers of the map and its belief, judged by drives on which they were not chosen.

Run `./run bench constants`, or name cases of the gauntlet after it. Every number is halved and
doubled, a share by its odds; the map is learned again, the drive of the gauntlet is followed, and
so are its other roads. The loss of a case is the logarithm of the RMSE over all ticks, plus the
share of ticks on the route that are not published, plus the share of those off it that are.

What is chosen on one half of the drives (`CHOOSING`, or all others) is judged by the other half:
a number holds where that is no better than its value.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
import math
import multiprocessing
import os
import time

from two_manifold_ros.threads import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

from bench_gauntlet import present
from gauntlet_drives import case_names, make_case
from gauntlet_scores import elsewhere, follow
import numpy as np

from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.route.transitions import Durations
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.following import lay_out_drives, usual_tuning
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model, with_time_scales

STARTS = ('starts_on', 'starts_standing', 'starts_off')
"""Numbers of a belief itself."""

CONSTANTS: dict[str, float] = {
    **asdict(Durations()),
    **{each: getattr(RouteBelief, each) for each in STARTS},
    **{name: value for name, value in asdict(Tuning()).items() if isinstance(value, float)},
}
"""Values of the durations, of the chances of a belief at a start, and of the learned map."""

SHARES = (
    'pull_away', 'starts_on', 'starts_standing', 'starts_off', 'usual_share',
    'begins_rolling', 'begins_standing', 'most_stop', 'shrinkage',
)  # fmt: skip
"""Numbers from 0 to 1."""

CHOOSING = (
    'f1tenth_ipz10', 'f1tenth_ipz17', 'slot_car', 'kart', 'kart_25hz', 'tram', 'agv',
)  # fmt: skip
"""One half of the drives; no vehicle or world is in both."""

FACTORS = (0.5, 1.0, 2.0)

NOT_FOLLOWED = ('f1tenth_ipz8', 'frictionmaps_ds1', 'frictionmaps_ds2')
"""Recordings on which no method gets below a third of the error of the mean position."""

Losses = dict[str, dict[str, list[float]]]
"""Of each constant and case: a loss for each of ``FACTORS``."""


def scaled(constant: str, factor: float) -> float:
    """Return a number times a factor; of a share its odds are multiplied."""
    value = CONSTANTS[constant]
    if constant not in SHARES:
        return factor * value
    odds = factor * value / (1.0 - value)
    return odds / (1.0 + odds)


def losses_of(name: str) -> tuple[str, dict[str, list[float]]]:
    """Return the losses of one case, by the constants."""
    case = make_case(name, 'auto')
    # The map that replaces that of the model is of the usual rate.
    settings = RouteSettings(max_step_load=0.0)
    model = train_model(case.training, settings)
    assert isinstance(model, RouteModel)  # noqa: S101 - which the default makes
    dataset = build_dataset(case.training, with_time_scales(case.training, settings))
    passes = lay_out_drives(
        [dataset.channels.standardise(each.values) for each in dataset.segments],
        [each.positions for each in dataset.segments],
        dataset,
        settings.horizons,
    )
    every = np.ones(len(passes.places.visited), dtype=np.bool_)

    def loss(**numbers: float) -> float:
        durations = {each: numbers.pop(each) for each in asdict(Durations()) if each in numbers}
        for each in STARTS:
            setattr(RouteBelief, each, numbers.pop(each, CONSTANTS[each]))
        tuning = replace(usual_tuning(settings), durations=Durations(**durations), **numbers)
        route = learn_route(passes, every, tuning, model.route.readout.states)
        readout = replace(route.readout, factors=model.route.readout.factors)
        tried = replace(model, route=replace(route, readout=readout))
        following = follow(tried, case.followed)
        known = following.known()
        rmse = math.sqrt(np.mean(np.square(following.errors()[known])))
        away = [elsewhere(tried, case, each)['published'] or 0.0 for each in case.elsewhere]
        withheld = 1.0 - float(following.published[known].mean())
        return math.log(rmse) + withheld + (float(np.mean(away)) if away else 0.0)

    usual = loss()
    found = {
        constant: [
            usual if factor == 1.0 else loss(**{constant: scaled(constant, factor)})
            for factor in FACTORS
        ]
        for constant in CONSTANTS
    }
    return name, found


def left_out(rows: dict[str, list[float]]) -> tuple[dict[str, float], dict[str, float]]:
    """
    Choose a factor without each case, by the mean loss of the others.

    Parameters
    ----------
    rows
        Of each case: losses for each of ``FACTORS``.

    Returns
    -------
    chosen, gained
        The factor of each case that is left out, and how much less its loss is with that.

    """
    chosen, gained = {}, {}
    usual = FACTORS.index(1.0)
    for name, row in rows.items():
        others = np.mean([each for other, each in rows.items() if other != name], axis=0)
        best = int(np.argmin(others))
        chosen[name], gained[name] = FACTORS[best], row[usual] - row[best]
    return chosen, gained


def gained_on(rows: dict[str, list[float]], judging: set[str]) -> tuple[float, float]:
    """Return the factor with the least mean loss on the other cases, and what it gains here."""
    usual = FACTORS.index(1.0)
    others = [row for name, row in rows.items() if name not in judging]
    best = int(np.argmin(np.mean(others, axis=0)))
    here = [row[usual] - row[best] for name, row in rows.items() if name in judging]
    return FACTORS[best], float(np.mean(here))


def show(losses: Losses) -> None:
    usual = FACTORS.index(1.0)
    print('number              value   loss at half / double, change    leaving one out   halves:')
    print('                            of the choosing / other half     mean     worst    A on B')
    for constant, value in CONSTANTS.items():
        rows = losses[constant]
        halves = [
            {name: row for name, row in rows.items() if (name in CHOOSING) == chosen}
            for chosen in (True, False)
        ]
        if not all(halves):
            continue
        changes = [
            np.mean([np.subtract(row, row[usual]) for row in half.values()], axis=0)
            for half in halves
        ]
        _, gained = left_out(rows)
        factor, gain = gained_on(rows, set(halves[1]))
        each = list(gained.values())
        print(
            f'{constant:16} {value:8g}   {changes[0][0]:+.3f} {changes[0][2]:+.3f} / '
            f'{changes[1][0]:+.3f} {changes[1][2]:+.3f}   {np.mean(each):+7.4f}  {min(each):+7.4f}'
            f'   x {factor:g} {gain:+.4f}'
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='cases of the gauntlet')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
    args = parser.parse_args()
    usual = [name for name in case_names() if name not in NOT_FOLLOWED]
    began = time.perf_counter()
    # Started afresh, because a fork of a process with threads may hang.
    with ProcessPoolExecutor(args.jobs, multiprocessing.get_context('spawn')) as pool:
        found = dict(pool.map(losses_of, present(args.names or usual)))
    losses = {
        constant: {name: rows[constant] for name, rows in found.items()} for constant in CONSTANTS
    }
    show(losses)
    print(f'{len(found)} cases, {(time.perf_counter() - began) / 60.0:.1f} minutes')


if __name__ == '__main__':
    main()
