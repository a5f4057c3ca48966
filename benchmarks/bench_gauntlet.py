# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Every recording, every simulated world, and networks of roads: errors, ellipses, moves and stops.

Run `./run bench gauntlet`, or name cases after it; what `two-manifold train` makes of them by
default is scored at every tick, whether the filter publishes a position or not. The real
recordings are read from `shared/recordings` beside the checkout and skipped where absent.
Networks are tram lines with a shared trunk and errands in a yard, and of several routes in one
model kart tracks, and a track with its reverse; the last two are of the default method alone.
"""

from __future__ import annotations

import argparse
from concurrent.futures import as_completed, ProcessPoolExecutor
import multiprocessing
import os
import sys
import time
import traceback
from typing import Any

from two_manifold_ros.threads import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

from gauntlet_drives import is_absent, RECORDINGS
from gauntlet_networks import all_names, any_case, SEVERAL
from gauntlet_scores import BLOCKS, run_case
from gauntlet_tables import PLAIN, show_all

LONGEST_FIRST = (
    'kart_tracks',
    'tram_network',
    'tram',
    'agv',
    'car',
    'kart',
    'kart_25hz',
    'f1tenth_ipz8',
    'figure_eight',
)
"""Cases that would keep one process busy at the end if they started last."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = all_names()
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'some of {", ".join(names)}')
    parser.add_argument('--methods', default='route,spectral', help='(default: %(default)s)')
    parser.add_argument(
        '--blocks', default=','.join(BLOCKS), help='what to go through (default: %(default)s)'
    )
    parser.add_argument(
        '--position-lag', default='auto', metavar='S', help='as of train (default: %(default)s)'
    )
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in names]
    if unknown:
        parser.error(f'there is no case {unknown[0]!r}; choose some of {", ".join(names)}')
    args.names = args.names or names
    return args


def present(names: list[str]) -> list[str]:
    absent = [name for name in names if is_absent(name)]
    if absent:
        print(f'not in {RECORDINGS.parent.name}/{RECORDINGS.name} beside the checkout, so passed')
        print(f'over: {", ".join(absent)}')
    return [name for name in names if name not in absent]


def work(name: str, method: str, blocks: tuple[str, ...], lag: str) -> dict[str, Any]:
    """Run one case with one method; what goes wrong is a row of the table, not its end."""
    began, busy = time.perf_counter(), time.process_time()
    try:
        found = run_case(any_case(name, lag), method, blocks)
    except Exception as error:  # noqa: BLE001 - half an hour of other cases is not to be lost
        traceback.print_exc()
        found = {'failed': f'{type(error).__name__}: {error}'}
    return found | {
        'seconds': time.perf_counter() - began,
        'processor_s': time.process_time() - busy,
    }


def gathered(args: argparse.Namespace) -> dict[str, dict[str, dict[str, Any]]]:
    names, methods = present(args.names), args.methods.split(',')
    order = sorted(names, key=[*LONGEST_FIRST, *names].index)
    blocks = tuple(args.blocks.split(','))
    results: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in names}
    # Started afresh, because a fork of a process with threads may hang.
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(args.jobs, context) as pool:
        jobs = {
            pool.submit(work, name, method, blocks, args.position_lag): (name, method)
            for name in order
            for method in methods
            if name not in SEVERAL or method == PLAIN
        }
        for job in as_completed(jobs):
            name, method = jobs[job]
            results[name][method] = job.result()
            took = results[name][method]
            print(
                f'{name}, {method}: {took["seconds"]:.0f} s, {took["processor_s"]:.0f} s of them '
                'on a processor',
                file=sys.stderr,
                flush=True,
            )
    return {
        name: {method: rows[method] for method in methods if method in rows}
        for name, rows in results.items()
    }


def main() -> None:
    args = arguments()
    began = time.perf_counter()
    results = gathered(args)
    show_all(results)
    seconds = time.perf_counter() - began
    busy = sum(found['processor_s'] for rows in results.values() for found in rows.values())
    print(
        f'\n{seconds / 60.0:.1f} minutes with {args.jobs} processes, '
        f'{busy / 60.0:.1f} minutes of processor time'
    )


if __name__ == '__main__':
    main()
