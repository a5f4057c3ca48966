# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables on standard output; progress on standard error, and only for what takes long."""

from queue import Queue

import pytest

from two_manifold_ros.cli import options as progress_module
from two_manifold_ros.cli.options import Progress

pytest.importorskip('rich')

from two_manifold_ros.cli.options import print_table


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


def test_nothing_shows_of_what_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress('reading') as progress:
        progress('training', 0.5)
    assert capsys.readouterr() == ('', '')


def test_a_file_gets_lines_that_become_rarer(
    waits: Waits, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress('reading') as progress:
        passed = [waits.pass_by(), waits.pass_by()]
        # Now the second line is out.
        assert waits._asked.get(timeout=10) == 10.0
        progress('training', 0.25)
        waits._answers.put(False)
        passed += [waits.pass_by() for _ in range(4)]
    assert passed == [2.0, 5.0, 20.0, 40.0, 60.0, 60.0]
    lines = ['reading: 0% after 2 s', 'reading: 0% after 7 s']
    lines += [f'training: 25% after {seconds} s' for seconds in (17, 37, 77, 137, 197)]
    assert capsys.readouterr() == ('', '\n'.join([*lines, '']))


@pytest.mark.parametrize(
    ('called', 'words'),
    [
        ((), ('reading', ' 0%', '0:00:0')),
        (('training', 0.5), ('training', '50%')),
    ],
)
def test_a_terminal_gets_a_bar_without_calls_and_it_follows_them(
    called: tuple[str, float],
    words: tuple[str, ...],
    waits: Waits,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    with Progress('reading') as progress:
        waits.pass_by()
        progress._thread.join()
        if called:
            progress(*called)
    output = capsys.readouterr()
    assert output.out == ''
    assert all(word in output.err for word in words)


def test_an_error_ends_it() -> None:
    def fail(progress: Progress) -> None:
        with progress:
            raise RuntimeError

    progress = Progress('reading')
    with pytest.raises(RuntimeError):
        fail(progress)
    assert not progress._thread.is_alive()
