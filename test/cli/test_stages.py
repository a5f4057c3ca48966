# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Progress lines of the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.demo import Stages

if TYPE_CHECKING:
    import pytest


def test_stages_are_numbered_and_timed(capsys: pytest.CaptureFixture[str]) -> None:
    stages = Stages(2)
    for title in ('first', 'second'):
        with stages.stage(title) as show:
            show(0.5)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == '[1/2] first'
    assert lines[2] == '[2/2] second'
    assert lines[1].endswith(' s')


def test_a_log_file_gets_lines_not_bars(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 6.0, 7.0])
    monkeypatch.setattr('time.monotonic', lambda: next(clock))
    with Stages(1).stage('slow') as show:
        show(0.25)
    assert capsys.readouterr().out.splitlines() == ['[1/1] slow', '      25%', '      7.0 s']
