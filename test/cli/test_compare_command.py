# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold compare`."""

from collections.abc import Callable
import json
from pathlib import Path
import subprocess
import sys
from typing import Any

from command_runs import Command, RUN
import pytest

from two_manifold_ros.comparison import comparing
from two_manifold_ros.comparison.comparing import compare, Failure
from two_manifold_ros.comparison.own_filters import methods_named, NAMES
from two_manifold_ros.comparison.protocol import plan_share
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.training.settings import TrainingSettings

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


def test_the_json_is_what_the_library_says(ellipse_bags: list[str], command: Command) -> None:
    content = command.json('compare', ellipse_bags[0], *QUICK, '--share', '0.25')
    settings = TrainingSettings(window=20, horizons=(0, 5, 20))
    plan = plan_share(read_recording(ellipse_bags[0]), settings, 0.25)
    assert content == compare(plan, methods_named(['mean', 'previous'])).to_json()
    assert content['followed'][0]['seconds'] == pytest.approx(12.0, abs=0.1)


def test_the_last_bag_or_those_named_are_followed(
    ellipse_bags: list[str], command: Command
) -> None:
    first, second, third = ellipse_bags
    for bags, learned, followed in (
        (ellipse_bags, [first, second], [third]),
        ([second, '--test', third, first], [second], [third, first]),
    ):
        content = command.json('compare', *QUICK, *bags)
        assert content['protocol'] == 'bags'
        assert [each['recording'] for each in content['learned']] == learned
        assert [each['recording'] for each in content['followed']] == followed


def test_rate_window_and_horizons(ellipse_bags: list[str], command: Command) -> None:
    for options, wanted in (
        ('--rate 12.5 --window 30 --horizons 0,7', (12.5, 30, [0, 7])),
        ('', (20.0, 60, [0, 10, 50, 100])),
    ):
        content = command.json('compare', ellipse_bags[0], *SIMPLE, *options.split())
        assert (content['rate_hz'], content['window'], content['horizons']) == wanted


def test_the_slot_car_of_the_paper(tmp_path: Path, command: Command) -> None:
    bag = tmp_path / 'slot_car'
    write_run(simulate(SlotCarSettings(seed=3, rate_hz=10.0), samples=3050), bag)
    content = command.json('compare', bag, *SIMPLE, '--protocol', 'slot-car')
    assert content['protocol'] == 'slot-car'
    assert content['scored'] == [251] * 101
    assert [len(method['scores']) for method in content['methods']] == [101, 101]


def test_the_folder_is_the_same_with_one_or_two_methods_at_a_time(
    ellipse_bags: list[str], tmp_path: Path
) -> None:
    pytest.importorskip('matplotlib')
    printed = set()
    for jobs in '12':
        options = [*QUICK, '-o', str(tmp_path / jobs), '--jobs', jobs]
        arguments = [sys.executable, '-c', RUN, 'compare', ellipse_bags[0], *options]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        assert 'Traceback' not in done.stderr
        printed.add(done.stdout)
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / jobs).iterdir()} for jobs in '12'
    )
    assert sorted(one) == ['comparison.json', 'errors.png', 'table.txt', 'tracks.png']
    assert one == two
    assert printed == {one['table.txt'].decode()}
    json.loads(one['comparison.json'])


def test_help_names_the_methods(command: Command) -> None:
    text = command.words('compare', '--help')
    assert 'last 30 % are followed' in text
    assert ', '.join(NAMES) in text


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ('A --methods mean,magic', 'there is no method magic'),
        ('A --jobs 0', '--jobs 0 must be at least 1'),
        ('A --share 1.5', 'between 0 and 1'),
        ('A --share 0.02', 'the part to follow has no stretch longer than a window'),
        ('A --horizons 5,10', 'must start with 0'),
        ('A --horizons now', 'must be whole numbers of ticks'),
        ('A --protocol slot-car --share 0.2 --rate 5', 'leave out --share, --rate'),
        ('A --protocol slot-car', 'needs 300 s'),
        ('A --protocol hamster', 'invalid choice'),
        ('A --test no_such_bag', 'no_such_bag does not exist'),
        ('A --position-topic /imu', '--position-topic'),
        ('A B --share 0.5', '--share cuts a single bag'),
        ('A B --protocol slot-car', 'leave out more than one bag'),
        ('A --test A', 'learned from and followed'),
    ],
)
def test_bad_options(options: str, words: str, ellipse_bags: list[str], command: Command) -> None:
    bags = dict(zip('AB', ellipse_bags, strict=False))
    given = [bags.get(each, each) for each in options.split()]
    assert words in command.refused('compare', *SIMPLE, *given)


@pytest.mark.parametrize('folder', ['FILE', '/proc/self', '/proc/self/new', 'FILE/new'])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_done(
    folder: str, tmp_path: Path, command: Command
) -> None:
    """In that of a process not even root can write."""
    pytest.importorskip('matplotlib')
    file = tmp_path / 'file'
    file.write_text('kept')
    output = folder.replace('FILE', str(file))
    line = command.refused('compare', 'no_such_bag', *SIMPLE, '-o', output)
    assert line.startswith(f'{output}: no file can be written there (')
    assert line.endswith('); choose another folder')
    assert file.read_text() == 'kept'


def test_no_method_that_works_is_an_error(
    ellipse_bags: list[str], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip('matplotlib')
    monkeypatch.setattr(comparing, 'try_method', lambda *_: Failure('it is too short.'))
    line = command.refused('compare', ellipse_bags[0], *QUICK, '-o', tmp_path / 'folder')
    assert line.endswith(
        'no method worked, so there is nothing to compare (mean, previous: it is too short)'
    )
    assert not list((tmp_path / 'folder').iterdir())


def test_late_positions_are_reported_of_and_corrected(
    write_bag: Callable[..., Path], drive: Callable[..., Any], tmp_path: Path, command: Command
) -> None:
    bag = write_bag(tmp_path / 'late', drive(60.0, late_s=0.5))
    said = command('compare', bag, *QUICK)
    assert 'two-manifold: warning: ' in said.err
    assert '--position-lag' in said.err
    corrected = command('compare', bag, *QUICK, '--position-lag', '0.5')
    assert 'two-manifold: note: ' in corrected.err
    assert corrected.out != said.out
