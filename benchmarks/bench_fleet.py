# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Train on a fleet: what an item costs, how much sooner two workers are done, and what bags bring.

Run `python benchmarks/bench_fleet.py`, which takes half an hour, with `--bags 100` a few minutes.
Bags of two minutes of the simulated slot car are trained on by the command, with one worker and
with two. Items that do nothing take the time of the scheduler
alone. Measured costs are carried on to larger fleets, with `--simulate` that alone, see
docs/fleets.md.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
import json
import os
from pathlib import Path
import pickle
import resource
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from typing import Any

from two_manifold_ros.evaluation.drives import score_drive
from two_manifold_ros.fleet import client_of, spread
from two_manifold_ros.inspection.coverage import choose, survey_bag
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.training.settings import RouteSettings
from two_manifold_ros.training.train import train_model

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
    # In a folder that is kept it may be there, whole, from an earlier run.
    if not (path / 'metadata.yaml').exists():
        shutil.rmtree(path, ignore_errors=True)
        write_run(simulate(settings, samples=round(BAG_S * settings.rate_hz)), path)
    return str(path)


def train(bags: list[str], model: Path, *more: str) -> tuple[float, dict[str, Any]]:
    """Train on bags; return how long that took, s, and what is said of it."""
    began = time.perf_counter()
    command = [sys.executable, '-m', 'two_manifold_ros', 'train', *bags, '-o', str(model), *more]
    done = subprocess.run([*command, '--json'], capture_output=True, check=True)
    return time.perf_counter() - began, json.loads(done.stdout)


def scheduler_s() -> float:
    """Return what the scheduler takes for an item, in batches, s."""
    with client_of(workers=2) as client:
        spread(nothing, range(100), client)
        began = time.perf_counter()
        spread(nothing, range(ITEMS), client)
        return (time.perf_counter() - began) / ITEMS


def report_training(folder: Path, count: int, minutes: float) -> None:
    """Print how much sooner two workers are done than one, and whether models are the same."""
    with client_of(workers=os.cpu_count()) as client:
        bags = spread(partial(make_bag, str(folder / 'bags')), range(count), client)
    at_most = ('--most-minutes', f'{minutes:g}')
    times_s: dict[str, list[float]] = {'one': [], 'two': []}
    # Compile first, or the first training would.
    compiling = [sys.executable, '-m', 'two_manifold_ros', 'compile']
    subprocess.run(compiling, stdout=subprocess.DEVNULL, check=True)
    # In turn: a machine that becomes slower is so for both. No survey of an earlier run counts.
    for name in ('one', 'two', 'two', 'one'):
        model = folder / f'{name}.npz'
        workers = '1' if name == 'one' else '2'
        Path(f'{model}.bags.jsonl').unlink(missing_ok=True)
        took_s, said = train(bags, model, *at_most, '--workers', workers)
        times_s[name].append(took_s)
    one_s, two_s = sum(times_s['one']), sum(times_s['two'])
    fleet = said['fleet']
    models = {name: (folder / f'{name}.npz').read_bytes() for name in times_s}
    # Of the largest process of all that were started and waited for.
    largest_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(
        f'{count} bags of {BAG_S:g} s on {os.cpu_count()} processors, each twice: with one worker '
        f'training takes {_listed(times_s["one"])} s, with two {_listed(times_s["two"])} s, '
        f'{one_s / two_s:.2f} times as fast (to reach: 1.8 times)'
    )
    print(
        f'the command trains on {fleet["trained"]} bags, and workers try the model on '
        f'{fleet["tried"]["drives"]}; the largest process takes {largest_gb:.2f} GB '
        f'(to reach: 1.5 GB), the model {len(models["two"]) / 1e6:.2f} MB (to reach: 5 MB)'
    )
    print(f'one worker and two write the same bytes: {models["one"] == models["two"]}')


def _listed(times_s: list[float]) -> str:
    """Return times as words."""
    return ' and '.join(f'{each:.0f}' for each in times_s)


NETWORK_BYTES_S = 1.25e8
"""One gigabit a second, through which all bags come: a disk server, or an uplink to a store."""

NIGHT_H, DAY_BAGS = 8.0, 8
"""Hours in which the bags of a day are to be trained on, and bags of an hour a vehicle and day."""


def report_nights(folder: Path) -> None:
    """Print what an hour of recording costs, and for how many vehicles a night is enough."""
    path = make_bag(str(folder / 'costs'), 0)
    options, hour = ReadingOptions(), 3600.0 / BAG_S
    model = train_model([read_recording(path, options)], RouteSettings(max_step_load=0.0))
    survey = survey_bag(options, None, path)
    score = score_drive(model, options, path)
    times = []
    for work in (partial(survey_bag, options, None), partial(score_drive, model, options)):
        began = time.process_time()
        work(path)
        times.append((time.process_time() - began) * hour)
    many = [replace(survey, digest=f'{number}') for number in range(1000)]
    began = time.process_time()
    choose(many)
    draw_s = (time.process_time() - began) / len(many)
    size = sum(each.stat().st_size for each in Path(path).iterdir()) * hour
    print(
        f'an hour of recording: {times[0]:.1f} s of a processor to survey it, {times[1]:.0f} s to '
        f'follow it, {size / 1e6:.0f} MB to send; of each bag the command gets a survey of '
        f'{len(json.dumps(survey.to_json())) / 1e3:.1f} kB and a score of '
        f'{len(pickle.dumps(score)) / 1e3:.1f} kB, and draws from it in {1e3 * draw_s:.2f} ms'
    )
    # Each bag is sent twice: to be surveyed, and to be followed.
    busy_s = {
        'a worker': sum(times), 'the network': 2.0 * size / NETWORK_BYTES_S, 'the command': draw_s,
        'the scheduler': 2.0 * scheduler_s(),
    }  # fmt: skip
    print(
        f'vehicles that record {DAY_BAGS} bags of an hour a day, and are trained on in '
        f'{NIGHT_H:g} hours of a network of {NETWORK_BYTES_S * 8e-9:g} Gbit/s, at most by: '
        + ', '.join(
            f'{name} {3600 * NIGHT_H / DAY_BAGS / each:.0f}' for name, each in busy_s.items()
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--bags', type=int, default=1000, help='bags to train on (1000)')
    parser.add_argument(
        '--most-minutes', type=float, default=10.0, help='of bags that are trained on (10)'
    )
    parser.add_argument('--folder', type=Path, help='keep bags and models there')
    parser.add_argument(
        '--simulate', action='store_true', help='carry costs on to larger fleets, and nothing else'
    )
    args = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        if args.simulate:
            report_nights(Path(temporary))
            return
        print(
            f'{ITEMS} items that do nothing: {1e3 * scheduler_s():.3f} ms each, in batches (to '
            'reach: 5 ms a task)'
        )
        report_training(folder, args.bags, args.most_minutes)
        report_nights(Path(temporary))


if __name__ == '__main__':
    main()
