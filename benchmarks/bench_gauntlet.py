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
from collections.abc import Callable, Iterable, Iterator
from functools import partial
import math
import sys
import time
import traceback
from typing import Any, NamedTuple, TypeAlias

from gauntlet_networks import all_names, any_case, SEVERAL
from gauntlet_scores import BLOCKS, run_case
from runner import spread, with_cases
from tables import metres, percent, table

share = partial(percent, digits=1)

Found: TypeAlias = dict[str, Any]
"""What ``run_case`` found of a case with a method."""

Results: TypeAlias = dict[str, dict[str, Found]]
"""The same, by case and method."""

PLAIN, OTHER = 'route', 'spectral'
"""The method that is used where none is asked for, and the one whose counts stand beside it."""

LEAST_PUBLISHED = 0.95
"""Share of the ticks on the route that are to be published."""

WIDE, NARROW = (0.90, 0.99), (0.60, 0.78)
"""What the 95 % and the 68 % ellipse may hold and still mean what they say."""


class Target(NamedTuple):
    """Numbers of a case, by name, that are to lie between two others; and for which method."""

    words: str
    numbers: Callable[[Found, Found], Iterable[tuple[str, float | None]]]  # also of the plain one
    least: float = -math.inf
    most: float = math.inf
    method: str = PLAIN


def calibrated(row: dict[str, Any]) -> float:
    """Return 1 if both ellipses of a horizon mean what they say, else 0."""
    pairs = (row['in_95'], WIDE), (row['in_68'], NARROW)
    return float(all(held is not None and low <= held <= high for held, (low, high) in pairs))


def pooled_ellipses(drives: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the ellipses of each horizon held over all published ticks of some drives."""
    pooled = []
    for rows in zip(*(each.get('horizons', ()) for each in drives), strict=True):
        ticks = sum(row['published_ticks'] for row in rows)
        shares: dict[str, float | None] = {
            name: sum(row[name] * row['published_ticks'] for row in rows if row[name]) / ticks
            if ticks
            else None
            for name in ('in_68', 'in_95')
        }
        pooled.append({'ticks_ahead': rows[0]['ticks_ahead'], **shares})
    return pooled


def which(found: Found) -> list[dict[str, Any]]:
    """Return how often the right route or branch was known on each drive, if there are several."""
    days = (each['which'] for each in found.get('days', ()) if 'which' in each)
    return [*found.get('which', ()), *days]


def _ellipses(*blocks: str) -> Callable[[Found, Found], Iterable[tuple[str, float | None]]]:
    def numbers(found: Found, _: Found) -> Iterator[tuple[str, float | None]]:
        drives = [
            found.get('accuracy', {}),
            *(d for block in blocks for d in found.get(block, ())),
        ]
        for each in pooled_ellipses(drives):
            yield f'+{each["ticks_ahead"]}', calibrated(each)

    return numbers


def _of(block: str, name: str) -> Callable[[Found, Found], Iterable[tuple[str, float | None]]]:
    """Return a number of a block, or of each of its drives."""

    def numbers(found: Found, _: Found) -> Iterator[tuple[str, float | None]]:
        rows = which(found) if block == 'which' else found.get(block) or ()
        for row in [rows] if isinstance(rows, dict) else rows:
            if row.get('ticks', 1) and not (name == 'wrong' and row[name] is None):
                yield row.get('drive', ''), row.get(name)

    return numbers


def _beside_plain(found: Found, plain: Found) -> Iterator[tuple[str, float | None]]:
    own, other = (each.get('accuracy', {}).get('rmse_m') for each in (found, plain))
    if other is not None:
        yield '', None if own is None else own / other


TARGETS = (
    Target('published >= 95 %', _of('accuracy', 'published'), LEAST_PUBLISHED),
    Target('RMSE <= 2 x median', _of('accuracy', 'rmse_over_median'), most=2.0),
    Target('errors above 10 medians <= 0.1 %', _of('accuracy', 'far'), most=0.001),
    Target('ellipses hold 90-99 % and 60-78 %, each horizon', _ellipses(), 1.0),
    Target('the same, pooled over the days of a world', _ellipses('days'), 1.0),
    Target('other days published >= 95 %, each drive', _of('days', 'published'), LEAST_PUBLISHED),
    Target('elsewhere published <= 1 %, each drive', _of('elsewhere', 'published'), most=0.01),
    Target('moves: in the ellipse >= 95 %', _of('moves', 'inside'), 0.95),
    Target('moves: found in 1.5 windows >= 95 %', _of('moves', 'found'), 0.95),
    Target('moves: wrong while tracking <= 2 %', _of('moves', 'wrong'), most=0.02),
    Target('right route or branch >= 95 %, each drive', _of('which', 'right'), 0.95),
    Target('wrong one of what is published <= 1 %, each drive', _of('which', 'wrong'), most=0.01),
    Target('spectral RMSE <= 3 x that of route', _beside_plain, most=3.0, method=OTHER),
    Target('spectral published >= 90 %', _of('accuracy', 'published'), 0.90, method=OTHER),
)


def judged(results: Results, target: Target, method: str) -> tuple[int, dict[str, list[str]]]:
    """Return how many checks were made of a method, and by case the names of those not met."""
    count = 0
    missed: dict[str, list[str]] = {}
    for case, methods in results.items():
        if method not in methods:
            continue
        numbers = list(target.numbers(methods[method], methods.get(PLAIN, {})))
        if {'refused', 'failed'} & methods[method].keys():
            # Nothing was found, so nothing that was asked for was reached.
            numbers = [('', None)]
        for name, number in numbers:
            count += 1
            if number is None or not target.least <= number <= target.most:
                missed.setdefault(case, []).append(name)
    return count, missed


def show_targets(results: Results) -> None:
    rows = []
    for target in TARGETS:
        cells = []
        for method in (PLAIN, OTHER) if target.method == PLAIN else (OTHER,):
            count, missed = judged(results, target, method)
            cells.append(f'{count - sum(map(len, missed.values()))}/{count}' if count else '-')
            if method == target.method:
                words = [' '.join([case, *names]).strip() for case, names in missed.items()]
        if set(cells) != {'-'}:
            beside = f'{OTHER} {cells[1]}' if len(cells) > 1 else ''
            rows.append([target.words, cells[0], beside, ', '.join(words)])
    print(table('target, met, beside, not met', rows))


def ellipse(row: dict[str, Any]) -> str:
    return f'+{row["ticks_ahead"]}: {share(row["in_68"])} / {share(row["in_95"])}'


def _accuracy(found: Found) -> Iterator[list[str]]:
    row = found.get('accuracy', {})
    if 'rmse_m' not in row:
        yield [found.get('refused') or found.get('failed') or 'nothing known']
        return
    names = ('rmse_m', 'median_m', 'p99_m', 'mean_m')
    nees = [f'{each:.3g}' for each in row['nees']] or ['-', '-']
    yield [
        f'{found["rate_hz"]:.3g}', str(row['ticks']), share(row['published']),
        *(metres(row[name]) for name in names), share(row['far']), *nees,
        f'{found["training_s"]:.1f}', f'{row["step_us"]:.0f}', f'{found["model_bytes"] / 1e6:.1f}',
    ]  # fmt: skip


def _horizons(found: Found) -> Iterator[list[str]]:
    rows = found.get('accuracy', {}).get('horizons', ())
    yield from ([f'{ellipse(each)}, {metres(each["rmse_m"])}'] for each in rows)


def _which(found: Found) -> Iterator[list[str]]:
    for each in which(found):
        yield [each['what'], each['drive'], share(each['right']), share(each['wrong'])]


def _elsewhere(found: Found) -> Iterator[list[str]]:
    for each in found.get('elsewhere', ()):
        yield [each['drive'], share(each['published']), str(each['ticks'])]


def _moves(found: Found) -> Iterator[list[str]]:
    if row := found.get('moves'):
        shares = (share(row[name]) for name in ('inside', 'found', 'wrong'))
        yield [str(row['moves']), *shares, metres(row['found_median_windows'])]


def _days(found: Found) -> Iterator[list[str]]:
    rows = found.get('days', ())
    for row in rows:
        numbers = (metres(row[name]) for name in ('rmse_m', 'median_m'))
        yield [row['drive'], share(row['published']), *numbers]
    pooled = pooled_ellipses([found.get('accuracy', {}), *rows]) if rows else ()
    yield from (['with the drive followed', ellipse(each)] for each in pooled)


def _slow(found: Found) -> Iterator[list[str]]:
    for row in found.get('slow', ()):
        numbers = (metres(row[name]) for name in ('rmse_m', 'median_m', 'published_rmse_m'))
        yield [row['laps'], share(row['published']), *numbers, share(row['in_95'])]


TABLES: dict[str, tuple[str, Callable[[Found], Iterator[list[str]]]]] = {
    'followed: every tick after the first window, published or not; errors in metres': (
        'Hz, ticks, published, RMSE, median, p99, mean, >10md, NEES, of v, s, us, MB',
        _accuracy,
    ),
    'truth in the 68 / 95 % ellipse (published ticks) and RMSE (all)': (
        'by ticks ahead',
        _horizons,
    ),
    'which of several roads; of routes 1.5 windows after the start, of branches 5 s after they '
    'part': ('what, drive, right, wrong of published', _which),
    'elsewhere: published of the ticks off the route, after a grace': (
        'drive, published, ticks',
        _elsewhere,
    ),
    'moves: elsewhere on the route from one sample to the next': (
        'moves, in 95 %, found, wrong, windows',
        _moves,
    ),
    'other days of the worlds': ('drive, published, RMSE, median', _days),
    'slow laps of the worlds, by ratio, and the usual ones after them': (
        'laps, published, RMSE, median, published RMSE, in 95 %',
        _slow,
    ),
}
"""Head and rows of a case, by title."""


def show_all(results: Results) -> None:
    for title, (head, rows_of) in TABLES.items():
        rows = [
            [case, method, *row]
            for case, methods in results.items()
            for method, found in methods.items()
            for row in rows_of(found)
        ]
        if rows:
            print(f'\n{title}\n{table(f"case, method, {head}", rows)}')
    print()
    show_targets(results)


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
        for name in args.names
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
