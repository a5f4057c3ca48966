# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold reproduce`, with stand-ins for the experiments."""

import json
from pathlib import Path
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.cli.main import main
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import at_least, Claim, EXPERIMENTS


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Replace the experiments; in full ones ``rr-hmm`` fails. Return a list of runs to come."""
    runs: list[tuple[str, dict[str, Any]]] = []
    modules: dict[str, ModuleType] = {}
    for experiment in EXPERIMENTS:
        name, _, function = experiment.function.partition(':')
        name = f'two_manifold_ros.experiments.{name}'
        module = modules.setdefault(name, ModuleType(name))
        setattr(module, function, _stand_in(experiment.name, runs))
        monkeypatch.setitem(sys.modules, name, module)
    return runs


def _stand_in(name: str, runs: list[tuple[str, dict[str, Any]]]) -> Any:  # noqa: ANN401
    def run(progress: Any, **given: Any) -> tuple[list[Claim], Any]:  # noqa: ANN401
        runs.append((name, given))
        progress('working', 0.5)
        bad = name == 'rr-hmm' and not given['quick']
        figure = SimpleNamespace(savefig=lambda path, **_: path.touch())
        return [at_least(f'R2 of {name}', 'Fig. 7', 0.0 if bad else 1.0, 0.5)], figure

    return run


def test_one_line_for_a_claim_and_a_picture(
    calls: list[tuple[str, dict[str, Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip('rich')
    assert main(['reproduce', 'video', '-o', str(tmp_path / 'a' / 'b')]) == 0
    output = capsys.readouterr().out
    (line,) = [line for line in output.splitlines() if 'R2 of' in line]
    assert line.split() == ['R2', 'of', 'video,', 'at', 'least', '0.5', 'Fig.', '7', '1', 'pass']
    picture = tmp_path / 'a' / 'b' / 'video.png'
    assert picture.exists()
    assert output.endswith(f'The picture is {picture}.\n')
    assert calls == [('video', {'quick': False})]


def test_all_go_on_after_a_failure_which_is_in_the_status(
    calls: list[tuple[str, dict[str, Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ['reproduce', 'all', '-o', str(tmp_path), '--json']
    assert main(arguments) == 1
    content = json.loads(capsys.readouterr().out)['experiments']
    assert [each['name'] for each in content] == [each.name for each in EXPERIMENTS]
    assert [each['name'] for each in content if not each['passed']] == ['rr-hmm']
    (failed,) = [each for each in content if each['name'] == 'rr-hmm']
    assert failed['claims'] == [
        {
            'what': 'R2 of rr-hmm, at least 0.5',
            'paper': 'Fig. 7',
            'ours': '0',
            'passed': False,
            'value': 0.0,
            'limit': 0.5,
            'varies': False,
        }
    ]
    assert failed['error'] is None
    assert all(0.0 <= each['seconds'] < 60.0 for each in content)
    assert all((tmp_path / each['picture']).exists() for each in content)
    assert main([*arguments, '--quick']) == 0
    count = len(EXPERIMENTS)
    assert [given['quick'] for _, given in calls] == [False] * count + [True] * count


@pytest.mark.parametrize('quick', [False, True])
def test_a_table_of_all_at_the_end(
    calls: list[tuple[str, dict[str, Any]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    quick: bool,
) -> None:
    pytest.importorskip('rich')
    arguments = ['reproduce', 'all', '-o', str(tmp_path), *(['--quick'] if quick else [])]
    assert main(arguments) == (0 if quick else 1)
    output = capsys.readouterr().out
    assert output.endswith(f'The pictures are in {tmp_path}.\n')
    lines = [line.split() for line in output.splitlines() if 'of 1' in line]
    assert [line[0] for line in lines] == [name for name, _ in calls]
    (line,) = [line for line in lines if line[0] == 'rr-hmm']
    passing = ['1', 'of', '1', '0', 'rr-hmm.png', 'pass']
    assert line[1:] == (passing if quick else ['0', *passing[1:-1], 'fail'])


@pytest.mark.parametrize('fault', [InputError('the track is too short'), ValueError('track')])
def test_what_breaks_off_takes_no_other_with_it(
    fault: Exception,
    calls: list[tuple[str, dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*_: object, **__: object) -> list[Claim]:
        raise fault

    monkeypatch.setattr(sys.modules['two_manifold_ros.experiments.rr_hmm'], 'run', run)
    arguments = ['-o', str(tmp_path), '--quick', '--json']
    assert main(['reproduce', 'all', *arguments]) == 1
    output = capsys.readouterr()
    content = json.loads(output.out)['experiments']
    (broken,) = [each for each in content if not each['passed']]
    assert (broken['name'], broken['claims'], broken['picture']) == ('rr-hmm', [], None)
    assert broken['error'] == f'{type(fault).__name__}: {fault}'
    assert 'Traceback' in output.err
    assert len(calls) == len(EXPERIMENTS) - 1
    main(['reproduce', 'all', *arguments[:-1]])
    words = capsys.readouterr().out.split()
    assert ' '.join(words).count('rr-hmm broke off 0 fail') == 1


def test_bad_input_to_one_alone_is_bad_input(
    calls: list[tuple[str, dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*_: object, **__: object) -> list[Claim]:
        msg = 'the track is too short'
        raise InputError(msg)

    monkeypatch.setattr(sys.modules['two_manifold_ros.experiments.rr_hmm'], 'run', run)
    assert main(['reproduce', 'rr-hmm', '-o', str(tmp_path)]) == 2
    assert capsys.readouterr().err == 'two-manifold: error: the track is too short\n'
    assert calls == []


def test_recordings_reach_the_experiment_that_takes_them(
    calls: list[tuple[str, dict[str, Any]]], slot_car_bag: Path, tmp_path: Path
) -> None:
    main(['reproduce', 'all', str(slot_car_bag), '--imu-topic', '/imu', '-o', str(tmp_path)])
    ((recording,),) = [given['recordings'] for _, given in calls if 'recordings' in given]
    assert recording.name == str(slot_car_bag)
    assert recording.imu.topic == '/imu'
    assert recording.positions is None


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['reproduce', '--list', '--json']) == 0
    content = json.loads(capsys.readouterr().out)['experiments']
    assert content == [
        {'name': each.name, 'shows': each.shows, 'paper': each.paper} for each in EXPERIMENTS
    ]


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ([], 'name an experiment; see two-manifold reproduce --list'),
        (['hamster'], 'there is no experiment hamster'),
        (['video', 'some_bag'], 'video takes no recordings; leave out some_bag'),
        (['slot-car-online', '--imu-topic', '/imu'], 'none is given'),
        (['slot-car-online', 'no_such_bag'], 'no_such_bag does not exist'),
        (['slot-car-online', '{bag}', '--imu-topic', '/none'], '/none'),
        (['video', '-o', '{file}'], 'choose another folder'),
    ],
)
def test_bad_arguments(
    arguments: list[str],
    words: str,
    calls: list[tuple[str, dict[str, Any]]],
    slot_car_bag: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / 'file'
    file.touch()
    places = {'bag': slot_car_bag, 'file': file}
    output = [] if '-o' in arguments else ['-o', str(tmp_path)]
    assert main(['reproduce', *(each.format(**places) for each in arguments), *output]) == 2
    assert words in capsys.readouterr().err
    assert calls == []


def test_a_missing_package_shows_before_anything_runs(
    calls: list[tuple[str, dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = 'two_manifold_ros.experiments.video'

    class Finder:
        """Stands in for an import inside of a module that fails."""

        def find_spec(self, name: str, *_: object) -> None:
            if name == module:
                raise ModuleNotFoundError(name='matplotlib')

    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, 'meta_path', [Finder(), *sys.meta_path])
    assert main(['reproduce', 'all', '-o', str(tmp_path)]) == 2
    assert "needs the Python package 'matplotlib'" in capsys.readouterr().err
    assert calls == []
