# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold reproduce`, with stand-ins for the experiments."""

from collections.abc import Callable
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from command_runs import Command
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import at_least, Experiment, EXPERIMENTS

COUNT = len(EXPERIMENTS)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Run in place of all experiments: note each, and find what ``value`` says of it."""
    found = SimpleNamespace(calls=[], value=lambda *_: 1.0)

    def load(experiment: Experiment) -> Callable[..., Any]:
        def run(progress: Any, *, quick: bool, seed: int) -> Any:  # noqa: ANN401 - as experiments
            found.calls.append((experiment.name, quick, seed))
            progress('working', 0.5)
            figure = SimpleNamespace(savefig=lambda file, **_: file.write(str(seed).encode()))
            value = found.value(experiment.name, quick, seed)
            return [at_least(f'R2 of {experiment.name}', 'Fig. 7', value, 0.5)], figure

        return run

    monkeypatch.setattr(Experiment, 'load', load)
    return found


@pytest.fixture
def reproduce(command: Command, tmp_path: Path) -> Command:
    """Return the command that writes into a folder."""
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
