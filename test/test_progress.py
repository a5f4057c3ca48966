# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error: on a terminal, in a log, and the time that is left."""

from queue import Queue

import pytest

from two_manifold_ros import progress as progress_module
from two_manifold_ros.progress import in_words, Progress, time_left


class Waits:
    """Stands in for the event on which progress waits; time passes when the test says so."""

    def __init__(self) -> None:
        self._asked: Queue[float] = Queue()
        self._answers: Queue[bool] = Queue()

    def wait(self, seconds: float) -> bool:
        self._asked.put(seconds)
        return self._answers.get(timeout=10)

    def set(self) -> None:
        self._answers.put(True)

    def pass_by(self) -> float:
        """Let what is waited for pass, and return how many seconds that is."""
        seconds = self._asked.get(timeout=10)
        self._answers.put(False)
        return seconds


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """Return the waiting of the next progress."""
    waits = Waits()
    monkeypatch.setattr(progress_module, 'Event', lambda: waits)
    return waits


def test_nothing_shows_of_what_is_quick(capsys):
    with Progress('reading') as progress:
        progress('training', 0.5)
    assert capsys.readouterr() == ('', '')


def test_a_file_gets_lines_that_become_rarer(waits, capsys):
    with Progress('reading') as progress:
        passed = [waits.pass_by(), waits.pass_by()]
        # Now the second line is out.
        assert waits._asked.get(timeout=10) == 10.0
        progress('training', 0.25)
        waits._answers.put(False)
        passed += [waits.pass_by() for _ in range(4)]
    assert passed == [2.0, 5.0, 20.0, 40.0, 60.0, 60.0]
    unknown = 'time left unknown'
    lines = [f'reading: 0% after {seconds} s, {unknown}' for seconds in (2, 7)]
    # The call came at once by the real clock, so that no rate explains what passed since.
    passed = '17 s', '37 s', '77 s', '2 min', '3 min'
    lines += [f'training: 25% after {each}, {unknown}' for each in passed]
    assert capsys.readouterr() == ('', '\n'.join([*lines, '']))


@pytest.mark.parametrize('width', [20, 80])
def test_a_terminal_gets_one_line_that_is_drawn_again_and_goes(width, waits, monkeypatch, capsys):
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('COLUMNS', str(width))
    with Progress('reading') as progress:
        assert [waits.pass_by() for _ in range(2)] == [2.0, 0.25]
        progress('training', 0.5)
        waits.pass_by()
    output = capsys.readouterr()
    assert output.out == ''
    first, *_, last, empty = output.err.removeprefix('\r').replace('\x1b[K', '').split('\r')
    assert first == 'reading: 0% after 2 s, time left unknown'[: width - 1]
    assert last.startswith('training: 50% after')
    assert len(last) < width
    assert '\n' not in output.err
    assert empty == ''


def test_a_dumb_terminal_gets_lines(waits, monkeypatch, capsys):
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    monkeypatch.setenv('TERM', 'dumb')
    with Progress('reading'):
        waits.pass_by()
        waits.pass_by()
    assert capsys.readouterr().err.splitlines()[0] == 'reading: 0% after 2 s, time left unknown'


@pytest.mark.parametrize(
    ('done', 'called_s', 'passed_s', 'left_s'),
    [
        # Too little is done to know a rate.
        (0.0, 0.0, 10.0, None),
        (0.04, 1.0, 1.0, None),
        # A quarter took ten seconds, so that all takes forty.
        (0.25, 10.0, 10.0, 30.0),
        (0.25, 10.0, 25.0, 15.0),
        # The part takes longer than all that was left by the rate.
        (0.25, 10.0, 41.0, None),
        (1.0, 40.0, 40.0, 0.0),
    ],
)
def test_the_time_left_follows_the_measured_rate(done, called_s, passed_s, left_s):
    assert time_left(done, called_s, passed_s) == left_s


def test_the_time_left_is_that_of_the_rate_until_now(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_module, 'monotonic', lambda: now[0])
    with Progress('training') as progress:
        now[0] = 10.0
        progress('training', 0.25)
        assert progress.times(20.0) == '20 s, about 20 s left'


@pytest.mark.parametrize(
    ('seconds', 'words'), [(0.4, '0 s'), (119.4, '119 s'), (119.6, '2 min'), (7190.0, '2.0 h')]
)
def test_durations_in_words(seconds, words):
    assert in_words(seconds) == words
