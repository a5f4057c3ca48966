# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train on a fleet: what an item costs, how much sooner two workers are done, and what bags bring.

Run `python benchmarks/bench_fleet.py`, with `--bags 1000` for half an hour. Bags of two minutes of
the simulated slot car are trained on by the command, with one worker and with two, and with two of
which one is killed. Items that do nothing take the time of the scheduler alone. With `--simulate`
the measured costs are carried on to larger fleets instead, see docs/scale.md.
"""

from __future__ import annotations

import argparse
from functools import partial
import json
import os
from pathlib import Path
import resource
import signal
import subprocess
import sys
from tempfile import TemporaryDirectory
from threading import Thread
import time
from typing import Any

import psutil

from two_manifold_ros.fleet import client_of, spread
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

BAG_S = 120.0
ITEMS = 10_000
VEHICLE_BAGS = 50


def nothing(number: int) -> int:
    """Return a number."""
    return number


def make_bag(folder: str, number: int) -> str:
    """Write a bag of the simulated slot car, one of a fleet, and return its path."""
    vehicle = Path(folder) / f'car{number // VEHICLE_BAGS:02d}'
    vehicle.mkdir(parents=True, exist_ok=True)
    settings = SlotCarSettings(seed=number, rate_hz=100.0)
    path = vehicle / f'drive{number:04d}'
    write_run(simulate(settings, samples=round(BAG_S * settings.rate_hz)), path)
    return str(path)


def kill_a_worker(command: psutil.Popen) -> None:
    """Kill a worker of a command that runs, when it has worked for a while."""
    while command.poll() is None:
        for each in command.children(recursive=True):
            # A worker at work; neither the process that starts others nor one that starts.
            if each.cpu_times().user > 10.0:
                each.send_signal(signal.SIGKILL)
                return
        time.sleep(0.2)


def train(bags: str, model: Path, *more: str, kill: bool = False) -> tuple[float, dict[str, Any]]:
    """Train on all bags of a folder; return how long that took, s, and what is said of it."""
    paths = sorted(map(str, Path(bags).glob('*/*')))
    began = time.perf_counter()
    command = psutil.Popen(
        [sys.executable, '-m', 'two_manifold_ros', 'train', *paths, '-o', model, *more, '--json'],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    killer = Thread(target=kill_a_worker, args=(command,)) if kill else None
    if killer is not None:
        killer.start()
    out, _ = command.communicate()
    took_s = time.perf_counter() - began
    if killer is not None:
        killer.join()
    return took_s, json.loads(out)


def report_scheduler() -> None:
    """Print what the scheduler takes for an item."""
    with client_of(workers=2) as client:
        spread(nothing, range(100), client)
        began = time.perf_counter()
        spread(nothing, range(ITEMS), client)
        each_ms = 1e3 * (time.perf_counter() - began) / ITEMS
    print(
        f'{ITEMS} items that do nothing: {each_ms:.3f} ms each, in batches (to reach: 5 ms a task)'
    )


def report_training(folder: Path, count: int, minutes: float) -> None:
    """Print how much sooner two workers are done than one, and whether models are the same."""
    bags = str(folder / 'bags')
    with client_of(workers=os.cpu_count()) as client:
        spread(partial(make_bag, bags), range(count), client)
    at_most = ('--most-minutes', f'{minutes:g}')
    runs = {}
    for name, workers, kill in (('one', 1, False), ('two', 2, False), ('killed', 2, True)):
        model = folder / f'{name}.npz'
        runs[name] = train(bags, model, *at_most, '--workers', str(workers), kill=kill)
    one_s, two_s = runs['one'][0], runs['two'][0]
    fleet = runs['two'][1]['fleet']
    models = {name: (folder / f'{name}.npz').read_bytes() for name in runs}
    # Of the largest process of all that were started and waited for.
    largest_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(
        f'{count} bags of {BAG_S:g} s on {os.cpu_count()} processors: with one worker training '
        f'takes {one_s:.0f} s, with two {two_s:.0f} s, {one_s / two_s:.2f} times as fast '
        '(to reach: 1.8 times)'
    )
    print(
        f'the command trains on {fleet["trained"]} bags, and workers follow '
        f'{fleet["followed"]["drives"]}; the largest process takes {largest_gb:.2f} GB '
        f'(to reach: 1.5 GB), the model {len(models["two"]) / 1e6:.2f} MB (to reach: 5 MB)'
    )
    print(f'one worker and two write the same bytes: {models["one"] == models["two"]}')
    print(f'so do two of which one was killed: {models["killed"] == models["two"]}')


def report_bags(folder: Path, minutes: list[float]) -> None:
    """Print the errors on the bags that were left by trainings on more and more of them."""
    for each in minutes:
        more = ('--most-minutes', f'{each:g}', '--workers', str(os.cpu_count()))
        _, said = train(str(folder / 'bags'), folder / 'model.npz', *more)
        total = said['fleet']['followed']
        print(
            f'trained on {said["fleet"]["trained"]} bags of {BAG_S:g} s: mean error '
            f'{total["mean_m"]:.4f} m on the other {total["drives"]}, '
            f'{100.0 * total["published_share"]:.1f} % published'
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--bags', type=int, default=100, help='bags to train on (100)')
    parser.add_argument(
        '--most-minutes', type=float, default=10.0, help='of bags that are trained on (10)'
    )
    parser.add_argument('--folder', type=Path, help='keep bags and models there')
    args = parser.parse_args()
    report_scheduler()
    with TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        report_training(folder, args.bags, args.most_minutes)
        report_bags(folder, [args.most_minutes * share for share in (0.6, 0.2)])


if __name__ == '__main__':
    main()
