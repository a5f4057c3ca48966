# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of learning on the robot, and which of its targets are met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
import math
from statistics import median
from textwrap import fill
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

from gauntlet_tables import LEAST_PUBLISHED, NARROW, WIDE

if TYPE_CHECKING:
    from collections.abc import Callable

Row: TypeAlias = dict[str, Any]
"""What one trial found: its block, case, learner and seed, and numbers; or why it ``failed``."""

Checks: TypeAlias = Iterable[tuple[str, bool]]
"""What was looked at, and whether it is as it is to be."""

BLOCKS = ('gauntlet', 'curve', 'changes', 'cost', 'poison')

WITHIN = 3
"""Laps after a change within which a learner is to be back."""

USEFUL = 0.25
"""Share of the error of the mean position up to which something was learned that can be kept."""

LAPS_SHOWN, WIDTH = 12, 95


class Target(NamedTuple):
    """What is checked of the trials of a block, of which learners, and what share is to be met."""

    words: str
    block: str
    checks: Callable[[Row], Checks]
    learners: tuple[str, ...] = ('map', 'tpsr')
    share: float = 1.0


def _at_most(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value <= limit


def _over(value: float | None, other: float | None) -> float | None:
    return None if value is None or not other else value / other


def _beside_offline(most: float) -> Callable[[Row], Checks]:
    def checks(row: Row) -> Checks:
        # Where the offline method refuses the drive there is nothing to compare with.
        if row.get('offline', {}).get('rmse_m') is not None:
            yield '', _at_most(_over(_accuracy(row, 'rmse_m'), row['offline']['rmse_m']), most)

    return checks


def _accuracy(row: Row, name: str) -> Any:  # noqa: ANN401 - a number, or a list
    return row.get('accuracy', {}).get(name)


def _beside_mean(row: Row) -> Checks:
    yield '', _at_most(_over(_accuracy(row, 'rmse_m'), _accuracy(row, 'mean_m')), USEFUL)


def _published(row: Row) -> Checks:
    yield '', (_accuracy(row, 'published') or 0.0) >= LEAST_PUBLISHED


def _ellipses(row: Row) -> Checks:
    for each in _accuracy(row, 'horizons') or ():
        shares = (each['in_95'], WIDE), (each['in_68'], NARROW)
        good = all(value is not None and low <= value <= high for value, (low, high) in shares)
        yield f'+{each["ticks_ahead"]}', good


def _third_lap(row: Row) -> Checks:
    if len(row['rmse_m']) > 2:
        yield '', _at_most(_over(row['rmse_m'][2], row['mean_m']), USEFUL)


def _sixth_lap(row: Row) -> Checks:
    errors = row['rmse_m']
    # With less the sixth is itself one of the last two.
    if len(errors) >= 8:
        last = None if None in errors[-2:] else math.hypot(*errors[-2:]) / math.sqrt(2.0)
        knew = _at_most(_over(last, row['mean_m']), USEFUL)
        yield (
            '' if knew else '(last two above 0.25 x mean)',
            knew and _at_most(_over(errors[5], last), 1.3),
        )


def _changed(row: Row) -> Iterator[tuple[str, Row]]:
    yield from ((name, each) for name, each in row['changes'].items() if name != 'none')


def _back(row: Row) -> Checks:
    for name, each in _changed(row):
        # A learner that knew nothing before is soon back there.
        knew = _at_most(_over(each['old_m'], each['mean_m']), USEFUL)
        yield name if knew else f'{name} (knew nothing)', knew and _at_most(each['back'], WITHIN)


def _never_worse(row: Row) -> Checks:
    for name, each in _changed(row):
        yield name, each['worse'] <= 1


def _core(most: float) -> Callable[[Row], Checks]:
    return lambda row: [('', _at_most(row['core'], most))]


def _memory(row: Row) -> Checks:
    yield '', max(row['kept_mb'], row['grown_mb']) <= 50.0


def _poisons(row: Row) -> Iterator[tuple[str, float | None]]:
    clean = row['poisons']['none']['rmse_m']
    for name, each in row['poisons'].items():
        if name != 'none':
            yield name, _over(each['rmse_m'], clean)


def _unspoiled(row: Row) -> Checks:
    clean = row['poisons']['none']
    knew = _at_most(_over(clean['rmse_m'], clean['mean_m']), USEFUL)
    for name, ratio in _poisons(row):
        if name == 'cut out':
            # No poison, but what the others can be held against.
            continue
        yield name if knew else f'{name} (knew nothing)', knew and _at_most(ratio, 1.1)


TARGETS = (
    Target('IMU alone: RMSE <= 1.15 x offline', 'gauntlet', _beside_offline(1.15), ('map',)),
    Target('IMU alone: published >= 95 %', 'gauntlet', _published, ('map',)),
    Target('IMU alone: ellipses 90-99 %, 60-78 %', 'gauntlet', _ellipses, ('map',)),
    Target('IMU alone: RMSE <= 2 x spectral', 'gauntlet', _beside_offline(2.0), ('tpsr',)),
    Target('IMU alone: RMSE <= 0.25 x mean', 'gauntlet', _beside_mean, ('tpsr',)),
    Target('lap 3: <= 0.25 x mean', 'curve', _third_lap),
    Target('lap 6: <= 1.3 x the last two', 'curve', _sixth_lap),
    Target(f'changes: back in {WITHIN} laps >= 95 %', 'changes', _back, share=0.95),
    Target('changes: worse than frozen <= 1 lap', 'changes', _never_worse),
    Target('cost: ten minutes <= 2 % of a core', 'cost', _core(0.02), ('map',)),
    Target('cost: ten minutes <= 15 % of a core', 'cost', _core(0.15), ('tpsr',)),
    Target('cost: memory <= 50 MB', 'cost', _memory, ('tpsr',)),
    Target('poison: later RMSE <= 1.1 x without', 'poison', _unspoiled),
)


@dataclass(frozen=True)
class Judgement:
    """Number of checks that a learner met, and of all; those missed, and whether it passes."""

    met: int
    count: int
    missed: tuple[str, ...]
    enough: bool


def judged(rows: list[Row], target: Target, learner: str) -> Judgement:
    met, missed = 0, []
    for row in rows:
        if (row['block'], row['learner']) != (target.block, learner):
            continue
        # Nothing was found, so nothing that was asked for was reached.
        checks = [('failed', False)] if 'failed' in row else list(target.checks(row))
        met += sum(good for _, good in checks)
        missed += [f'{_named(row)} {name}'.strip() for name, good in checks if not good]
    count = met + len(missed)
    return Judgement(met, count, tuple(missed), met >= target.share * count)


def _named(row: Row) -> str:
    return row['case'] if row['seed'] is None else f'{row["case"]}/{row["seed"]}'


def _cell(value: float | None, width: int, digits: int = 3, factor: float = 1.0) -> str:
    known = value is not None and math.isfinite(value)
    return f'{factor * value:{width}.{digits}f}' if known else f'{"-":>{width}s}'  # type: ignore[operator]


def _metres(value: float | None) -> str:
    return _cell(value, 9, 1 if value is not None and value >= 100.0 else 3)


def _head(row: Row) -> str:
    return f'  {_named(row):17s}{row["learner"]:6s}'


def _titled(words: str, first: str, *columns: str) -> Iterator[str]:
    """Yield the lines above a table; a column is as wide as its title."""
    yield words
    yield f'  {first:17s}{"":6s}{"".join(columns)}'


def _gauntlet(rows: list[Row]) -> Iterator[str]:
    yield from _titled(
        'learned live, then the IMU alone: every tick after the first window; metres', 'case',
        '  laps  ticks publ %     RMSE  offline  ratio   median     mean',
        '  in the 68 / 95 % ellipse by ticks ahead',
    )  # fmt: skip
    for row in rows:
        found, offline = row['accuracy'], row['offline']['rmse_m']
        ellipses = '  '.join(
            f'+{each["ticks_ahead"]} {_cell(each["in_68"], 2, 0, 100.0)}/'
            f'{_cell(each["in_95"], 2, 0, 100.0)}'
            for each in found.get('horizons', ())
        )
        rmse, middle, mean = (found.get(name) for name in ('rmse_m', 'median_m', 'mean_m'))
        yield (
            f'{_head(row)}{row["laps"]:6.1f}{found["ticks"]:7d}'
            f'{_cell(found["published"], 7, 1, 100.0)}{_metres(rmse)}{_metres(offline)}'
            f'{_cell(_over(rmse, offline), 7, 2)}{_metres(middle)}{_metres(mean)}  {ellipses}'
        ).rstrip()


def _curve(rows: list[Row]) -> Iterator[str]:
    shown = ''.join(f'{lap + 1:6d}' for lap in range(LAPS_SHOWN))
    words = 'while learning: RMSE over that of the mean position, by lap, and of the last two laps'
    yield from _titled(words, 'case', '  laps', shown, '   last')
    for row in rows:
        ratios = [_over(each, row['mean_m']) for each in row['rmse_m']]
        cells = ''.join(_cell(each, 6, 2) for each in ratios[:LAPS_SHOWN])
        known = [each for each in ratios[-2:] if each is not None]
        last = math.hypot(*known) / math.sqrt(len(known)) if known else None
        yield f'{_head(row)}{len(ratios):6d}{cells:{6 * LAPS_SHOWN}s}{_cell(last, 7, 3)}'


def _changes(rows: list[Row]) -> Iterator[str]:
    yield 'changed for good: error before over that of the mean position (median), how many are'
    words = f'back in {WITHIN} laps, after how many, laps in a row worse than frozen'
    yield from _titled(words, 'change', '  before     back  laps  most  worse')
    by_change: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for name, each in row['changes'].items():
            by_change.setdefault((name, row['learner']), []).append(each)
    for (name, learner), some in by_change.items():
        laps = [math.inf if each['back'] is None else each['back'] for each in some]
        before = median(_over(each['old_m'], each['mean_m']) or math.nan for each in some)
        soon = f'{sum(each <= WITHIN for each in laps)}/{len(laps)}'
        yield (
            f'  {name:17s}{learner:6s}{_cell(before, 8, 2)}{soon:>9s}{_cell(median(laps), 6, 1)}'
            f'{_cell(max(laps), 6, 0)}{max(each["worse"] for each in some):7d}'
        )


def _cost(rows: list[Row]) -> Iterator[str]:
    words = 'ten minutes with positions: % of a core, trainings included, and memory'
    yield from _titled(words, 'world', '  lap s minute 1    all  kept MB  process grew by MB')
    for row in rows:
        yield (
            f'{_head(row)}{row["lap_s"]:7.1f}{_cell(row["first_core"], 9, 1, 100.0)}'
            f'{_cell(row["core"], 7, 1, 100.0)}{row["kept_mb"]:9.1f}{row["grown_mb"]:20.1f}'
        )


def _poison(rows: list[Row]) -> Iterator[str]:
    names = [name for name in rows[0]['poisons'] if name != 'none']
    wide = ''.join(f'{name:>{len(name) + 3}s}' for name in names)
    words = 'one poisoned lap: RMSE over laps 2 and 3 after it, over that without; mean position'
    yield from _titled(words, 'case/seed', '  without     mean', wide)
    for row in rows:
        ratios = dict(_poisons(row))
        cells = ''.join(_cell(ratios.get(name), len(name) + 3, 2) for name in names)
        clean = row['poisons']['none']
        yield f'{_head(row)}{_metres(clean["rmse_m"])}{_metres(clean["mean_m"])}{cells}'


_TABLES = {
    'gauntlet': _gauntlet,
    'curve': _curve,
    'changes': _changes,
    'cost': _cost,
    'poison': _poison,
}


def _targets(rows: list[Row]) -> Iterator[str]:
    yield 'targets: met, of'
    for target in TARGETS:
        for learner in target.learners:
            found = judged(rows, target, learner)
            if not found.count:
                continue
            verdict = 'met' if found.enough else 'MISSED'
            share = f'{found.met:4d}/{found.count:<4d}'
            yield f'  {learner:5s}{target.words:40s}{share} {verdict}'
            if found.missed:
                words = ', '.join(found.missed)
                yield fill(
                    words, WIDTH, initial_indent=' ' * 7 + 'not: ', subsequent_indent=' ' * 12
                )


def tables(rows: list[Row]) -> str:
    """Return all tables of the trials, and the targets met."""
    blocks = []
    for block, table in _TABLES.items():
        own = [row for row in rows if row['block'] == block]
        good = [row for row in own if 'failed' not in row]
        lines = list(table(good)) if good else [block] if own else []
        lines += [f'{_head(row)} failed: {row["failed"]}' for row in own if 'failed' in row]
        if lines:
            blocks.append('\n'.join(lines))
    return '\n\n'.join([*blocks, '\n'.join(_targets(rows))])
