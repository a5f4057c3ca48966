# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables on standard output; progress on standard error, and only for what takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.cli import progress as progress_module
from two_manifold_ros.cli.progress import Progress, track

pytest.importorskip('rich')

from two_manifold_ros.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets the time that progress sees."""
    now = [100.0]
    monkeypatch.setattr(progress_module.time, 'monotonic', lambda: now[0])
    return lambda seconds: now.__setitem__(0, 100.0 + seconds)


def test_numbers_are_aligned_to_the_right_and_words_to_the_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(
        'errors [m]', ['horizon', 'rmse', 'note'], [['0', '0.25', 'a'], ['10', '1.5', 'b']]
    )
    output = capsys.readouterr().out
    assert 'errors [m]' in output
    assert '        0   0.25   a ' in output
    assert '       10    1.5   b ' in output


def test_nothing_shows_within_two_seconds(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as progress:
        for step in range(10):
            clock(step * 0.199)
            progress('training', step / 10)
    assert capsys.readouterr() == ('', '')


def test_a_file_gets_a_line_every_few_seconds(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as progress:
        for second in range(14):
            clock(float(second))
            progress('training', second / 20)
    assert capsys.readouterr() == ('', 'training: 10%\ntraining: 35%\ntraining: 60%\n')


def test_a_terminal_gets_a_bar(
    clock: Callable[[float], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    with Progress() as progress:
        clock(3.0)
        progress('reading', 0.25)
        progress('training', 0.5)
    output = capsys.readouterr()
    assert output.out == ''
    assert 'training' in output.err
    assert '50%' in output.err


def test_items_are_tracked(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []
    for item in track(['a', 'b', 'c', 'd'], 'reading'):
        seen.append(item)
        clock(3.0 * len(seen))
    assert seen == ['a', 'b', 'c', 'd']
    assert capsys.readouterr().err == 'reading: 25%\nreading: 75%\n'
