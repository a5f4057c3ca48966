# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold compare` and its table; `reproduce`, with stand-ins for the experiments."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

from command_runs import Command, said_by
from ellipse import drive, write_bag
import numpy as np
import pytest

from two_manifold_ros.cli.compare import shown_comparison
from two_manifold_ros.cli.options import print_table
from two_manifold_ros.cli.verdict import of_comparison
from two_manifold_ros.comparison import comparing
from two_manifold_ros.comparison.comparing import compare, Comparison, plan_share, Result
from two_manifold_ros.comparison.rivals import methods_named
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import ErrorSummary, Score
from two_manifold_ros.experiments.experiment import at_least, Experiment, EXPERIMENTS
from two_manifold_ros.progress import print_wrapped
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Table

QUICK = ('--methods', 'mean,previous', '--window', '20', '--horizons', '0,5,20')


@pytest.fixture(scope='session')
def ellipse_bags(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return bags of 48 s, 40 s and 32 s."""
    folder = tmp_path_factory.mktemp('ellipses')
    return [
        str(write_bag(folder / f'{seconds}', drive(seconds))) for seconds in (48.0, 40.0, 32.0)
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
    for bags, learned in ((ellipse_bags, 2), ([second, '--test', third, first], 1)):
        content = command.json('compare', *QUICK, *bags)
        found = [each['recording'] for each in content['learned'] + content['followed']]
        assert found == [each for each in bags if each != '--test']
        assert len(content['learned']) == learned


def test_no_method_that_works_is_an_error(ellipse_bags, command, monkeypatch):
    monkeypatch.setattr(comparing, '_run', Mock(side_effect=InputError('it is too short.')))
    line = command.refused('compare', ellipse_bags[0], *QUICK)
    assert '(mean: it is too short.; previous: it is too short.)' in line


def comparison(*results: Result) -> Comparison:
    learned = (('a bag', 40.0), ('another', 2.0))
    return Comparison(20.0, 60, (0, 50), learned, (('a test', 12.25),), (100, 50), (), results)


def result(name: str, *rmse_m: float | None, share: float | None = None) -> Result:
    every = [ErrorSummary(each, None, None, None, None, None, 9) for each in rmse_m]
    none = {'along_rmse_m': None, 'cross_rmse_m': None}
    scores = tuple(Score(**vars(each), all=each, published_share=share, **none) for each in every)
    return Result(name, f'the {name}', sees_positions=name == 'cheat', scores=scores)


def test_each_method_has_its_errors_or_why_it_failed(capsys):
    failed = Result('broken', 'the broken', sees_positions=False, failure='it is too short')
    of = comparison(
        result('cheat', 0.0, 0.125), result('good', 0.25, None),
        replace(result('shy', 0.5, 0.6, share=0.9), missing=7),
        result('sure', 0.7, 0.7, share=1.0), failed,
    )  # fmt: skip
    for each in shown_comparison(of):
        print_table(*each) if isinstance(each, Table) else print_wrapped(each)
    found = [' '.join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        'method published 0 (0 s) 50 (2.5 s)',
        'the cheat - 0.000 0.125',
        'the good - 0.250 -',
        'the shy 90.0 % 0.500 0.600',
        'the sure 100 % 0.700 0.700',
        'the broken - failed failed',
        'learned from 42.0 s of a bag and another, followed 12.2 s of a test',
        'every method is scored on the same 100, 50 predictions, published or not',
        'given true positions on the way: the cheat',
        'broken: the broken, failed: it is too short',
    ):
        assert line in found
    assert of.notes[0].startswith('the shy has no usable position at 7 of 100 ticks, for which')


@pytest.mark.parametrize(
    ('results', 'count', 'words'),
    [
        ({'default': 0.1, 'x': 0.3}, 99, ('good', 'the default (the default), RMSE 10 cm, ')),
        ({'x': 0.7, 'y': 1.0, 'default': 1.2}, 99, ('fair', '(the default) 1.2 m, number 3')),
        ({'x': 3.0, 'default': 4.0}, 99, ('no use', 'RMSE 3 m', 'Next: record at least five')),
        ({'x': 0.1}, 19, ('unknown', '19 predictions', 'Next: compare on a longer drive')),
        ({}, 99, ('unknown', 'No method works without positions', 'Next: add default')),
    ],
)
def test_the_best_method_is_judged_and_the_default_beside_it(results, count, words):
    track = 4.0 * np.stack([np.cos(np.arange(9.0)), np.sin(np.arange(9.0))], axis=1)
    of = comparison(result('cheat', 0.0), *(result(*each) for each in results.items()))
    found = of_comparison(replace(of, scored=(count,), tracks=(track,)), Namespace(bags=['bag']))
    assert said_by(found, *words)


COUNT = len(EXPERIMENTS)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Run in place of all experiments: note each, and find what ``value`` says of it."""
    found = SimpleNamespace(calls=[], value=lambda *_: 1.0)

    def load(experiment: Experiment) -> Callable[..., Any]:
        def run(progress: Any, *, quick: bool, seed: int, recordings: Any) -> Any:  # noqa: ANN401 - as experiments
            found.calls.append((experiment.name, quick, seed))
            found.recordings = recordings
            progress('working', 0.5)
            figure = SimpleNamespace(savefig=lambda file, **_: file.write(str(seed).encode()))
            value = found.value(experiment.name, quick, seed)
            limit = None if recordings else 0.5
            return [at_least(f'R2 of {experiment.name}', 'Fig. 7', value, limit)], figure

        run.on = True if experiment.name == 'slot-car' else None
        return run

    monkeypatch.setattr(Experiment, 'load', load)
    return found


@pytest.fixture
def reproduce(command: Command, tmp_path: Path) -> Command:
    return command.with_arguments('reproduce', '-o', tmp_path / 'a' / 'b')


def test_one_line_for_a_claim_and_a_picture(runs, tmp_path, reproduce):
    pytest.importorskip('rich')
    output = reproduce('video').out
    (line,) = [line for line in output.splitlines() if 'R2 of' in line]
    assert line.split() == ['R2', 'of', 'video,', 'at', 'least', '0.5', 'Fig.', '7', '1', 'pass']
    assert output.endswith(f'The picture is {tmp_path / "a" / "b" / "video.png"}.\n')
    assert runs.calls == [('video', False, 0)]


def test_all_go_on_after_a_failure_which_is_in_the_status(runs, tmp_path, reproduce):
    runs.value = lambda name, quick, _: 0.0 if name == 'rr-hmm' and not quick else 1.0
    content = json.loads(reproduce('all', '--json', status=1).out)['experiments']
    assert [each['name'] for each in content] == [each.name for each in EXPERIMENTS]
    (failed,) = [each for each in content if not each['passed']]
    claim = {'what': 'R2 of rr-hmm, at least 0.5', 'paper': 'Fig. 7', 'ours': '0'}
    assert failed['claims'] == [claim | {'passed': False, 'value': 0.0, 'limit': 0.5}]
    assert (failed['name'], failed['error']) == ('rr-hmm', None)
    assert all((tmp_path / 'a' / 'b' / each['picture']).exists() for each in content)
    reproduce('all', '--json', '--quick')
    assert [quick for _, quick, _ in runs.calls] == [False] * COUNT + [True] * COUNT


def test_of_recordings_there_is_no_verdict(runs, reproduce, slot_car_bag):
    (done,) = json.loads(reproduce('slot-car', slot_car_bag, '--json').out)['experiments']
    assert [each.name for each in runs.recordings] == [str(slot_car_bag)]
    assert done['passed'] is done['claims'][0]['passed'] is None
    reproduce.refused('slot-car', slot_car_bag, '--seed', '1')
    reproduce.refused('rr-hmm', slot_car_bag)
    assert len(runs.calls) == 1


@pytest.mark.parametrize('fault', [InputError('the track is too short'), ValueError('track')])
def test_what_breaks_off_takes_no_other_with_it(fault, runs, reproduce):
    def value(name: str, *_: object) -> float:
        if name == 'rr-hmm':
            raise fault
        return 1.0

    runs.value = value
    output = reproduce('all', '--quick', '--json', status=1)
    (broken,) = [e for e in json.loads(output.out)['experiments'] if not e['passed']]
    assert (broken['name'], broken['claims'], broken['picture']) == ('rr-hmm', [], None)
    assert broken['error'] == f'{type(fault).__name__}: {fault}'
    assert 'Traceback' in output.err
    assert len(runs.calls) == COUNT
    # Bad input to one alone is bad input.
    if isinstance(fault, InputError):
        assert reproduce.refused('rr-hmm') == str(fault)
