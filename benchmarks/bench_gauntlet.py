# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Every recording, every simulated world, and networks of roads: errors, ellipses and moves.

Run `./run bench gauntlet`, or name cases after it; what `two-manifold train` makes of them by
default is scored at every tick, whether the filter publishes a position or not. The real
recordings are read from `shared/recordings` beside the checkout and skipped where absent.
Networks are tram lines with a shared trunk and errands in a yard, and of several routes in one
model kart tracks, and a track with its reverse; the last two are of the default method alone.
"""

from __future__ import annotations

import argparse
from functools import partial
import sys
import time
import traceback
from typing import Any

from gauntlet_networks import all_names, any_case, SEVERAL
from gauntlet_scores import BLOCKS, run_case
from gauntlet_tables import PLAIN, show_all
from runner import spread, with_cases

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
    parser.add_argument('--methods', default='route,spectral', help='(default: %(default)s)')
    parser.add_argument(
        '--blocks', default=','.join(BLOCKS), help='what to go through (default: %(default)s)'
    )
    parser.add_argument(
        '--position-lag', default='auto', metavar='S', help='as of train (default: %(default)s)'
    )
    return with_cases(parser, all_names())


def work(blocks: tuple[str, ...], lag: str, task: tuple[str, str]) -> dict[str, Any]:
    """Run one case with one method; what goes wrong is a row of the table, not its end."""
    name, method = task
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
    blocks = tuple(args.blocks.split(','))
    tasks = [
        (name, method)
        for name in sorted(args.names, key=[*LONGEST_FIRST, *args.names].index)
        for method in args.methods.split(',')
        if name not in SEVERAL or method == PLAIN
    ]
    results: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in args.names}
    for (name, method), took in spread(partial(work, blocks, args.position_lag), tasks, args.jobs):
        results[name][method] = took
        print(
            f'{name}, {method}: {took["seconds"]:.0f} s, {took["processor_s"]:.0f} s of them on a '
            'processor',
            file=sys.stderr,
            flush=True,
        )
    return results


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
