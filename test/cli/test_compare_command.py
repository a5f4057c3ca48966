# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold compare`, and its table."""

from argparse import Namespace
from dataclasses import replace

from ellipse import drive, write_bag
import numpy as np
import pytest

from two_manifold_ros.cli.compare import shown_comparison
from two_manifold_ros.cli.options import print_table, print_wrapped
from two_manifold_ros.cli.verdict import of_comparison
from two_manifold_ros.comparison import comparing
from two_manifold_ros.comparison.comparing import compare, Comparison, plan_share, Result
from two_manifold_ros.comparison.rivals import methods_named
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.scores import ErrorSummary, Score
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Table

QUICK = ('--methods', 'mean,previous', '--window', '20', '--horizons', '0,5,20')
SIMPLE = ('--methods', 'mean,previous')


@pytest.fixture(scope='session')
def ellipse_bags(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return bags of 48 s, 40 s and 32 s."""
    folder = tmp_path_factory.mktemp('ellipses')
    return [
        str(write_bag(folder / f'bag_{index}', drive(48.0 - 8.0 * index))) for index in range(3)
    ]


def test_the_json_is_what_the_library_says(ellipse_bags, command):
    content = command.json('compare', ellipse_bags[0], *QUICK, '--share', '0.25')
    settings = TrainingSettings(window=20, horizons=(0, 5, 20))
    plan = plan_share(read_recording(ellipse_bags[0]), settings, 0.25)
    assert content.pop('verdict')['word'] == 'no use'
    assert content == compare(plan, methods_named(['mean', 'previous'])).to_json()
    assert content['followed'][0]['seconds'] == pytest.approx(12.0, abs=0.1)


def test_the_last_bag_or_those_named_are_followed(ellipse_bags, command):
    first, second, third = ellipse_bags
    for bags, learned, followed in (
        (ellipse_bags, [first, second], [third]),
        ([second, '--test', third, first], [second], [third, first]),
    ):
        content = command.json('compare', *QUICK, *bags)
        assert content['protocol'] == 'bags'
        assert [each['recording'] for each in content['learned']] == learned
        assert [each['recording'] for each in content['followed']] == followed


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ('A --methods mean,magic', 'there is no method magic'),
        ('A --share 1.5', 'between 0 and 1'),
        ('A --share 0.02', 'the part to follow has no stretch longer than a window'),
        ('A --horizons 5,10', 'must start with 0'),
        ('A --horizons now', 'must be whole numbers of ticks'),
        ('A --protocol slot-car --share 0.2 --rate 5', 'leave out --share, --rate'),
        ('A --protocol slot-car', 'needs 300 s'),
        ('A --protocol hamster', 'invalid choice'),
        ('A --test no_such_bag', 'no_such_bag does not exist'),
        ('A --position-topic /imu', '--position-topic'),
        ('A B --share 0.5', '--share cuts a single bag'),
        ('A B --protocol slot-car', 'leave out more than one bag'),
        ('A --test A', 'learned from and followed'),
    ],
)
def test_bad_options(options, words, ellipse_bags, command):
    bags = dict(zip('ABC', ellipse_bags, strict=True))
    given = [bags.get(each, each) for each in options.split()]
    assert words in command.refused('compare', *SIMPLE, *given)


def test_no_method_that_works_is_an_error(ellipse_bags, command, monkeypatch):
    def refuse(*_: object) -> None:
        msg = 'it is too short.'
        raise InputError(msg)

    monkeypatch.setattr(comparing, '_run', refuse)
    line = command.refused('compare', ellipse_bags[0], *QUICK)
    assert line.endswith(
        'no method worked, so there is nothing to compare (mean, previous: it is too short)'
    )


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


def lines(of: Comparison, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of a comparison on a terminal."""
    for each in shown_comparison(of):
        print_table(*each) if isinstance(each, Table) else print_wrapped(each)
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def row(name: str, found: list[str]) -> list[str]:
    (line,) = [line for line in found if line.startswith(name)][:1]
    return line.removeprefix(name).split()


def test_each_method_has_its_errors_or_why_it_failed(capsys):
    found = lines(
        comparison(
            (0, 50),
            result('cheat', 0.0, 0.125, sees_positions=True),
            result('good', 0.25, None),
            result('bad', 0.5, 1.0),
            replace(result('bare', 1.5, 1.5), chosen={'weights': [1.0]}),
            Result('broken', 'the broken', sees_positions=False, failure='it is too short'),
        ),
        capsys,
    )
    assert row('the cheat', found) == ['-', '0.000', '0.125']
    assert row('the good', found) == ['-', '0.250', '-']
    assert row('the broken', found) == ['-', 'failed', 'failed']
    assert row('method', found) == ['published', '0', '(0', 's)', '50', '(2.5', 's)']
    for line in (
        'learned from 42.0 s of a bag and another, followed 12.2 s of a test',
        'every method at 20 Hz, windows of 3 s',
        'every method is scored on the same 100, 50 predictions, published or not',
        'given true positions on the way: the cheat',
        'a note to know',
        'broken: the broken, failed: it is too short',
        'good: the good',
        'bare: the bare',
    ):
        assert line in found


def test_what_is_withheld_is_shown_and_errors_are_over_all(capsys):
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
    found = lines(comparison((0, 50), shy, sure, result('open', 0.4, 0.7)), capsys)
    assert row('method', found)[0] == 'published'
    assert row('the shy', found) == ['90.0', '%', '0.500', '0.600']
    assert row('the sure', found)[:3] == ['100', '%', '0.700']
    assert row('the open', found)[:2] == ['-', '0.400']
    (withheld,) = [line for line in found if 'would withhold' in line]
    assert withheld == (
        'the shy would withhold 10.0 % of the present positions; RMSE of what it would publish: '
        '0.100, -'
    )


@pytest.mark.parametrize(
    ('results', 'count', 'words'),
    [
        ((('default', 0.1), ('x', 0.3)), 99, ('good', 'the default (the default), RMSE 10 cm, ')),
        (
            (('x', 0.7), ('y', 1.0), ('default', 1.2)),
            99,
            ('fair', '(the default) 1.2 m, number 3'),
        ),
        ((('x', 3.0), ('default', 4.0)), 99, ('no use', 'RMSE 3 m', 'Next: record at least five')),
        ((('x', 0.1),), 19, ('unknown', '19 predictions', 'Next: compare on a longer drive')),
        ((), 99, ('unknown', 'No method works without positions', 'Next: add default')),
    ],
)
def test_the_best_method_is_judged_and_the_default_beside_it(results, count, words):
    track = 4.0 * np.stack([np.cos(np.arange(9.0)), np.sin(np.arange(9.0))], axis=1)
    cheat = result('cheat', 0.0, sees_positions=True)
    of = comparison((0,), cheat, *(result(*each) for each in results))
    found = of_comparison(replace(of, scored=(count,), tracks=(track,)), Namespace(bags=['bag']))
    assert found.word == words[0]
    assert all(each in ' '.join(found.lines) for each in words[1:])
