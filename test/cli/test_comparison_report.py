# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison."""

from collections.abc import Callable
from dataclasses import replace

import pytest

pytest.importorskip('rich')
from two_manifold_ros.cli.compare import print_comparison
from two_manifold_ros.comparison.outcome import Comparison, Result
from two_manifold_ros.evaluation.scores import ErrorSummary, Score


def score_of(*errors: float, along: float | None = None, cross: float | None = None,
             share: float | None = None, published_m: float | None = None) -> Score:  # fmt: skip
    """Return a score from RMSE, median and 95th percentile over all ticks, and what is given."""
    rmse_m, median_m, p95_m = errors or (None, None, None)
    every = ErrorSummary(rmse_m, median_m, p95_m, p95_m, None, None, 9)
    kept = replace(every, rmse_m=published_m)
    return Score(
        **vars(kept), all=every, published_share=share, along_rmse_m=along, cross_rmse_m=cross
    )


def comparison(horizons: tuple[int, ...], *results: Result) -> Comparison:
    return Comparison(
        protocol='share',
        rate_hz=20.0,
        window=60,
        horizons=horizons,
        learned=(('a bag', 40.0), ('another', 2.0)),
        followed=(('a test', 12.25),),
        scored=tuple(100 - horizon for horizon in horizons),
        notes=('a note to know',),
        tracks=(),
        results=results,
    )


def result(name: str, *rmse: float | None, sees_positions: bool = False) -> Result:
    scores = tuple(
        score_of() if each is None else score_of(each, each / 2, each * 2) for each in rmse
    )
    chosen = {'window': 5, 'ridge': 1 / 3, 'score_m': None, 'rates': [[1 / 3, 2], 'x']}
    return Result(name, f'the {name}', sees_positions, chosen=chosen, scores=scores)


Lines = Callable[[Comparison], list[str]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    """Return a function that prints a comparison and returns its lines."""

    def printed(of: Comparison) -> list[str]:
        print_comparison(of)
        return [line.strip() for line in capsys.readouterr().out.splitlines()]

    return printed


def row(name: str, found: list[str]) -> list[str]:
    (line,) = [line for line in found if line.startswith(name)][:1]
    return line.removeprefix(name).split()


def test_the_least_error_of_those_not_reported_has_a_star(
    lines: Lines,
) -> None:
    found = lines(
        comparison(
            (0, 50),
            result('cheat', 0.0, 0.125, sees_positions=True),
            result('good', 0.25, None),
            result('bad', 0.5, 1.0),
            replace(result('bare', 1.5, 1.5), chosen={'weights': [1.0]}),
            Result('broken', 'the broken', sees_positions=False, failure='it is too short'),
        )
    )
    assert row('the cheat', found) == ['0.000', '0.000', '0.000', '0.125', '0.062', '0.250']
    assert row('the good', found) == ['0.250*', '0.125', '0.500', '-']
    assert row('the bad', found) == ['0.500', '0.250', '1.000', '1.000*', '0.500', '2.000']
    assert row('the broken', found) == ['failed', 'failed']
    assert row('method', found) == ['0', '(0', 's)', '50', '(2.5', 's)']
    for line in (
        'learned from 42.0 s of a bag and another, followed 12.2 s of a test',
        'every method is scored on the same 100, 50 predictions, published or not',
        '* least RMSE of those not given positions',
        'given true positions on the way: the cheat',
        'a note to know',
        'broken: the broken, failed: it is too short',
        'good: the good; window 5, ridge 0.333',
        'bare: the bare',
    ):
        assert line in found
    assert not any(line.startswith('no star') for line in found)


def test_what_is_withheld_is_shown_and_the_star_is_over_all(
    lines: Lines,
) -> None:
    shy = replace(
        result('shy'),
        scores=(
            score_of(0.5, 0.25, 1.0, along=0.4, cross=0.3, share=0.9, published_m=0.1),
            score_of(0.6, 0.25, 1.0, share=0.5),
        ),
    )
    sure = replace(
        result('sure'),
        scores=(score_of(0.7, 0.7, 0.7, share=1.0, published_m=0.7),) * 2,
    )
    found = lines(comparison((0, 50), shy, sure, result('open', 0.4, 0.7)))
    assert row('method', found)[0] == 'published'
    shown = ['90.0', '%', '0.500', '0.250', '1.000', '0.600*', '0.250', '1.000']
    assert row('the shy', found) == shown
    assert row('the sure', found)[:3] == ['100', '%', '0.700']
    assert row('the open', found)[:2] == ['-', '0.400*']
    later = found[found.index(next(line for line in found if 'across it' in line)) :]
    assert row('method', later)[0] == '0'
    assert row('the shy', later) == ['0.400', '/', '0.300', '-']
    (withheld,) = [line for line in found if 'would withhold' in line]
    assert withheld == (
        'the shy would withhold 10.0 % of the present positions; RMSE of what it would publish: '
        '0.100, -'
    )


def test_of_many_horizons_some_are_shown(lines: Lines) -> None:
    errors = [0.01 * horizon for horizon in range(101)]
    found = lines(comparison(tuple(range(101)), result('good', *errors)))
    assert row('method', found)[::3] == ['0', '33', '67', '100']
    assert row('the good', found)[::3] == ['0.000*', '0.330*', '0.670*', '1.000']
    assert (
        'every method is scored on the same 100, 67, 33, 0 predictions, published or not' in found
    )
    assert '* least RMSE' in found


@pytest.mark.parametrize(('count', 'starred'), [(20, True), (19, False), (0, False)])
def test_a_star_takes_twenty_predictions(count: int, starred: bool, lines: Lines) -> None:
    few = replace(comparison((0,), result('good', 1.0)), scored=(count,))
    found = lines(few)
    assert row('the good', found)[0] == ('1.000*' if starred else '1.000')
    assert ('* least RMSE' in found) == starred
    assert ('no star where fewer than 20 predictions count' in found) == (count == 19)


def test_without_a_star_nothing_is_said_of_one_and_many_recordings_are_counted(
    lines: Lines,
) -> None:
    cheat = comparison((0,), result('cheat', 1.0, sees_positions=True))
    found = lines(replace(cheat, learned=(('a bag', 10.0),) * 3))
    assert not any('star' in line or '*' in line for line in found)
    assert 'given true positions on the way: the cheat' in found
    assert 'learned from 30.0 s of 3 recordings, followed 12.2 s of a test' in found


def test_large_errors_do_not_break_lines(lines: Lines) -> None:
    methods = [result(name, 3.0, 23.456, 98.7, 12345.6) for name in ('good', 'x' * 20)]
    found = lines(comparison((0, 10, 50, 80), *methods))
    wanted = '3.000* 1.500 6.000 23.46* 11.73 46.91 98.70* 49.35 197 12346* 6173 24691'
    assert ' '.join(row('the good', found)) == wanted
