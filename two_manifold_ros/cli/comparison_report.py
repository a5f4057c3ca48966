# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A comparison for people: a table, what failed, what each method settled, and figures."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
import json
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from two_manifold_ros.comparison.outcome import Comparison, Result

MOST_COLUMNS = 4
"""Horizons in the table; of more, so many evenly spread ones are shown."""

MOST_NAMED = 2
"""Recordings that are named; the JSON names all."""

FEWEST_STARRED = 20
"""Predictions; the least of errors on fewer is chance."""


def write_files(folder: Path, comparison: Comparison) -> None:
    """Write ``table.txt``, ``comparison.json`` and the figures, the same bytes every time."""
    from two_manifold_ros.comparison.figures import draw_errors, draw_tracks  # noqa: PLC0415

    text = StringIO()
    with redirect_stdout(text):
        print_comparison(comparison)
    (folder / 'table.txt').write_text(text.getvalue(), encoding='utf-8')
    content = json.dumps(comparison.to_json(), indent=2, allow_nan=False)
    (folder / 'comparison.json').write_text(f'{content}\n', encoding='utf-8')
    draw_errors(comparison, folder / 'errors.png')
    draw_tracks(comparison, folder / 'tracks.png')


def print_comparison(comparison: Comparison) -> None:
    """Print the tables and what has to be known to read them."""
    shown = _shown(len(comparison.horizons))
    headings = [_heading(comparison, column) for column in shown]
    withholding = any(_share(result) is not None for result in comparison.results)
    rows = [
        [
            result.title,
            *([_percent(_share(result))] if withholding else []),
            *(_cell(comparison, result, column) for column in shown),
        ]
        for result in comparison.results
    ]
    print_table(
        'Error in metres (RMSE, median, 95th percentile) so many ticks ahead, at all ticks',
        ['method', *(['told'] if withholding else []), *headings],
        rows,
    )
    print_table(
        'RMSE in metres along the true direction of travel / across it, at all ticks',
        ['method', *headings],
        [
            [result.title, *(_parts(result, column) for column in shown)]
            for result in comparison.results
        ],
    )
    for line in (*_legend(comparison), *comparison.notes, *_details(comparison)):
        print(line)


def _shown(count: int) -> list[int]:
    """Return which of so many horizons have a column."""
    columns: list[int] = (
        np.linspace(0, count - 1, min(count, MOST_COLUMNS)).round().astype(int).tolist()
    )
    return columns


def _heading(comparison: Comparison, column: int) -> str:
    horizon = comparison.horizons[column]
    return f'{horizon} ({horizon / comparison.rate_hz:g} s)'


def _cell(comparison: Comparison, result: Result, column: int) -> str:
    if result.scores is None:
        return 'failed'
    errors = result.scores[column]
    if errors.rmse_m is None or errors.median_m is None or errors.p95_m is None:
        return '-'
    star = '*' if errors.rmse_m == _least(comparison, column) and not result.told else ' '
    return f'{_metres(errors.rmse_m)}{star} {_metres(errors.median_m)} {_metres(errors.p95_m)}'


def _parts(result: Result, column: int) -> str:
    """Return the errors along and across the direction of travel."""
    if result.scores is None:
        return 'failed'
    errors = result.scores[column]
    if errors.along_rmse_m is None or errors.cross_rmse_m is None:
        return '-'
    return f'{_metres(errors.along_rmse_m)} / {_metres(errors.cross_rmse_m)}'


def _share(result: Result) -> float | None:
    """Return the share of the present positions that a method would have published."""
    return None if not result.scores else result.scores[0].told_share


def _percent(share: float | None) -> str:
    if share is None:
        return ''
    return f'{100 * share:.0f} %' if share in {0.0, 1.0} else f'{100 * share:.1f} %'


def _metres(value: float) -> str:
    """Return five characters, so that four columns fit wherever tables do."""
    return f'{value:.3f}' if value < 10.0 else f'{value:.2f}' if value < 100.0 else f'{value:5.0f}'


def _least(comparison: Comparison, column: int) -> float | None:
    """Return the least RMSE of the methods that are told nothing, if enough predictions count."""
    if comparison.scored[column] < FEWEST_STARRED:
        return None
    found = [
        result.scores[column].rmse_m
        for result in comparison.results
        if result.scores is not None and not result.told
    ]
    return min((value for value in found if value is not None), default=None)


def _legend(comparison: Comparison) -> Iterator[str]:
    yield f'learned from {_named(comparison.learned)}, followed {_named(comparison.followed)}'
    shown = _shown(len(comparison.scored))
    counts = [comparison.scored[column] for column in shown]
    yield (
        f'every method is scored on the same {", ".join(map(str, counts))} predictions, published '
        'or not'
    )
    for result in comparison.results:
        yield from _withheld(result, shown)
    told = [result.title for result in comparison.results if result.told]
    if any(_least(comparison, column) is not None for column in shown):
        yield f'* least RMSE{" of those not given positions" if told else ""}'
    if any(0 < count < FEWEST_STARRED for count in counts):
        yield f'no star where fewer than {FEWEST_STARRED} predictions count'
    if told:
        yield f'given true positions on the way: {", ".join(told)}'


def _withheld(result: Result, shown: Sequence[int]) -> Iterator[str]:
    """Yield how much a method would not have published, and its errors without that."""
    share = _share(result)
    scores = result.scores or ()
    if share is None or all(each.told_share in {1.0, None} for each in scores):
        return
    found = [scores[column].told_rmse_m for column in shown]
    left = ', '.join('-' if value is None else _metres(value) for value in found)
    yield (
        f'{result.title} would withhold {100 * (1.0 - share):.1f} % of the present positions; '
        f'RMSE of what it would publish: {left}'
    )


def _details(comparison: Comparison) -> Iterator[str]:
    yield 'by name, as for --methods, with the main settings; all settings are in the JSON:'
    for result in comparison.results:
        if result.failure is not None:
            yield f'  {result.name}: {result.title}, failed: {result.failure}'
        else:
            yield '; '.join([f'  {result.name}: {result.title}', *_main_settings(result)])


def _main_settings(result: Result) -> Iterator[str]:
    """Yield what fits in a line; long lists are for machines."""
    chosen = (
        f'{name.replace("_", " ")} {_plain(value)}'
        for name, value in (result.chosen or {}).items()
        if value is not None and not isinstance(value, list | dict)
    )
    if line := ', '.join(chosen):
        yield line


def _named(recordings: Sequence[tuple[str, float]]) -> str:
    names = [name for name, _ in recordings]
    shown = ' and '.join(names) if len(names) <= MOST_NAMED else f'{len(names)} recordings'
    return f'{sum(seconds for _, seconds in recordings):.1f} s of {shown}'


def _plain(value: object) -> str:
    return f'{value:.3g}' if isinstance(value, float) else str(value)
