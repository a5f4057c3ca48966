# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Experiments are found by name, and nothing is imported before it is needed."""

from __future__ import annotations

from importlib.util import find_spec
import subprocess
import sys
from types import ModuleType
from typing import Any, TYPE_CHECKING

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import Experiment
from two_manifold_ros.experiments.registry import ALL, EXPERIMENTS, experiments_named

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim


@pytest.mark.parametrize('experiment', EXPERIMENTS)
def test_every_experiment_has_a_module_and_a_sentence(experiment: Experiment) -> None:
    module = f'two_manifold_ros.experiments.{experiment.name.replace("-", "_")}'
    assert find_spec(module) is not None
    assert experiment.shows.endswith('.')
    assert len(experiment.shows) < 90


def test_by_name_and_all() -> None:
    assert experiments_named(ALL) == EXPERIMENTS
    assert [each.name for each in experiments_named('video')] == ['video']
    with pytest.raises(
        InputError, match=f'no experiment vidoe; choose from {EXPERIMENTS[0].name}, '
    ):
        experiments_named('vidoe')


def test_listing_imports_no_experiment() -> None:
    code = (
        'import sys; from two_manifold_ros.cli.main import main; '
        'main(["reproduce", "--list"]); print(*sys.modules)'
    )
    output = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    ).stdout
    assert all(each.name in output and each.shows in output for each in EXPERIMENTS)
    assert 'two_manifold_ros.experiments.registry' in output.split()
    assert 'numpy' not in output.split()


def test_only_one_that_takes_recordings_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def run(*_: object, **given: Any) -> list[Claim]:  # noqa: ANN401 - whatever comes
        calls.append(given)
        return []

    module = ModuleType('two_manifold_ros.experiments.some_thing')
    module.run = run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    recording: Any = object()
    for takes in (False, True):
        experiment = Experiment('some-thing', '.', '.', takes_recordings=takes)
        assert experiment.run(tmp_path, lambda *_: None, quick=takes, recordings=[recording]) == []
    assert calls == [{'quick': False}, {'quick': True, 'recordings': (recording,)}]
