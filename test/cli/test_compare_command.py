# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold compare`."""

from collections.abc import Callable
import json
from pathlib import Path
import subprocess
import sys
from typing import Any

import pytest

from two_manifold_ros.cli.main import main
from two_manifold_ros.comparison import comparing
from two_manifold_ros.comparison.comparing import compare, Failure
from two_manifold_ros.comparison.own_filters import methods_named, NAMES
from two_manifold_ros.comparison.protocol import plan_share
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.training.settings import TrainingSettings

RUN = 'import sys; from two_manifold_ros.cli.main import main; sys.exit(main())'
QUICK = ('--methods', 'mean,previous', '--window', '20', '--horizons', '0,5,20', '--jobs', '1')
SIMPLE = ('--methods', 'mean,previous', '--jobs', '1')


@pytest.fixture(scope='session')
def ellipse_bags(
    tmp_path_factory: pytest.TempPathFactory,
    write_bag: Callable[..., Path],
    drive: Callable[..., Any],
) -> list[str]:
    """Return bags of 48 s, 40 s and 32 s."""
    folder = tmp_path_factory.mktemp('ellipses')
    return [
        str(write_bag(folder / f'bag_{index}', drive(48.0 - 8.0 * index))) for index in range(3)
    ]


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(['compare', *arguments, '--json']) == 0
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    return content


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(['compare', *arguments]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    line: str = captured.err.splitlines()[-1]
    assert line.startswith('two-manifold: error: ')
    return line


def test_the_json_is_what_the_library_says(
    ellipse_bags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    content = compared(capsys, ellipse_bags[0], *QUICK, '--share', '0.25')
    settings = TrainingSettings(window=20, horizons=(0, 5, 20))
    plan = plan_share(read_recording(ellipse_bags[0]), settings, 0.25)
    assert content == compare(plan, methods_named(['mean', 'previous'])).to_json()
    assert content['followed'][0]['seconds'] == pytest.approx(12.0, abs=0.1)


def test_of_several_bags_the_last_is_followed(
    ellipse_bags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    content = compared(capsys, *ellipse_bags, *QUICK)
    assert content['protocol'] == 'bags'
    assert [each['recording'] for each in content['learned']] == ellipse_bags[:2]
    assert [each['recording'] for each in content['followed']] == ellipse_bags[2:]


def test_the_bags_to_follow_can_be_named(
    ellipse_bags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    content = compared(capsys, ellipse_bags[1], *QUICK, '--test', ellipse_bags[2], ellipse_bags[0])
    assert [each['recording'] for each in content['learned']] == [ellipse_bags[1]]
    assert [each['recording'] for each in content['followed']] == [
        ellipse_bags[2],
        ellipse_bags[0],
    ]


def test_rate_window_and_horizons(
    ellipse_bags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    content = compared(
        capsys, ellipse_bags[0], *SIMPLE, '--rate', '12.5', '--window', '30', '--horizons', '0,7'
    )
    assert (content['rate_hz'], content['window'], content['horizons']) == (12.5, 30, [0, 7])
    content = compared(capsys, ellipse_bags[0], *SIMPLE)
    assert (content['rate_hz'], content['window']) == (20.0, 60)
    assert content['horizons'] == [0, 10, 50, 100]


def test_the_slot_car_of_the_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = tmp_path / 'slot_car'
    write_run(simulate(SlotCarSettings(seed=3, rate_hz=10.0), samples=3050), bag)
    content = compared(capsys, str(bag), *SIMPLE, '--protocol', 'slot-car')
    assert content['protocol'] == 'slot-car'
    assert content['scored'] == [251] * 101
    assert [len(method['scores']) for method in content['methods']] == [101, 101]


def test_the_folder_is_the_same_with_one_or_two_methods_at_a_time(
    ellipse_bags: list[str], tmp_path: Path
) -> None:
    pytest.importorskip('matplotlib')
    printed = set()
    for jobs in '12':
        folder = str(tmp_path / jobs)
        command = [sys.executable, '-c', RUN, 'compare', ellipse_bags[0], *QUICK, '-o', folder]
        command += ['--jobs', jobs]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert 'Traceback' not in done.stderr
        printed.add(done.stdout)
    names = ['comparison.json', 'errors.png', 'table.txt', 'tracks.png']
    assert sorted(path.name for path in (tmp_path / '1').iterdir()) == names
    for name in names:
        assert (tmp_path / '1' / name).read_bytes() == (tmp_path / '2' / name).read_bytes(), name
    assert printed == {(tmp_path / '1' / 'table.txt').read_text()}
    json.loads((tmp_path / '1' / 'comparison.json').read_text())


def test_help_names_the_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['compare', '--help']) == 0
    text = ' '.join(capsys.readouterr().out.split())
    assert 'last 30 % are followed' in text
    assert ', '.join(NAMES) in text


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ('--methods mean,magic', 'there is no method magic'),
        ('--jobs 0', '--jobs 0 must be at least 1'),
        ('--share 1.5', 'between 0 and 1'),
        ('--share 0.02', 'the part to follow has no stretch longer than a window'),
        ('--horizons 5,10', 'must start with 0'),
        ('--horizons now', 'must be whole numbers of ticks'),
        ('--protocol slot-car --share 0.2 --rate 5', 'leave out --share, --rate'),
        ('--protocol slot-car', 'needs 300 s'),
        ('--protocol hamster', 'invalid choice'),
        ('--test no_such_bag', 'no_such_bag does not exist'),
        ('--position-topic /imu', '--position-topic'),
    ],
)
def test_bad_options(
    options: str, words: str, ellipse_bags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, ellipse_bags[0], *SIMPLE, *options.split())


def test_options_that_exclude_each_other(
    ellipse_bags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert '--share cuts a single bag' in refused(
        capsys, *ellipse_bags[:2], *SIMPLE, '--share', '0.5'
    )
    assert 'leave out more than one bag' in refused(
        capsys, *ellipse_bags[:2], *SIMPLE, '--protocol', 'slot-car'
    )
    assert 'learned from and followed' in refused(
        capsys, ellipse_bags[0], *SIMPLE, '--test', ellipse_bags[0]
    )


def test_a_file_where_the_folder_should_be_is_refused_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip('matplotlib')
    file = tmp_path / 'file'
    file.write_text('kept')
    assert f'{file}: no file' in refused(capsys, 'no_such_bag', *SIMPLE, '-o', str(file))
    assert file.read_text() == 'kept'


@pytest.mark.parametrize('folder', ['/proc/self', '/proc/self/new', 'FILE/new'])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_done(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In that of a process not even root can write."""
    pytest.importorskip('matplotlib')
    file = tmp_path / 'file'
    file.touch()
    output = folder.replace('FILE', str(file))
    line = refused(capsys, 'no_such_bag', *SIMPLE, '-o', output)
    assert line.startswith(f'two-manifold: error: {output}: no file can be written there (')
    assert line.endswith('); choose another folder')


def test_no_method_that_works_is_an_error(
    ellipse_bags: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip('matplotlib')

    def failing(*_: object) -> Failure:
        return Failure('it is too short.')

    monkeypatch.setattr(comparing, 'try_method', failing)
    line = refused(capsys, ellipse_bags[0], *QUICK, '-o', str(tmp_path / 'folder'))
    assert line.endswith(
        'no method worked, so there is nothing to compare (mean, previous: it is too short)'
    )
    assert not list((tmp_path / 'folder').iterdir())


def test_late_positions_are_reported_of_and_corrected(
    write_bag: Callable[..., Path],
    drive: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bag = write_bag(tmp_path / 'late', drive(60.0, late_s=0.5))
    assert main(['compare', str(bag), *QUICK]) == 0
    said = capsys.readouterr()
    assert 'two-manifold: warning: ' in said.err
    assert '--position-lag' in said.err
    assert main(['compare', str(bag), *QUICK, '--position-lag', '0.5']) == 0
    corrected = capsys.readouterr()
    assert 'two-manifold: note: ' in corrected.err
    assert corrected.out != said.out
