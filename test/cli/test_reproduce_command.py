# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold reproduce`, with stand-ins for the experiments."""

from dataclasses import replace
import json
from pathlib import Path
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from command_runs import Command
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import at_least, Claim, EXPERIMENTS

Calls = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Replace the experiments; in full ones ``rr-hmm`` fails. Return a list of runs to come."""
    runs: Calls = []
    modules: dict[str, ModuleType] = {}
    for experiment in EXPERIMENTS:
        name, _, function = experiment.function.partition(':')
        name = f'two_manifold_ros.experiments.{name}'
        module = modules.setdefault(name, ModuleType(name))
        setattr(module, function, _stand_in(experiment.name, runs))
        monkeypatch.setitem(sys.modules, name, module)
    return runs


def _stand_in(name: str, runs: Calls) -> Any:  # noqa: ANN401
    def run(progress: Any, **given: Any) -> tuple[list[Claim], Any]:  # noqa: ANN401
        runs.append((name, given))
        progress('working', 0.5)
        bad = name == 'rr-hmm' and not given['quick']
        figure = SimpleNamespace(savefig=lambda file, **_: file.write(b'.'))
        return [at_least(f'R2 of {name}', 'Fig. 7', 0.0 if bad else 1.0, 0.5)], figure

    return run


@pytest.fixture
def reproduce(command: Command, tmp_path: Path) -> Command:
    """Return the command that writes into a folder."""
    return command.with_arguments('reproduce', '-o', tmp_path)


def test_one_line_for_a_claim_and_a_picture(calls, tmp_path, reproduce):
    pytest.importorskip('rich')
    output = reproduce('video', '-o', tmp_path / 'a' / 'b').out
    (line,) = [line for line in output.splitlines() if 'R2 of' in line]
    assert line.split() == ['R2', 'of', 'video,', 'at', 'least', '0.5', 'Fig.', '7', '1', 'pass']
    picture = tmp_path / 'a' / 'b' / 'video.png'
    assert picture.exists()
    assert output.endswith(f'The picture is {picture}.\n')
    assert calls == [('video', {'quick': False, 'seed': 0})]


def test_all_go_on_after_a_failure_which_is_in_the_status(calls, tmp_path, reproduce):
    content = json.loads(reproduce('all', '--json', status=1).out)['experiments']
    assert [each['name'] for each in content] == [each.name for each in EXPERIMENTS]
    (failed,) = [each for each in content if not each['passed']]
    assert failed['name'] == 'rr-hmm'
    assert failed['claims'] == [
        {
            'what': 'R2 of rr-hmm, at least 0.5',
            'paper': 'Fig. 7',
            'ours': '0',
            'passed': False,
            'value': 0.0,
            'limit': 0.5,
        }
    ]
    assert failed['error'] is None
    assert all(0.0 <= each['seconds'] < 60.0 for each in content)
    assert all((tmp_path / each['picture']).exists() for each in content)
    reproduce('all', '--json', '--quick')
    count = len(EXPERIMENTS)
    assert [given['quick'] for _, given in calls] == [False] * count + [True] * count


@pytest.fixture(params=[InputError('the track is too short'), ValueError('track')], ids=str)
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Exception:
    """Let the stand-in for ``rr-hmm`` break off; `calls` comes first and puts it there."""

    def run(*_: object, **__: object) -> list[Claim]:
        raise request.param

    monkeypatch.setattr(sys.modules['two_manifold_ros.experiments.rr_hmm'], 'run', run)
    return request.param


def test_what_breaks_off_takes_no_other_with_it(calls, fault, reproduce):
    output = reproduce('all', '--quick', '--json', status=1)
    content = json.loads(output.out)['experiments']
    (broken,) = [each for each in content if not each['passed']]
    assert (broken['name'], broken['claims'], broken['picture']) == ('rr-hmm', [], None)
    assert broken['error'] == f'{type(fault).__name__}: {fault}'
    assert 'Traceback' in output.err
    assert len(calls) == len(EXPERIMENTS) - 1
    words = ' '.join(reproduce('all', '--quick', status=1).out.split())
    assert words.count('rr-hmm broke off 0 fail') == 1
    # Bad input to one alone is bad input.
    if isinstance(fault, InputError):
        calls.clear()
        assert reproduce.refused('rr-hmm') == str(fault)
        assert calls == []


@pytest.fixture
def by_set(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> set[int]:
    """Let the value of ``video`` be the set, and return the sets on which its claim fails."""
    fails: set[int] = set()

    def run(_: Any, *, seed: int, **__: Any) -> tuple[list[Claim], Any]:  # noqa: ANN401
        if seed == 99:
            raise ValueError(seed)
        what = f'R2 of set {seed}' if seed == 50 else 'R2'
        limit = seed + 1.0 if seed in fails else seed
        claim = replace(at_least('R2', 'Fig. 7', float(seed), limit), what=what)
        figure = SimpleNamespace(savefig=lambda file, **_: file.write(str(seed).encode()))
        return [claim], figure

    calls.clear()  # of the stand-in that this one takes the place of
    monkeypatch.setattr(sys.modules['two_manifold_ros.experiments.video'], 'run', run)
    return fails


@pytest.mark.parametrize(('failing', 'status'), [((), 0), ((7,), 0), ((4, 7), 1)])
def test_a_claim_has_to_pass_on_nine_of_ten_sets(failing, status, by_set, tmp_path, reproduce):
    by_set.update(failing)
    content = json.loads(reproduce('video', '--sets', '10', '--json', status=status).out)
    (entry,) = content['experiments']
    (claim,) = entry['claims']
    assert (claim['passes'], claim['sets']) == (10 - len(failing), 10)
    assert (claim['mean'], claim['spread']) == pytest.approx((4.5, 3.0277), abs=1e-4)
    assert claim['passed'] is entry['passed'] is (status == 0)
    assert (entry['first'], entry['sets'], entry['errors']) == (0, 10, {})
    # The picture is of the first set, as without the option.
    assert (tmp_path / 'video.png').read_text() == '0'
    output = reproduce('video', '--sets', '10', status=status).out
    assert f'{10 - len(failing)} of 10' in output


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ('', 'name an experiment; see two-manifold reproduce --list'),
        ('hamster', 'there is no experiment hamster'),
        ('video --sets 0', 'less than one'),
        ('video --seed -1', 'counts sets of draws from 0 on'),
        ('video -o {bag}/metadata.yaml', 'metadata.yaml: the system refuses it (File exists)'),
    ],
)
def test_bad_arguments(arguments, words, calls, slot_car_bag, reproduce):
    assert words in reproduce.refused(*arguments.format(bag=slot_car_bag).split())
    assert calls == []
