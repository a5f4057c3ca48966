# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A yard with a grid of aisles that look alike, followed on errands never driven as a whole.

Run `./run bench yard`. Four times a model is trained on four drives of forty errands each, and
eight drives of twenty other errands on later days are followed from a cold start. The aisles and
the vehicle of all four yards are the same; the drives are not. The numbers of the network were
chosen on the training of the first yard and on other drives there. `at ... speed` are errands on
all of which the driver is slower or faster than in the training. `on the way` are the drives of
which the filter misses the first 100 seconds, two minutes after it started. With `--constants` the
numbers are changed one by one in the first yard.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
import multiprocessing
import os
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from two_manifold_ros.threads import one_blas_thread

one_blas_thread()

import numpy as np
from worlds.network import travel, Yard, yard_network

from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.atlas import make_filter
from two_manifold_ros.network import belief, joins, speeds
from two_manifold_ros.network import network as numbers
from two_manifold_ros.route import forks, merging
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

    from worlds.drive import WorldDrive

    from two_manifold_ros.model.head import ModelHead

YARDS = {'chosen on': 10, 'yard 1': 0, 'yard 2': 20, 'yard 3': 30}
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

CHANGES: dict[str, tuple[Any, str, Any]] = {
    'as it is': (speeds, 'FAST', speeds.FAST),
    'SAME_COURSE .5': (merging, 'SAME_COURSE', 0.5),
    'SPLIT_AT .5': (forks, 'SPLIT_AT', 0.5),
    'SPLIT_AT 1.5': (forks, 'SPLIT_AT', 1.5),
    'FAST .5': (speeds, 'FAST', 0.5),
    'FAST 1': (speeds, 'FAST', 1.0),
    'BENDS 10': (speeds, 'BENDS', 10),
    'BENDS 40': (speeds, 'BENDS', 40),
    'RATIO_MEMORIES 4.5': (numbers, 'RATIO_MEMORIES', 4.5),
    'RATIO_MEMORIES 18': (numbers, 'RATIO_MEMORIES', 18.0),
    'BRAKES 6': (numbers, 'BRAKES', 6.0),
    'BRAKES 90': (numbers, 'BRAKES', 90.0),
    'CHANGES .4': (numbers, 'CHANGES', 0.4),
    'CHANGES 1.5': (numbers, 'CHANGES', 1.5),
    'TOLERANCE 1.3': (numbers, 'TOLERANCE', 1.3),
    'TOLERANCE 3': (numbers, 'TOLERANCE', 3.0),
    'FAINT 1e-6': (belief, 'FAINT', 1e-6),
    'LEAD 1.5': (joins, 'LEAD', 1.5),
    'no joins': (joins, 'ALIKE', 10**9),
}
"""Module, name and value of each number that is changed."""


class Followed(NamedTuple):
    """Errors of a drive after its first window, m, which are published, and ms a tick."""

    errors: np.ndarray[Any, np.dtype[np.float64]]
    published: np.ndarray[Any, np.dtype[np.bool_]]
    tick_ms: float


def drives_of(seed: int, speed: float = 1.0, count: int = FOLLOWED) -> list[WorldDrive]:
    """Return the first drives of a yard that are followed, each on a later day, at a ``speed``."""
    yard, network = Yard(), yard_network()
    return [
        travel(
            network,
            yard.errands(OTHERS, 1000 + 10 * seed + number),
            day=1 + number,
            seed=1000 + 10 * seed + number,
            lap_ratios=() if speed == 1.0 else (speed,) * MOST_LAPS,
        )
        for number in range(count)
    ]


def trained(seed: int) -> ModelHead:
    """Return a model of a yard, at the usual rate."""
    yard, network = Yard(), yard_network()
    seeds = range(seed, seed + TRAINING)
    made = [travel(network, yard.errands(ERRANDS, each), seed=each) for each in seeds]
    return train_model([each.recording for each in made], RouteSettings(max_step_load=0.0))


def follow(
    model: ModelHead, made: WorldDrive, begins_s: float = 0.0, after_s: float | None = None
) -> Followed:
    """Follow a drive from a cold start where it begins or later, and judge it some time after."""
    live = make_filter(model)
    live.warm_up()
    bare = replace(made.recording, positions=None).between(begins_s, None)
    began = time.process_time()
    found = [each for each, _ in estimates_along(live, bare, lambda *_: None)]
    tick_ms = 1e3 * (time.process_time() - began) / len(found)
    first = bare.imu.first_stamp
    seconds = 1e-9 * np.array([each.stamp_ns - first for each in found])
    sampled = 1e-9 * (made.recording.imu.stamps - first).astype(np.float64)
    true = np.stack([np.interp(seconds, sampled, column) for column in made.truth.T], axis=1)
    positions = np.array([each.positions[0] for each in found])
    after = seconds > (STARTS_S + model.window / model.rate_hz if after_s is None else after_s)
    errors = np.linalg.norm(positions - true, axis=1)[after]
    return Followed(errors, np.array([each.valid for each in found])[after], tick_ms)


def changed(name: str, seed: int) -> list[Followed]:
    """Train with a number of `CHANGES` changed, and follow all drives of a yard."""
    module, number, value = CHANGES[name]
    setattr(module, number, value)
    model = trained(seed)
    return [follow(model, each) for each in drives_of(seed)]


def all_of(seed: int) -> tuple[list[Followed], dict[str, list[Followed]]]:
    """Follow all drives of a yard from where they begin, at other speeds, and from the way."""
    model, drives = trained(seed), drives_of(seed)
    whole = [follow(model, each) for each in drives]
    others = {
        f'at {100.0 * speed:.0f} % speed': [
            follow(model, each) for each in drives_of(seed, speed, DRIVES_A_SPEED)
        ]
        for speed in SPEEDS
    }
    others['on the way'] = [follow(model, each, LATER_S, FOUND_S) for each in drives]
    return whole, others


def _near(found: list[Followed]) -> list[float]:
    return [100.0 * float(np.mean(each.errors < NEAR_M)) for each in found]


def yards(jobs: int) -> None:
    """Print how each yard is followed."""
    print('yard        drive  median    95 %  within 2 m %  publ.%  of these %  tick ms')
    with _pool(jobs) as pool:
        waiting = {name: pool.apply_async(all_of, (seed,)) for name, seed in YARDS.items()}
        for name, each in waiting.items():
            found, others = each.get()
            for number, one in enumerate(found):
                errors, published = one.errors, one.published
                right = 100.0 * np.mean(errors[published] < NEAR_M) if published.any() else np.nan
                print(
                    f'{name:10s} {number + 1:6d} {np.median(errors):7.2f} '
                    f'{np.quantile(errors, 0.95):7.2f} {100.0 * np.mean(errors < NEAR_M):13.1f} '
                    f'{100.0 * np.mean(published):7.0f} {right:11.1f} {one.tick_ms:8.2f}'
                )
            near = _near(found)
            print(
                f'{name:10s}    all {"":15s} {np.mean(near):13.1f}   '
                f'{sum(each >= 95.0 for each in near)} of {len(near)} drives reach 95 %'
            )
            for what, drives in others.items():
                errors = np.concatenate([each.errors for each in drives])
                published = np.concatenate([each.published for each in drives])
                right = 100.0 * np.mean(errors[published] < NEAR_M) if published.any() else np.nan
                print(
                    f'{name:10s} {what:14s} {"":7s} {100.0 * np.mean(errors < NEAR_M):13.1f} '
                    f'{100.0 * np.mean(published):7.0f} {right:11.1f}',
                    flush=True,
                )
    print('\nto reach: within 2 m on 95 % of the ticks')


def constants(jobs: int) -> None:
    """Print how the yard on which numbers were chosen is followed with each changed."""
    print('changed               within 2 m %, mean  least  drives with 95 %')
    with _pool(jobs) as pool:
        waiting = {name: pool.apply_async(changed, (name, YARDS['chosen on'])) for name in CHANGES}
        for name, each in waiting.items():
            near = _near(each.get())
            reached = sum(share >= 95.0 for share in near)
            print(
                f'{name:20s} {np.mean(near):19.1f} {min(near):6.1f} {reached:6d} of {len(near)}',
                flush=True,
            )


def _pool(jobs: int) -> Pool:
    # A process for each, as they change numbers of modules.
    return multiprocessing.get_context('spawn').Pool(jobs, maxtasksperchild=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--constants', action='store_true', help='change numbers one by one')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
    args = parser.parse_args()
    (constants if args.constants else yards)(args.jobs)


if __name__ == '__main__':
    main()
