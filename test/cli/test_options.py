# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Folders for results, tables on standard output, and progress on standard error."""

from pathlib import Path
from queue import Queue

import pytest

from two_manifold_ros.cli import options as progress_module
from two_manifold_ros.cli.options import make_folder, print_table, Progress
from two_manifold_ros.errors import InputError


def test_a_folder_with_results_is_kept(tmp_path):
    folder = make_folder(tmp_path / 'a' / 'b')
    (folder / 'old').touch()
    assert make_folder(str(folder)) == folder
    assert [each.name for each in folder.iterdir()] == ['old']


def test_only_a_folder_with_the_marker_is_made_again(tmp_path):
    folder = make_folder(tmp_path / 'marked', '.mark')
    (folder / 'old').touch()
    make_folder(folder, '.mark')
    assert [each.name for each in folder.iterdir()] == ['.mark']
    (tmp_path / 'thesis.tex').touch()
    with pytest.raises(InputError, match='was not made here'):
        make_folder(tmp_path, '.mark')
    assert (tmp_path / 'thesis.tex').exists()


@pytest.mark.parametrize('marker', [None, '.mark'])
@pytest.mark.parametrize('name', ['file', 'file/new'])
def test_a_file_in_its_place_is_refused_and_kept(name, marker, tmp_path):
    (tmp_path / 'file').write_text('kept')
    with pytest.raises(InputError, match=str(tmp_path / name)):
        make_folder(tmp_path / name, marker)
    assert Path(tmp_path / 'file').read_text() == 'kept'


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


def test_numbers_are_aligned_to_the_right_and_words_to_the_left(capsys):
    print_table(
        'errors [m]', ['horizon', 'rmse', 'note'], [['0', '0.25', 'a'], ['10', '1.5', 'b']]
    )
    output = capsys.readouterr().out
    assert 'errors [m]' in output
    assert '        0  0.25  a ' in output
    assert '       10   1.5  b ' in output


def test_no_number_is_cut_on_a_narrow_terminal(capsys, monkeypatch):
    narrow = progress_module.Console(width=12)
    monkeypatch.setattr(progress_module, 'console', lambda: narrow)
    print_table('', ['n', 'words'], [['123456.789', 'some words']])
    output = capsys.readouterr().out
    assert '123456.789' in output
    assert {'some', 'words'} <= set(output.split())


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
    called, words, waits, monkeypatch, capsys
):
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    with Progress('reading') as progress:
        waits.pass_by()
        progress._thread.join()
        if called:
            progress(*called)
    output = capsys.readouterr()
    assert output.out == ''
    assert all(word in output.err for word in words)


def test_an_error_ends_it():
    def fail(progress: Progress) -> None:
        with progress:
            raise RuntimeError

    progress = Progress('reading')
    with pytest.raises(RuntimeError):
        fail(progress)
    assert not progress._thread.is_alive()
