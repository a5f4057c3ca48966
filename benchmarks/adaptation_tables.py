# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of learning on the robot, and which of its targets are met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import math
from statistics import median
from typing import Any, NamedTuple, TypeAlias

from gauntlet_tables import calibrated, ellipse, LEAST_PUBLISHED
from tables import metres, percent, table

Row: TypeAlias = dict[str, Any]
"""What one trial found: its block, case, learner and seed, and numbers; or why it ``failed``."""

Checks: TypeAlias = Iterable[tuple[str, bool]]
"""What was looked at, and whether it is as it is to be."""

BLOCKS = ('gauntlet', 'curve', 'changes', 'cost')

WITHIN = 3
"""Laps after a change within which a learner is to be back."""

USEFUL = 0.25
"""Share of the error of the mean position up to which something was learned that can be kept."""


class Target(NamedTuple):
    """What is checked of the trials of a block, of which learners, and what share is to be met."""

    words: str
    block: str
    checks: Callable[[Row], Checks]
    learners: tuple[str, ...] = ('map', 'tpsr')
    share: float = 1.0


def over(value: float | None, other: float | None) -> float:
    """Return a ratio; NaN, which is no more than anything, if one number is missing."""
    return math.nan if value is None or not other else value / other


def _of(row: Row, name: str) -> Any:  # noqa: ANN401 - a number, or a list
    return row.get('accuracy', {}).get(name)


def _beside_offline(most: float) -> Callable[[Row], Checks]:
    def checks(row: Row) -> Checks:
        # Where the offline method refuses the drive there is nothing to compare with.
        if row.get('offline', {}).get('rmse_m') is not None:
            yield '', over(_of(row, 'rmse_m'), row['offline']['rmse_m']) <= most

    return checks


def last_two(errors: Sequence[float | None]) -> float | None:
    """Return the root mean square of the last two errors, as far as they are known."""
    known = [each for each in errors[-2:] if each is not None]
    return math.hypot(*known) / math.sqrt(len(known)) if known else None


def _third_lap(row: Row) -> Checks:
    if len(row['rmse_m']) > 2:
        yield '', over(row['rmse_m'][2], row['mean_m']) <= USEFUL


def _sixth_lap(row: Row) -> Checks:
    errors = row['rmse_m']
    # With less the sixth is itself one of the last two.
    if len(errors) >= 8:
        last = None if None in errors[-2:] else last_two(errors)
        knew = over(last, row['mean_m']) <= USEFUL
        words = '' if knew else '(last two above 0.25 x mean)'
        yield words, knew and over(errors[5], last) <= 1.3


def _back(row: Row) -> Checks:
    for name, each in row['changes'].items():
        if name != 'none':
            # A learner that knew nothing before is soon back there.
            knew = over(each['old_m'], each['mean_m']) <= USEFUL
            back = each['back'] is not None and each['back'] <= WITHIN
            yield name if knew else f'{name} (knew nothing)', knew and back


def _never_worse(row: Row) -> Checks:
    return ((name, each['worse'] <= 1) for name, each in row['changes'].items() if name != 'none')


TARGETS = (
    Target('IMU alone: RMSE <= 1.15 x offline', 'gauntlet', _beside_offline(1.15), ('map',)),
    Target(
        'IMU alone: published >= 95 %',
        'gauntlet',
        lambda row: [('', (_of(row, 'published') or 0.0) >= LEAST_PUBLISHED)],
        ('map',),
    ),
    Target(
        'IMU alone: ellipses 90-99 %, 60-78 %',
        'gauntlet',
        lambda row: [
            (f'+{each["ticks_ahead"]}', calibrated(each) == 1.0)
            for each in _of(row, 'horizons') or ()
        ],
        ('map',),
    ),
    Target('IMU alone: RMSE <= 2 x spectral', 'gauntlet', _beside_offline(2.0), ('tpsr',)),
    Target(
        'IMU alone: RMSE <= 0.25 x mean',
        'gauntlet',
        lambda row: [('', over(_of(row, 'rmse_m'), _of(row, 'mean_m')) <= USEFUL)],
        ('tpsr',),
    ),
    Target('lap 3: <= 0.25 x mean', 'curve', _third_lap),
    Target('lap 6: <= 1.3 x the last two', 'curve', _sixth_lap),
    Target(f'changes: back in {WITHIN} laps >= 95 %', 'changes', _back, share=0.95),
    Target('changes: worse than frozen <= 1 lap', 'changes', _never_worse),
    Target(
        'cost: ten minutes <= 2 % of a core', 'cost', lambda row: [('', row['core'] <= 0.02)],
        ('map',),
    ),
    Target(
        'cost: ten minutes <= 15 % of a core', 'cost', lambda row: [('', row['core'] <= 0.15)],
        ('tpsr',),
    ),
    Target(
        'cost: memory <= 50 MB', 'cost',
        lambda row: [('', max(row['kept_mb'], row['grown_mb']) <= 50.0)], ('tpsr',),
    ),
)  # fmt: skip


class Judgement(NamedTuple):
    """Number of checks that a learner met, and of all; those missed, and whether it passes."""

    met: int
    checks: int
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
        missed += [f'{named(row)} {name}'.strip() for name, good in checks if not good]
    count = met + len(missed)
    return Judgement(met, count, tuple(missed), met >= target.share * count)


def named(row: Row) -> str:
    return row['case'] if row['seed'] is None else f'{row["case"]}/{row["seed"]}'


def adaptation_row(row: Row) -> list[str]:
    """Return the cells of a drive that was learned live; ``rmse_m`` are the errors of its laps."""
    after = row['accuracy']
    errors = [over(each, row['mean_m']) for each in row.get('rmse_m', ())]
    third, last = (errors + [math.nan] * 3)[2], last_two(errors)
    return [
        f'{row["laps"]:.0f}', metres(after.get('rmse_m')), metres(row['offline']['rmse_m']),
        percent(after.get('published')), metres(third), metres(last),
        ', '.join(map(ellipse, after.get('horizons', ()))),
    ]  # fmt: skip


ADAPTATION = 'laps, RMSE, offline, published, lap 3, last two laps'


def _curve(row: Row) -> list[str]:
    errors = row['rmse_m']
    ratios = ' '.join(metres(over(each, row['mean_m'])) for each in errors)
    return [str(len(errors)), metres(over(last_two(errors), row['mean_m'])), ratios]


def _cost(row: Row) -> list[str]:
    shares = (percent(row[name], 1) for name in ('first_core', 'core'))
    return [f'{row["lap_s"]:.1f}', *shares, f'{row["kept_mb"]:.1f}', f'{row["grown_mb"]:.1f}']


def _live(row: Row) -> list[str]:
    return adaptation_row({**row, 'mean_m': None})


TABLES: dict[str, tuple[str, str, Callable[[Row], list[str]]]] = {
    'gauntlet': (
        'learned live, then the IMU alone: every tick after the first window; metres',
        f'{ADAPTATION}, in the 68 / 95 % ellipse',
        _live,
    ),
    'curve': (
        'while learning: RMSE over that of the mean position',
        'laps, last two, by lap',
        _curve,
    ),
    'cost': (
        'ten minutes with positions: of a core, trainings included, and memory',
        'lap s, minute 1, all, kept MB, process grew by MB',
        _cost,
    ),
}
"""Title, head and cells of a row, by block."""


def changes(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a row for each change and learner: error before, soon back, laps, laps worse."""
    by_change: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for name, each in row['changes'].items():
            by_change.setdefault((name, row['learner']), []).append(each)
    for (name, learner), some in by_change.items():
        laps = [math.inf if each['back'] is None else each['back'] for each in some]
        before = median(over(each['old_m'], each['mean_m']) for each in some)
        soon = f'{sum(each <= WITHIN for each in laps)}/{len(laps)}'
        worse = max(each['worse'] for each in some)
        yield [
            name,
            learner,
            metres(before),
            soon,
            f'{median(laps):g}',
            f'{max(laps):g}',
            f'{worse}',
        ]


def tables(rows: list[Row]) -> str:
    """Return all tables of the trials, and the targets met."""
    blocks = []
    for block, (title, head, cells) in TABLES.items():
        own = [row for row in rows if row['block'] == block]
        found = [
            [named(row), row['learner'], *([row['failed']] if 'failed' in row else cells(row))]
            for row in own
        ]
        if found:
            blocks.append(f'{title}\n{table(f"case, learner, {head}", found)}')
    changed = list(changes([r for r in rows if r['block'] == 'changes' and 'failed' not in r]))
    if changed:
        title = 'changed for good: error before over that of the mean position (median)'
        head = f'change, learner, before, back in {WITHIN} laps, laps, most, worse than frozen'
        blocks.append(f'{title}\n{table(head, changed)}')
    verdicts = [
        [target.words, learner, f'{each.met}/{each.checks}', 'met' if each.enough else 'MISSED',
         ' '.join(each.missed)]
        for target in TARGETS
        for learner in target.learners
        for each in (judged(rows, target, learner),)
        if each.checks
    ]  # fmt: skip
    return '\n\n'.join([*blocks, table('target, learner, met, verdict, not met', verdicts)])
