# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A yard with a grid of aisles that look alike, followed on errands never driven as a whole.

Run `./run bench yard`, or name yards after it. Each time a model is trained on four drives of
forty errands, and eight drives of twenty other errands on later days are followed from a cold
start. The aisles and the vehicle of all four yards are the same; the drives are not. The numbers
of the network were chosen on the training of the first yard and on other drives there. `at ...
speed` are errands on all of which the driver is slower or faster than in the training. `on the
way` are the drives of which the filter misses the first 100 seconds, two minutes after it started.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gauntlet_drives import of_world
from gauntlet_scores import follow
import numpy as np
from runner import spread, with_jobs
from tables import metres, percent, table
from worlds.network import travel, Yard, yard_network

from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from gauntlet_drives import Drive

    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.typing import Bools, Floats

YARDS = {'chosen_on': 10, 'yard_1': 0, 'yard_2': 20, 'yard_3': 30}
"""Seed of the first training drive of each yard; numbers were chosen on the first."""

TRAINING, ERRANDS, FOLLOWED, OTHERS = 4, 40, 8, 20
"""Drives and errands of the training, drives that are followed and their errands."""

STARTS_S = 3.0
"""That vehicles stand before they drive."""

NEAR_M = 2.0

SPEEDS, DRIVES_A_SPEED = (0.6, 0.8, 1.15), 4
"""Speeds of a driver on whole drives, over the usual one, and the drives at each."""

MOST_LAPS = 100
"""More than a drive has: a driver chooses a speed for each usual length of the network."""

LATER_S, FOUND_S = 100.0, 120.0
"""When drives are followed from the way, and how long after that they are judged."""


Followed = tuple['Floats', 'Bools', float]
"""Errors of a drive after its first window, m, which are published, and ms a tick."""


def drives_of(seed: int, speed: float = 1.0, count: int = FOLLOWED) -> list[Drive]:
    """Return the first drives of a yard that are followed, each on a later day, at a ``speed``."""
    ratios = () if speed == 1.0 else (speed,) * MOST_LAPS
    seeds = range(1000 + 10 * seed, 1000 + 10 * seed + count)
    made = [
        travel(yard_network(), Yard().errands(OTHERS, each), day=day, seed=each, lap_ratios=ratios)
        for day, each in enumerate(seeds, 1)
    ]
    return [of_world(each, 'yard') for each in made]


def trained(seed: int) -> ModelHead:
    """Return a model of a yard, at the usual rate."""
    seeds = range(seed, seed + TRAINING)
    made = [travel(yard_network(), Yard().errands(ERRANDS, each), seed=each) for each in seeds]
    return train_model([each.recording for each in made], RouteSettings(max_step_load=0.0))


def followed(model: ModelHead, drives: list[Drive], begins_s: float = 0.0) -> list[Followed]:
    """Follow drives from a cold start where they begin, or later, and judge them after that."""
    found = []
    for each in drives:
        first = int(np.searchsorted(each.stamps, each.stamps[0] + round(1e9 * begins_s)))
        following = follow(model, each.part(first, len(each.stamps)))
        after_s = FOUND_S if begins_s else STARTS_S + model.window / model.rate_hz
        after = following.stamps > each.stamps[first] + round(1e9 * after_s)
        errors, published = following.errors()[after], following.published[after]
        found.append((errors, published, 1e-3 * float(following.microseconds.mean())))
    return found


def all_of(name: str) -> dict[str, list[Followed]]:
    """Follow all drives of a yard from where they begin, at other speeds, and from the way."""
    seed = YARDS[name]
    model, drives = trained(seed), drives_of(seed)
    found = {'all': followed(model, drives)}
    for speed in SPEEDS:
        slower = drives_of(seed, speed, DRIVES_A_SPEED)
        found[f'at {100.0 * speed:.0f} % speed'] = followed(model, slower)
    return found | {'on the way': followed(model, drives, LATER_S)}


def row_of(name: str, what: str, drives: list[Followed]) -> list[str]:
    errors, published = (np.concatenate([each[column] for each in drives]) for column in (0, 1))
    near = errors < NEAR_M
    right = float(np.mean(near[published])) if published.any() else None
    shares = percent(float(np.mean(near))), percent(float(np.mean(published))), percent(right)
    quantiles = (metres(float(np.quantile(errors, share))) for share in (0.5, 0.95))
    return [name, what, *quantiles, *shares, f'{np.mean([each[2] for each in drives]):.2f}']


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('yards', nargs='*', default=list(YARDS), help=f'some of {[*YARDS]}')
    args = with_jobs(parser)
    rows = []
    for name, found in spread(all_of, args.yards, args.jobs):
        rows += [row_of(name, f'{n}', [each]) for n, each in enumerate(found['all'], 1)]
        rows += [row_of(name, what, drives) for what, drives in found.items()]
    print(table('yard, drive, median, 95 %, within 2 m, published, of these, tick ms', rows))


if __name__ == '__main__':
    main()
