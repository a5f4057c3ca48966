# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Claims and how they pass, and what an experiment is called with."""

from __future__ import annotations

import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, TYPE_CHECKING

import pytest

from two_manifold_ros.experiments.experiment import at_least, at_most, Experiment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ('ours', 'most', 'least'),
    [(0.9, True, False), (1.0, True, True), (1.1, False, True), (math.nan, False, False)],
)
def test_a_limit_is_inside_and_nan_never_is(ours: float, *, most: bool, least: bool) -> None:
    assert at_most('error', '.5', ours, 1.0).passed is most
    assert at_least('R2', '.5', ours, 1.0).passed is least


def test_a_claim_states_its_limit_and_verdict() -> None:
    claim = at_most('error (m)', '.5', 0.81234, 0.8)
    assert (claim.what, claim.ours) == ('error (m), at most 0.8', '0.812')
    assert (claim.value, claim.limit) == (0.81234, 0.8)
    assert claim.verdict == 'fail'
    assert at_most('error (m)', '.5', math.inf, 0.8).value is None
    assert at_least('R2', '.5', 1.0, 0.8).verdict == 'pass'


def test_only_one_that_takes_recordings_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def shown(_: object, **given: Any) -> Any:  # noqa: ANN401 - whatever comes
        calls.append(given)
        return [], SimpleNamespace(savefig=lambda path, **_: path.touch())

    module = ModuleType('two_manifold_ros.experiments.some')
    module.shown = shown
    monkeypatch.setitem(sys.modules, module.__name__, module)
    recording: Any = object()
    for takes in (False, True):
        experiment = Experiment('some-thing', '.', '.', 'some:shown', takes_recordings=takes)
        assert experiment.run(tmp_path, lambda *_: None, quick=takes, recordings=[recording]) == []
    assert calls == [{'quick': False}, {'quick': True, 'recordings': (recording,)}]
    assert (tmp_path / 'some-thing.png').exists()
