# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Work shared out among workers: what a task costs, and how much sooner two are done than one.

Run `python benchmarks/bench_fleet.py`. Bags of two minutes of the simulated slot car are inspected
by one worker and by two, which are started before the clock. Small tasks do nothing, so that
their time is that of the scheduler.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
import time

from two_manifold_ros.fleet import client_of, spread
from two_manifold_ros.inspection.inspecting import inspect_bags
from two_manifold_ros.recordings.reading import ReadingOptions
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

BAG_S = 120.0
TASKS = 10_000


def nothing(number: int) -> int:
    """Return a number."""
    return number


def inspected_s(paths: list[str], workers: int) -> float:
    """Return the time in which so many workers inspect bags."""
    options = ReadingOptions()
    with client_of(workers=workers) as client:
        # The first bag loads the package and compiles.
        inspect_bags(paths[:workers], options, client)
        began = time.perf_counter()
        inspect_bags(paths, options, client)
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--bags', type=int, default=100, help='bags to inspect (100)')
    args = parser.parse_args()
    with client_of(workers=2) as client:
        spread(nothing, range(100), client)
        began = time.perf_counter()
        spread(nothing, range(TASKS), client)
        each_ms = 1e3 * (time.perf_counter() - began) / TASKS
    print(
        f'{TASKS} items that do nothing: {each_ms:.3f} ms each, in batches (to reach: 5 ms a task)'
    )
    with TemporaryDirectory() as folder:
        # What is read does not depend on how many bags differ.
        settings = SlotCarSettings(rate_hz=100.0)
        path = Path(folder) / 'bag'
        write_run(simulate(settings, samples=round(BAG_S * settings.rate_hz)), path)
        paths = [str(path)] * args.bags
        one_s, two_s = (inspected_s(paths, workers) for workers in (1, 2))
    print(
        f'{args.bags} bags of {BAG_S:g} s inspected on {os.cpu_count()} processors: one worker '
        f'{1e3 * one_s / args.bags:.0f} ms a bag, two {one_s / two_s:.2f} times as fast (to reach '
        'for training: 1.8 times)'
    )


if __name__ == '__main__':
    main()
