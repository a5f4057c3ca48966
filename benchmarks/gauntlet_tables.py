# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of the gauntlet, and which of its targets are met."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Results: TypeAlias = dict[str, dict[str, dict[str, Any]]]
"""What ``run_case`` found, by case and method."""

PLAIN = 'route'
"""The method that is used where none is asked for."""

OTHERS = ('spectral',)
"""Methods whose counts stand beside those of the plain one."""

LEAST_PUBLISHED = 0.95
"""Share of the ticks on the route that are to be published."""

WIDE, NARROW = (0.90, 0.99), (0.60, 0.78)
"""What the 95 % and the 68 % ellipse may hold and still mean what they say."""


@dataclass(frozen=True)
class Target:
    """
    Target that every case is to reach.

    Parameters
    ----------
    words
        In the last lines.
    checks
        From what was found of a case and of the plain method there to what was looked at, and
        whether it is met.
    methods
        Methods that have to meet it; for the others it is shown only.

    """

    words: str
    checks: Callable[[dict[str, Any], dict[str, Any]], Iterable[tuple[str, bool]]]
    method: str = PLAIN


def _at_most(value: float | None, limit: float) -> bool:
    return value is not None and value <= limit


def _at_least(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _between(value: float | None, limits: tuple[float, float]) -> bool:
    return value is not None and limits[0] <= value <= limits[1]


def _ellipses(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for each in pooled_ellipses([found.get('accuracy', {})]):
        yield f'+{each["ticks_ahead"]}', _calibrated(each)


def _ellipses_of_days(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for each in pooled_ellipses([found.get('accuracy', {}), *found.get('days', ())]):
        yield f'+{each["ticks_ahead"]}', _calibrated(each)


def _calibrated(pooled: dict[str, Any]) -> bool:
    return _between(pooled['in_95'], WIDE) and _between(pooled['in_68'], NARROW)


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


def _days(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for each in found.get('days', ()):
        yield each['drive'], _at_least(each['published'], LEAST_PUBLISHED)


def _elsewhere(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for each in found.get('elsewhere', ()):
        if each['ticks']:
            yield each['drive'], _at_most(each['published'], 0.01)


def _right(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for each in _which(found):
        yield each['drive'], _at_least(each['right'], 0.95)


def _wrong(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for each in _which(found):
        if each['wrong'] is not None:
            yield each['drive'], _at_most(each['wrong'], 0.01)


def _which(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return how often the right route or branch was known on each drive, if there are several."""
    days = (each['which'] for each in found.get('days', ()) if 'which' in each)
    return [*found.get('which', ()), *days]


def _accuracy(
    name: str, holds: Callable[[float | None], bool]
) -> Callable[[dict[str, Any], dict[str, Any]], Iterator[tuple[str, bool]]]:
    def checks(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
        yield '', holds(found.get('accuracy', {}).get(name))

    return checks


def _moves(
    name: str, holds: Callable[[float | None], bool]
) -> Callable[[dict[str, Any], dict[str, Any]], Iterator[tuple[str, bool]]]:
    def checks(found: dict[str, Any], _: dict[str, Any]) -> Iterator[tuple[str, bool]]:
        if found.get('moves'):
            yield '', holds(found['moves'][name])

    return checks


def _beside_plain(found: dict[str, Any], plain: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    own, other = (each.get('accuracy', {}).get('rmse_m') for each in (found, plain))
    if other is not None:
        yield '', _at_most(own, 3.0 * other)


TARGETS = (
    Target('published >= 95 %', _accuracy('published', lambda v: _at_least(v, LEAST_PUBLISHED))),
    Target('RMSE <= 2 x median', _accuracy('rmse_over_median', lambda v: _at_most(v, 2.0))),
    Target('errors above 10 medians <= 0.1 %', _accuracy('far', lambda v: _at_most(v, 0.001))),
    Target('ellipses hold 90-99 % and 60-78 %, each horizon', _ellipses),
    Target('the same, pooled over the days of a world', _ellipses_of_days),
    Target('other days published >= 95 %, each drive', _days),
    Target('elsewhere published <= 1 %, each drive', _elsewhere),
    Target('moves: in the ellipse >= 95 %', _moves('inside', lambda v: _at_least(v, 0.95))),
    Target('moves: found in 1.5 windows >= 95 %', _moves('found', lambda v: _at_least(v, 0.95))),
    Target('moves: found in 1.5 windows >= 90 %', _moves('found', lambda v: _at_least(v, 0.90))),
    Target('moves: wrong while tracking <= 2 %', _moves('wrong', lambda v: _at_most(v, 0.02))),
    Target('moves: wrong while tracking <= 5 %', _moves('wrong', lambda v: _at_most(v, 0.05))),
    Target('right route or branch >= 95 %, each drive', _right),
    Target('wrong one of what is published <= 1 %, each drive', _wrong),
    Target('spectral RMSE <= 3 x that of route', _beside_plain, 'spectral'),
    Target(
        'spectral published >= 90 %',
        _accuracy('published', lambda v: _at_least(v, 0.90)),
        'spectral',
    ),
)


def judged(results: Results, target: Target, method: str) -> tuple[int, dict[str, list[str]]]:
    """Return how many checks were made of a method, and by case the names of those not met."""
    count = 0
    missed: dict[str, list[str]] = {}
    for case, methods in results.items():
        if method not in methods:
            continue
        checks = list(target.checks(methods[method], methods.get(PLAIN, {})))
        if {'refused', 'failed'} & methods[method].keys():
            # Nothing was found, so nothing that was asked for was reached.
            checks = [('', False)]
        for name, met in checks:
            count += 1
            if not met:
                missed.setdefault(case, []).append(name)
    return count, missed


def show_targets(results: Results) -> None:
    print('\ntargets: met, of')
    for target in TARGETS:
        count, missed = judged(results, target, target.method)
        if not count:
            continue
        beside = ''
        if target.method == PLAIN:
            for method in OTHERS:
                others, theirs = judged(results, target, method)
                beside += f'  ({method} {others - _number(theirs)}/{others})' if others else ''
        words = (' '.join([case, *names]).strip() for case, names in missed.items())
        not_met = f'  not: {", ".join(words)}' if missed else ''
        print(f'  {target.words:50s}{count - _number(missed):4d}/{count:<4d}{beside}{not_met}')


def _number(missed: dict[str, list[str]]) -> int:
    return sum(map(len, missed.values()))


def _share(value: float | None, width: int = 7) -> str:
    return f'{"-":>{width}s}' if value is None else f'{100.0 * value:{width}.1f}'


def _metres(value: float | None) -> str:
    return f'{"-":>8s}' if value is None else f'{value:8.3f}' if value < 100 else f'{value:8.1f}'


def _rows(results: Results) -> Iterator[tuple[str, dict[str, Any]]]:
    for case, methods in results.items():
        for method, found in methods.items():
            yield f'  {case:18s}{method:9s}', found


def show_accuracy(results: Results) -> None:
    print(
        '\nfollowed: every tick after the first window, published or not; errors in metres\n'
        f'  {"case":18s}{"method":9s}{"Hz":>5s}{"ticks":>6s}{"publ %":>7s}{"RMSE":>8s}'
        f'{"median":>8s}'
        f'{"p99":>8s}{"RMSE/md":>8s}{">10md %":>8s}{"along":>8s}{"across":>8s}{"mean":>8s}'
        f'{"NEES":>6s}{"of v":>6s}{"train s":>8s}{"us":>6s}{"MB":>6s}'
    )
    for head, found in _rows(results):
        row = found.get('accuracy', {})
        if 'rmse_m' not in row:
            print(f'{head}{found.get("refused") or found.get("failed") or "nothing known"}')
            continue
        ratio = row['rmse_over_median']
        names = ('along_m', 'across_m', 'mean_m')
        nees = ''.join(f'{each:6.3g}' for each in row['nees']) or f'{"-":>6s}{"-":>6s}'
        print(
            f'{head}{found["rate_hz"]:5.3g}{row["ticks"]:6d}{_share(row["published"])}'
            f'{"".join(_metres(row[name]) for name in ("rmse_m", "median_m", "p99_m"))}'
            f'{ratio:8.2f}{_share(row["far"], 8)}{"".join(_metres(row[name]) for name in names)}'
            f'{nees}{found["training_s"]:8.1f}{row["step_us"]:6.0f}'
            f'{found["model_bytes"] / 1e6:6.1f}'
        )


def show_ellipses(results: Results) -> None:
    print('\ntruth in the 68 / 95 % ellipse (published ticks) and RMSE (all), by ticks ahead')
    for head, found in _rows(results):
        cells = [
            f'  +{each["ticks_ahead"]:<4d}{_share(each["in_68"], 5)} /{_share(each["in_95"], 6)}'
            f'{_metres(each["rmse_m"])}'
            for each in found.get('accuracy', {}).get('horizons', ())
        ]
        if cells:
            print(head + ''.join(cells))


def show_elsewhere(results: Results) -> None:
    print('\nelsewhere: published % of the ticks off the route, after a grace (ticks)')
    for head, found in _rows(results):
        cells = [
            f'  {each["drive"]} {_share(each["published"], 1)} ({each["ticks"]})'
            for each in found.get('elsewhere', ())
        ]
        if cells:
            print(head + ''.join(cells))


def show_which(results: Results) -> None:
    print(
        '\nwhich of several roads: right %, and wrong % of what is published, on each drive; of '
        'routes\n1.5 windows after the start, of branches 5 s after they part'
    )
    for head, found in _rows(results):
        cells = [
            f'  {each["drive"]} {_share(each["right"], 1)} /{_share(each["wrong"], 5)}'
            for each in _which(found)
        ]
        if cells:
            what = _which(found)[0]['what']
            print(f'{head}{what:7s}{"".join(cells)}')


def show_moves(results: Results) -> None:
    print(
        '\nmoves: elsewhere on the route from one sample to the next\n'
        f'  {"case":18s}{"method":9s}{"moves":>6s}{"in 95 %":>9s}{"found %":>9s}'
        f'{"windows":>9s}{"wrong %":>9s}'
    )
    for head, found in _rows(results):
        row = found.get('moves')
        if not row:
            continue
        half = row['found_median_windows']
        print(
            f'{head}{row["moves"]:6d}{_share(row["inside"], 9)}{_share(row["found"], 9)}'
            f'{"-" if half is None else format(half, ".2f"):>9s}{_share(row["wrong"], 9)}'
        )


def show_days(results: Results) -> None:
    print(
        '\nother days of the worlds: RMSE / median of each, and over the second half of all; '
        'published;\nand truth in the 68 / 95 % ellipse by ticks ahead, with the drive followed'
    )
    for head, found in _rows(results):
        rows = found.get('days', ())
        if not rows:
            continue
        cells = [f'{row["rmse_m"]:7.3g} /{row["median_m"]:6.3g}' for row in rows]
        later = math.sqrt(sum(row['later_rmse_m'] ** 2 for row in rows) / len(rows))
        published = sum(row['published'] for row in rows) / len(rows)
        print(f'{head}{"".join(cells)}   later{later:7.3g}   published{100.0 * published:6.1f}')
        pooled = pooled_ellipses([found.get('accuracy', {}), *rows])
        held = (
            f'  +{each["ticks_ahead"]:<4d}{_share(each["in_68"], 5)} /{_share(each["in_95"], 6)}'
            for each in pooled
        )
        print(f'{"":{len(head)}s}{"".join(held)}')


def show_slow(results: Results) -> None:
    print(
        '\nslow laps of the worlds, by ratio, and the usual ones after them: published %, RMSE, '
        'median,\nRMSE of what is published, and truth in its 95 % ellipse'
    )
    for head, found in _rows(results):
        for row in found.get('slow', ()):
            numbers = (row['rmse_m'], row['median_m'], row['published_rmse_m'])
            print(
                f'{head}{row["laps"]:10s}{_share(row["published"])}'
                f'{"".join(map(_metres, numbers))}{_share(row["in_95"])}'
            )


STINT_LAPS = ('0.9', '0.7', '0.5', 'lap out', 'traffic', 'lap in')
"""Laps that are shown of a training with slow laps."""


def show_stint(results: Results) -> None:
    print(
        '\ntrained on a slow lap out, a slow lap in and one in ten slow, where all laps had the '
        'usual speed:\npublished % and RMSE of the drive followed; published % on slow laps, and '
        'off the route in the mean\n'
        f'  {"case":18s}{"method":9s}{"training":9s}{"publ %":>7s}{"RMSE":>8s}'
        f'{"".join(f"{name:>8s}" for name in STINT_LAPS)}{"off":>8s}'
    )
    for head, found in _rows(results):
        stint = found.get('stint')
        for name, each in (('usual', found), ('stint', stint)) if stint else ():
            row = each.get('accuracy', {})
            if 'rmse_m' not in row:
                print(f'{head}{name:9s}  {each.get("refused") or "nothing known"}')
                continue
            by_lap = {lap['laps']: lap['published'] for lap in each.get('slow', ())}
            shares = (away['published'] for away in each.get('elsewhere', ()))
            off = [share for share in shares if share is not None]
            print(
                f'{head}{name:9s}{_share(row["published"])}{_metres(row["rmse_m"])}'
                f'{"".join(_share(by_lap.get(lap), 8) for lap in STINT_LAPS)}'
                f'{_share(sum(off) / len(off) if off else None, 8)}'
            )


def show_all(results: Results) -> None:
    show_accuracy(results)
    show_ellipses(results)
    for block, show in (
        ('which', show_which),
        ('elsewhere', show_elsewhere),
        ('moves', show_moves),
        ('days', show_days),
        ('slow', show_slow),
        ('stint', show_stint),
    ):
        if any(found.get(block) for _, found in _rows(results)):
            show(results)
    show_targets(results)
