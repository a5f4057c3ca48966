# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
False alarms in an hour of the demo: a simulated car that never leaves its route, by seed.

Run `./run bench alarms`; it takes some three minutes. As in `demo.launch.py` a model is trained on
the first minute, and its filter follows the next hour. How often it was lost, and unsure, and what
share of the time, is counted after the first window.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from runner import spread, with_jobs

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

SEEDS = range(6)
IMU_HZ, TRAINED_S, FOLLOWED_S = 100.0, 60.0, 3600.0


class Alarms(NamedTuple):
    """Rate of the ticks, and by status how often it began and for what share of the ticks."""

    rate_hz: float
    times: dict[Status, int]
    shares: dict[Status, float]


def work(seed: int) -> Alarms:
    """Train on a minute of a car, and follow it for an hour."""
    samples = round(IMU_HZ * (TRAINED_S + FOLLOWED_S))
    run = simulate(SlotCarSettings(seed=seed, rate_hz=IMU_HZ), samples=samples)
    model = train_model([run_to_recording(run).between(None, TRAINED_S)], TrainingSettings())
    live, begin = Filter(model), round(IMU_HZ * TRAINED_S)
    states = [
        estimate.status
        for stamp, sample in zip(run.stamps_ns[begin:].tolist(), run.imu[begin:], strict=True)
        for estimate in live.push(stamp, sample)
    ][model.window :]
    watched = (Status.UNSURE, Status.LOST)
    return Alarms(
        model.rate_hz,
        {
            each: sum(
                here is each and before is not each
                for before, here in zip([Status.TRACKING, *states], states, strict=False)
            )
            for each in watched
        },
        {each: states.count(each) / len(states) for each in watched},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('seeds', type=int, nargs='*', default=SEEDS, metavar='SEED')
    args = with_jobs(parser)
    print('false alarms in an hour of the simulated car of the demo')
    print('  seed  ticks Hz  unsure  of the time   lost  of the time')
    found = []
    for seed, each in spread(work, args.seeds, args.jobs):
        found.append(each)
        words = ''.join(
            f'{each.times[status]:8d}{100.0 * each.shares[status]:11.3f} %'
            for status in (Status.UNSURE, Status.LOST)
        )
        print(f'  {seed:4d}{each.rate_hz:10g}{words}', flush=True)
    quiet = sum(not each.times[Status.LOST] for each in found)
    print(f'  never lost: {quiet} of {len(found)}')


if __name__ == '__main__':
    main()
