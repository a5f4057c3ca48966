# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold train`."""

from collections.abc import Callable
from dataclasses import replace
import json
from pathlib import Path
import threading

import numpy as np
import pytest

from two_manifold_ros.cli import train
from two_manifold_ros.cli.main import main
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import inspect_recording, Report
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.training.route import usual_tuning
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import PAPER, train_model

SETTINGS = TrainingSettings(window=20, states=9, horizons=(0, 5))
OPTIONS = ['--window', '20', '--states', '9', '--horizons', '0,5']
QUICK = [*OPTIONS, '--method', 'spectral']


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the last line of what is said about bad input."""
    assert main(['train', *arguments]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    line: str = captured.err.splitlines()[-1]
    assert line.startswith(('two-manifold: error: ', 'two-manifold train: error: '))
    return line.partition('error: ')[2]


def test_the_model_is_the_one_that_the_library_trains(
    slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'model.npz'
    arguments = [str(slot_car_bag), '-o', str(path), '--until', '30', *OPTIONS, '--json']
    assert main(['train', *arguments]) == 0
    content = json.loads(capsys.readouterr().out)
    wanted = train_model([read_recording(str(slot_car_bag)).between(None, 30.0)], SETTINGS)
    save_model(wanted, tmp_path / 'wanted.npz')
    assert path.read_bytes() == (tmp_path / 'wanted.npz').read_bytes()
    assert content['model'] == str(path)
    assert content['rate_hz'] == 10.0
    assert content['window'] == 20
    assert content['states'] == 9
    assert content['horizons'] == [0, 5]
    assert content['method'] == 'route'
    assert content['kernel'] == 'laplacian-eigenmap'
    assert content['recordings'] == [str(slot_car_bag)]
    assert content['seconds'] == pytest.approx(29.9, abs=0.1)
    assert content['train_seconds'] >= 0.0
    assert set(content['validation']) == {'ticks', 'compared'}


def test_two_bags_and_a_table_for_people(
    slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(simulate(SlotCarSettings(seed=3, rate_hz=10.0), laps=2), tmp_path / 'other')
    bags = [str(slot_car_bag), str(tmp_path / 'other')]
    assert main(['train', *bags, '-o', str(tmp_path / 'm'), '--until', '15', *OPTIONS]) == 0
    text = ' '.join(capsys.readouterr().out.split())
    for words in ('trained in', f'written to {tmp_path / "m"}', '10 Hz, windows of 20',
                  '/imu -> /reference', 'laplacian-eigenmap', 'states 9'):  # fmt: skip
        assert words in text
    assert load_model(tmp_path / 'm').summary['recordings'] == bags


@pytest.mark.parametrize(
    ('options', 'settings'),
    [
        ('', TrainingSettings()),
        ('--rate 5 --window 33 --states 12', TrainingSettings(5.0, 33, 12)),
        ('--kernel gaussian --neighbours 7', TrainingSettings(kernel='gaussian', neighbours=7)),
        ('--dimension 30', TrainingSettings(dimension=30)),
        ('--coupling gram-product', TrainingSettings(coupling='gram-product')),
        ('--method spectral', TrainingSettings(method='spectral')),
        (
            '--method spectral --observation ridge',
            TrainingSettings(method='spectral', observation='ridge'),
        ),
        (
            '--method spectral --readout ridge',
            TrainingSettings(method='spectral', readout='ridge'),
        ),
        (
            '--method spectral --clock time',
            TrainingSettings(method='spectral', clock='time'),
        ),
        ('--readout mkdr', TrainingSettings(readout='mkdr')),
        ('--sharpness .3 --persistence .7', TrainingSettings(sharpness=0.3, persistence=0.7)),
        ('--method paper --rate 5', TrainingSettings(5.0, **PAPER)),
        ('--method paper --window 30', TrainingSettings(window=30, **PAPER)),
        ('--horizons 0,3,9', TrainingSettings(horizons=(0, 3, 9))),
    ],
)
def test_what_is_asked_for_is_passed_on(
    options: str,
    settings: TrainingSettings,
    slot_car_bag: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(recordings: list[Recording], given: TrainingSettings, *_: object) -> None:
        assert len(recordings) == 1
        assert given == settings
        msg = 'far enough'
        raise InputError(msg)

    monkeypatch.setattr(train, 'train_model', stop)
    arguments = [str(slot_car_bag), '-o', str(tmp_path / 'm'), *options.split()]
    assert refused(arguments, capsys) == 'far enough'


def test_the_topics_asked_for_are_read(
    slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(slot_car_bag), '-o', str(tmp_path / 'm')]
    assert '/wheel' in refused([*arguments, '--imu-topic', '/wheel'], capsys)
    assert '/gps' in refused([*arguments, '--position-topic', '/gps'], capsys)


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ('--horizons 0,a', "--horizons '0,a' must be whole numbers of ticks such as 0,10,50"),
        ('--horizons 5', "horizons '5' must start with 0 and increase"),
        ('--horizons 0,9999', 'no position is known 9999 ticks after any training tick'),
        ('--rate 500', 'runs at 10.0 Hz, slower than the 500 Hz asked for'),
        ('--rate nan', 'a rate of nan Hz is outside'),
        ('--window 400', 'training needs more than two windows of 400 ticks (80.0 s)'),
        ('--until 3 --window 20', 'the longest stretch without a gap is 2.9 s'),
        ('--until 0', '--until 0 must be more than 0'),
        ('--until -1', '--until -1 must be more than 0'),
        ('--until nan', "argument --until: 'nan' is no number of seconds"),
        ('--until inf', "argument --until: 'inf' is no number of seconds"),
        ('--until soon', "argument --until: 'soon' is no number of seconds"),
        ('--position-lag soon', "argument --position-lag: a position lag of 'soon' is neither"),
        ('--kernel cosine', "argument --kernel: invalid choice: 'cosine'"),
        (
            '--readout ridge',
            '--method route has no such choice: leave out --readout, or use --method spectral',
        ),
        ('--observation raw --readout ridge', 'leave out --observation, --readout, or'),
        ('--observation raw --readout mkdr', 'no such choice: leave out --observation, or'),
        (
            '--method paper --kernel gaussian --states 30',
            '--method paper settles everything itself: leave out --kernel, --states, or use',
        ),
        (
            '--method spectral --sharpness 0.3',
            '--method spectral has no such choice: leave out --sharpness, or use --method route',
        ),
        ('--sharpness 0', 'sharpness is 0.0, but must be above 0'),
        ('--method best', "argument --method: invalid choice: 'best'"),
        ('--states 1', 'states is 1, but must be at least 2'),
    ],
)
def test_bad_options_leave_no_model(
    options: str,
    words: str,
    slot_car_bag: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / 'model.npz'
    assert words in refused([str(slot_car_bag), '-o', str(path), *options.split()], capsys)
    assert not list(tmp_path.iterdir())


def test_bad_bags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / 'none'
    assert str(missing) in refused([str(missing), '-o', str(tmp_path / 'm')], capsys)
    text = tmp_path / 'notes.txt'
    text.write_text('no bag')
    assert str(text) in refused([str(text), '-o', str(tmp_path / 'm')], capsys)


def test_a_bag_without_positions(
    write_bag: Callable[..., Path],
    drive: Callable[..., Recording],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare = write_bag(tmp_path / 'bare', replace(drive(4.0), positions=None))
    message = refused([str(bare), '-o', str(tmp_path / 'm')], capsys)
    assert str(bare) in message
    assert 'holds no position topic' in message
    assert not (tmp_path / 'm').exists()


@pytest.mark.parametrize(
    ('place', 'words'), [('none/m.npz', 'does not exist: make it before'), ('.', 'is a folder')]
)
def test_a_place_that_cannot_be_written_is_refused_before_training(
    place: str,
    words: str,
    slot_car_bag: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(train, 'train_model', lambda *_: pytest.fail('it trained'))
    assert words in refused([str(slot_car_bag), '-o', str(tmp_path / place)], capsys)


def test_an_old_model_survives_a_training_that_fails(
    slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'model.npz'
    path.write_bytes(b'old')
    refused([str(slot_car_bag), '-o', str(path), '--window', '400'], capsys)
    assert path.read_bytes() == b'old'


def test_wrong_units_are_warned_of_on_standard_error(
    slot_car_bag: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A training on g and deg/s may be intended, but hardly is."""
    recording = read_recording(str(slot_car_bag)).between(None, 15.0)
    scale = np.array([1 / 9.81] * 3 + [180 / np.pi] * 3)
    in_g = type(recording)(
        recording.name,
        type(recording.imu)(
            recording.imu.topic, recording.imu.frame_id, recording.imu.stamps,
            recording.imu.samples * scale, recording.imu.receive_stamps,
        ),
        recording.positions,
    )  # fmt: skip
    monkeypatch.setattr(train, 'recordings_of', lambda _: [in_g])
    assert main(['train', 'bag', '-o', str(tmp_path / 'm'), *OPTIONS, '--json']) == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    warnings = [line for line in captured.err.splitlines() if 'warning: ' in line]
    assert any('m/s' in line for line in warnings)
    assert any('rad/s' in line for line in warnings)


@pytest.mark.parametrize(
    ('every', 'options', 'published'),
    [(9, [], True), (1, [], False), (9, ['--readout', 'mkdr'], False)],
)
def test_rare_positions_are_said_to_be_estimable(
    every: int,
    options: list[str],
    published: bool,
    slot_car_bag: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = read_recording(str(slot_car_bag))
    assert whole.positions is not None
    some = np.arange(len(whole.positions.stamps)) % every == 0
    rare = replace(whole, positions=whole.positions.select(some))
    monkeypatch.setattr(train, 'recordings_of', lambda _: [rare])
    monkeypatch.setattr(train, 'training_warnings', lambda *_: [])
    assert main(['train', 'bag', '-o', 'm', '--rate', '50', '--window', '9999', *options]) == 2
    assert ('--readout mkdr estimates' in capsys.readouterr().err) == published


def test_progress_is_reported_while_inspecting(
    slot_car_bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def inspected(recording: Recording) -> Report:
        seen.append(any(thread.name == 'progress' for thread in threading.enumerate()))
        return inspect_recording(recording)

    monkeypatch.setattr(train, 'inspect_recording', inspected)
    assert main(['train', str(slot_car_bag), '-o', str(tmp_path / 'm'), *QUICK, '--json']) == 0
    assert seen == [True]


def test_a_file_that_is_no_model_is_not_overwritten(
    slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / 'notes.txt'
    notes.write_text('mine')
    assert 'exists and is no model' in refused([str(slot_car_bag), '-o', str(notes)], capsys)
    assert notes.read_text() == 'mine'


def test_a_part_that_is_the_whole_is_warned_of(
    slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for until, warned in (('9999', True), ('30', False)):
        target = str(tmp_path / until)
        assert main(['train', str(slot_car_bag), '-o', target, '--until', until, *QUICK]) == 0
        assert ('nothing of it is left to evaluate' in capsys.readouterr().err) == warned


@pytest.fixture(scope='module')
def late_bag(
    tmp_path_factory: pytest.TempPathFactory,
    write_bag: Callable[..., Path],
    slot_car_laps: tuple[Recording, Recording],
) -> Path:
    """Return four laps of the slot car with positions that are 0.2 s late."""
    folder = tmp_path_factory.mktemp('late')
    return write_bag(folder / 'late', slot_car_laps[1].with_positions_earlier(-0.2))


@pytest.mark.parametrize(
    ('options', 'corrected_s', 'said'),
    [
        ([], 0.0, 'positions are 0.2'),
        (['--position-lag', 'auto'], 0.2, 'positions made 0.2'),
        (['--position-lag', '0.2'], 0.2, 'positions made 0.200 s earlier, as asked for'),
    ],
)
def test_a_lag_is_said_and_undone_if_so_wished(
    options: list[str],
    corrected_s: float,
    said: str,
    late_bag: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(tmp_path / 'm')
    assert main(['train', str(late_bag), '-o', path, *QUICK, *options, '--json']) == 0
    captured = capsys.readouterr()
    (row,) = json.loads(captured.out)['position_lag']
    assert row['found_s'] == pytest.approx(0.2, abs=0.03)
    assert row['corrected_s'] == pytest.approx(corrected_s, abs=0.03)
    assert said in captured.err
    assert ('--position-lag auto' in captured.err) == (not options)
    assert main(['info', path]) == 0
    text = ' '.join(capsys.readouterr().out.split())
    assert 'position lag found 0.2' in text
    assert ('corrected by 0.2' in text) == bool(options)
    assert ('not corrected' in text) != bool(options)


def test_a_lag_is_compared_with_half_a_tick_of_the_rate_asked_for(
    slot_car_bag: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates: list[float | None] = []
    monkeypatch.setattr(train, 'training_warnings', lambda _, rate_hz: rates.append(rate_hz) or [])
    refused([str(slot_car_bag), '-o', 'm', '--rate', '5', '--window', '999'], capsys)
    assert rates == [5.0]


def test_the_help_gives_the_sharpness_that_a_training_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(['train', '--help']) == 0
    words = ' '.join(capsys.readouterr().out.split())
    taken = usual_tuning(TrainingSettings()).sharpness
    assert f'likelihood of an observation, for method route (default: {taken:g})' in words


def test_a_route_is_trained_shown_and_run(
    slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / 'route.npz')
    options = ['--until', '60', '--window', '20', '--horizons', '0,5', '--sharpness', '0.3']
    assert main(['train', str(slot_car_bag), '-o', path, *options]) == 0
    assert 'places' in capsys.readouterr().out
    assert main(['info', path, '--json']) == 0
    summary = json.loads(capsys.readouterr().out)['summary']
    assert (summary['method'], summary['chosen']['sharpness']) == ('route', 0.3)
    assert main(['evaluate', path, str(slot_car_bag), '--json']) == 0
    assert json.loads(capsys.readouterr().out)['horizons']['0']['rmse_m'] < 0.1
