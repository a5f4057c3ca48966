# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error: on a terminal, in a log, and the time that is left."""

import re
from unittest.mock import Mock

import pytest

from two_manifold_ros import progress as progress_module
from two_manifold_ros.progress import Progress


@pytest.mark.parametrize('terminal', ['', 'dumb', 'xterm'])
def test_a_file_gets_ever_rarer_lines_and_a_terminal_one_that_goes(terminal, monkeypatch, capsys):
    with Progress('reading') as progress:
        progress('training', 0.5)
    # Nothing shows of what is quick.
    assert capsys.readouterr() == ('', '')
    now, passed = [0.0], []

    def wait(seconds) -> bool:
        passed.append(seconds)
        if len(passed) == 4:
            now[0] = 10.0
            progress('training', 0.25)
        return len(passed) == 7

    monkeypatch.setattr(progress_module, 'Event', lambda: Mock(wait=wait))
    monkeypatch.setattr(progress_module, 'monotonic', lambda: now[0])
    monkeypatch.setattr('sys.stderr.isatty', lambda: bool(terminal))
    monkeypatch.setenv('TERM', terminal)
    monkeypatch.setenv('COLUMNS', '30')
    progress = Progress('reading')
    with progress:
        pass
    *lines, last = re.split(r'[\r\n]', capsys.readouterr().err)
    first = 'reading: 0% after 0 s, time left unknown'
    second = 'training: 25% after 10 s, about 30 s left'
    if terminal == 'xterm':
        assert passed == [2.0, *[0.25] * 6]
        assert lines[1] == f'{first[:29]}\x1b[K'
        assert lines[-1] == f'{second[:29]}\x1b[K'
        assert last == '\x1b[K'
    else:
        assert passed == [2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
        assert (lines[0], lines[-1], last) == (first, second, '')


@pytest.mark.parametrize(
    ('done', 'called_s', 'passed_s', 'left'),
    [
        # Too little is done to know a rate.
        (0.0, 0.0, 10.0, 'time left unknown'),
        (0.04, 1.0, 1.0, 'time left unknown'),
        # A quarter took ten seconds, so that all takes forty.
        (0.25, 10.0, 10.0, 'about 30 s left'),
        (0.25, 10.0, 25.0, 'about 15 s left'),
        # The part takes longer than all that was left by the rate.
        (0.25, 10.0, 41.0, 'time left unknown'),
        # In words of as much precision.
        (0.5, 119.4, 119.4, 'about 119 s left'),
        (0.5, 119.6, 119.6, 'about 2 min left'),
        (0.5, 7190.0, 7190.0, 'about 2.0 h left'),
        (1.0, 40.0, 40.0, 'about 0 s left'),
    ],
)
def test_the_time_left_follows_the_measured_rate(done, called_s, passed_s, left, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_module, 'monotonic', lambda: now[0])
    progress = Progress('training')
    now[0] = called_s
    progress('training', done)
    line = progress.line(passed_s)
    assert re.fullmatch(rf'training: {done:.0%} after \S+ (s|min|h), {left}', line)
