# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold train`, `evaluate` and `learn`, and sensors beside the IMU."""

from dataclasses import replace
import json
from pathlib import Path
from typing import Any

from command_runs import Command
from ellipse import drive, write_bag
from other_recordings import multiplied_imu
import pytest

from two_manifold_ros.cli import train
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.names import METHODS
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.training.settings import FIELDS, Offered, TrainingSettings
from two_manifold_ros.training.train import train_model, with_readout


def untimed(content: dict[str, Any]) -> dict[str, Any]:
    """Leave out the wall times, the only numbers that differ from run to run."""
    return {name: value for name, value in content.items() if 'seconds' not in name}


@pytest.fixture
def scores(command: Command, model_file: Path, slot_car_bag: Path) -> Command:
    return command.with_arguments('evaluate', model_file, slot_car_bag)


def test_the_json_is_what_the_library_says(model_file, slot_car_model, slot_car_bag, scores):
    recording = read_recording(str(slot_car_bag))
    content, wanted = scores.json(), evaluate(slot_car_model, [recording]).to_json()
    files = {'model': str(model_file), 'bags': [str(slot_car_bag)]}
    assert list(content.pop('verdict')) == ['word', 'sentence', 'next']
    assert untimed(content) == untimed(wanted) | files
    assert set(content) == {*files, *wanted}
    # Of a part nothing outside is seen: neither samples, to fill the window, nor positions.
    content = scores.json('--from', '10', '--until', '30')
    part = recording.between(10.0, 30.0)
    assert content['samples']['received'] == len(part.imu.stamps) == 200
    assert [each['n'] for each in content['horizons'].values()] == [180, 175, 160]
    assert content['horizons'] == evaluate(slot_car_model, [part]).to_json()['horizons']


def test_fixes_are_taken_from_the_bag(slot_car_bag, model_file, command, scores, tmp_path):
    said = scores.json('--fixes', '5')
    assert said['samples']['fixes_received'] == 10
    assert 'got 10 position fixes' in scores.words('--fixes', '5')
    counts = [
        command.json('replay', model_file, slot_car_bag, '-o', tmp_path / f'bag{number}', *fixes)
        for number, fixes in enumerate(([], ['--fixes', '0']))
    ]
    untold, told = (each['messages']['position'] for each in counts)
    assert untold < told == said['ticks']


def test_positions_are_put_in_step_as_in_training(slot_car_model, slot_car_bag, command, tmp_path):
    file = tmp_path / 'late.npz'
    late = {'position_lag': [{'corrected_s': 0.25}, {'corrected_s': 0.26}]}
    save_model(replace(slot_car_model, summary=slot_car_model.summary | late), file)
    scores = command.with_arguments('evaluate', file, slot_car_bag, '--until', '20', '--json')
    usual, same, other = scores(), scores('--position-lag', '0.255'), scores('--position-lag', '0')
    assert 'positions made 0.255 s earlier, as in the training' in usual.err
    found = [json.loads(each.out)['horizons'] for each in (usual, same, other)]
    assert found[0] == found[1] != found[2]


def cells(text: str, horizon: str) -> list[str]:
    """Return the rows of a horizon in both tables, without its name."""
    rows = [line for line in text.splitlines() if line.strip().startswith(f'{horizon} (')]
    both = ' '.join(line.split(')', maxsplit=1)[1] for line in rows)
    return both.replace(' %', '%').split()


def test_rows_of_horizons_have_all_and_valid_ticks(model_file, slot_car_laps, tmp_path, command):
    """Of a bag of which the IMU is turned over from 10 s to 18 s."""
    novel_bag = write_bag(tmp_path / 'bag', multiplied_imu(slot_car_laps[1], 10.0, 18.0))
    scores = command.with_arguments('evaluate', model_file, novel_bag)
    content, text = json.loads(scores('--json').out), scores().out
    for horizon, each in content['horizons'].items():
        every = each['all']
        metres = [
            every['rmse_m'], every['median_m'], every['p95_m'], each['along_rmse_m'],
            each['cross_rmse_m'], each['mean']['all']['rmse_m'], each['previous']['all']['rmse_m'],
        ]  # fmt: skip
        assert 0.5 < each['published_share'] < 0.95
        assert every['rmse_m'] > 1.2 * each['rmse_m']
        assert cells(text, horizon) == [
            str(every['n']), *(f'{value:.3f}' for value in metres),
            f'{100 * each["published_share"]:.1f}%', f'{each["rmse_m"]:.3f}',
            f'{100 * each["coverage68"]:.0f}/{100 * each["coverage95"]:.0f}',
        ]  # fmt: skip
    withheld = content['ticks_after_first_window'] - content['valid_ticks']
    assert sum(content['withheld'].values()) == withheld
    assert f'{withheld} of the {content["ticks_after_first_window"]} ticks after' in text
    # A horizon may have no truth.
    assert cells(scores('--until', '3').out, '20') == ['0', *['-'] * 10]
    # Also what is refused throughout is scored.
    text = scores('--from', '10.2', '--until', '17.8', status=3).out
    found = cells(text, '0')
    assert float(found[1]) > 0.0
    assert found[-3:] == ['0%', '-', '-']
    assert text.startswith('Nothing would have been published: input rejected: ')


def test_it_says_that_the_bag_was_trained_on(slot_car_model, slot_car_bag, tmp_path, command):
    summary = slot_car_model.summary | {'recordings': [str(slot_car_bag)], 'seconds': 20.0}
    save_model(replace(slot_car_model, summary=summary), tmp_path / 'model.npz')
    scores = command.with_arguments('evaluate', tmp_path / 'model.npz', slot_car_bag)
    for part in ((), ('--from', '1')):
        assert 'warning: the model was trained on' in scores(*part).err
    assert 'warning' not in scores('--from', '20').err


def test_a_lag_is_said_and_undone_if_so_wished(model_file, slot_car_laps, tmp_path, command):
    late = write_bag(tmp_path / 'late', slot_car_laps[1].with_positions_earlier(-0.2))
    right = write_bag(tmp_path / 'right', slot_car_laps[1])
    errors = []
    for bag, options in ((late, []), (late, ['--position-lag', 'auto']), (right, [])):
        said = command('evaluate', model_file, bag, *options, '--json')
        errors.append(json.loads(said.out)['horizons']['0']['rmse_m'])
        assert ('--position-lag auto' in said.err) == (bag == late and not options)
        assert ('positions made 0.2' in said.err) == bool(options)
    assert errors[1] == pytest.approx(errors[2], rel=0.2)
    assert errors[0] > 2 * errors[2]


@pytest.mark.slow
def test_a_table_and_json_say_how_soon_the_route_is_known(slot_car_bag, command):
    """Of both learners, beside the model trained of the same laps."""
    learning = command.with_arguments('learn', slot_car_bag, '--positions-until')
    text = learning(16, '--until', 20).out
    for words in ('lap', 'map:', 'tpsr:', 'offline:', 'mean:', 'published', 'IMU alone', 'metres'):
        assert words in text
    content = learning.json(36, '--learner', 'map')
    assert content['bags'] == [str(slot_car_bag)]
    assert content['known_s'] == pytest.approx(36.0, abs=0.2)
    alone = {row['name']: row for row in content['rows'] if row['lap'] == 0}
    assert set(alone) == {'map', 'offline', 'mean'}
    assert alone['map']['rmse_m'] < 0.25 * alone['mean']['rmse_m']
    assert content['verdict']['word'] in {'good', 'fair'}
    assert content['verdict']['next'].endswith('learner:=map')


NAMED = ['--sensor-topic', '/magnetometer', '--sensor-topic', '/wheel:twist.linear.x']


def test_a_model_knows_its_sensors_and_is_better_with_them(command, tmp_path):
    sensors = ('magnetometer', 'wheel')
    for name, seed, given in (('first', 1, sensors), ('second', 2, sensors), ('without', 2, ())):
        run = simulate(SlotCarSettings(seed, rate_hz=10.0), laps=10)
        write_run(run, tmp_path / name, given)
    model = tmp_path / 'm.npz'
    settings = ['--window', 20, '--horizons', '0,5']
    command('train', tmp_path / 'first', '-o', model, *settings, *NAMED)
    fields = [f'/magnetometer:magnetic_field.{axis}' for axis in 'xyz']
    assert load_model(model).further_names == (*fields, '/wheel:twist.linear.x')
    assert command.json('info', model)['sensors'][1]['topic'] == '/wheel'
    errors = []
    for name, named in (('second', ()), ('second', NAMED), ('without', ())):
        said = command('evaluate', model, tmp_path / name, *named, '--json')
        assert ('The model goes on without this sensor.' in said.err) == (name == 'without')
        errors.append(json.loads(said.out)['horizons']['0']['all']['rmse_m'])
    assert errors[0] == errors[1] < errors[2]
    written = command.json('replay', model, tmp_path / 'second', '-o', tmp_path / 'bag')
    assert written['messages']['position']
    for topics, words in (
        (['/wheel'], 'but the model takes /magnetometer:'),
        (['/magnetometer', '/wheel:x'], 'but the model takes /magnetometer:'),
        (['/wheel', '/wheel'], 'named as a sensor twice'),
    ):
        named = [each for topic in topics for each in ('--sensor-topic', topic)]
        assert words in command.refused('evaluate', model, tmp_path / 'second', *named)


SETTINGS = TrainingSettings(window=20, states=9, horizons=(0, 5))
OPTIONS = ['--window', '20', '--states', '9', '--horizons', '0,5']


@pytest.fixture
def training(command: Command, slot_car_bag: Path, tmp_path: Path) -> Command:
    return command.with_arguments('train', '-o', tmp_path / 'm', slot_car_bag)


def test_the_model_is_the_one_that_the_library_trains(slot_car_bag, tmp_path, training):
    content = training.json('--until', '30', *OPTIONS)
    wanted = train_model([read_recording(str(slot_car_bag)).between(None, 30.0)], SETTINGS)
    save_model(wanted, tmp_path / 'wanted.npz')
    assert (tmp_path / 'm').read_bytes() == (tmp_path / 'wanted.npz').read_bytes()
    expected = {
        'model': str(tmp_path / 'm'), 'rate_hz': 10.0, 'window': 20, 'states': 9,
        'horizons': [0, 5], 'method': 'route', 'recordings': [str(slot_car_bag)], 'refusal': None,
    }  # fmt: skip
    assert {name: content[name] for name in expected} == expected
    assert content['seconds'] == pytest.approx(29.9, abs=0.1)
    assert set(content['validation']) == {
        'ticks', 'compared', 'followed_m', 'mean_position_m', 'published_share',
    }  # fmt: skip
    assert list(content['verdict']) == ['word', 'sentence', 'next']
    # A note of reading is printed once, with the model.
    said = training('--until', '30', '--force', *OPTIONS, '--position-lag', '0.2')
    assert 'note: positions made 0.200 s earlier' in said.out
    assert 'positions made' not in said.err


def another(offered: Offered) -> Any:  # noqa: ANN401 - of any setting
    """Return a value that is allowed, and not the default."""
    about, default = offered.about, offered.default
    if about.choices:
        return next(each for each in about.choices[::-1] if each != default)
    if isinstance(default, tuple):
        return (0, 3, 9)
    return about.kind(about.low + 7)


@pytest.mark.parametrize('method', METHODS)
def test_own_options_are_passed_on_and_others_refused(method, slot_car_bag, monkeypatch, training):
    def stop(_: list[Recording], given: TrainingSettings, *__: object) -> None:
        seen.append(given)
        msg = 'far enough'
        raise InputError(msg)

    seen: list[TrainingSettings] = []
    recording = read_recording(str(slot_car_bag))
    monkeypatch.setattr(train, 'train_model', stop)
    for name, offered in FIELDS.items():
        if name == 'method' or not offered.about.option:
            continue
        value = another(offered)
        written = ','.join(map(str, value)) if isinstance(value, tuple) else value
        said = training.refused('--method', method, f'--{offered.about.option}', written)
        if method in offered.methods:
            assert said == 'far enough'
            wanted = TrainingSettings(method=method, **{name: value})
            assert seen.pop() == with_readout([recording], wanted)
        else:
            assert f'method {method} has no {name}: leave it out, or choose method' in said
    assert not seen


@pytest.fixture(scope='module')
def short_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of two laps of an ellipse, whose halves look alike, with a dead channel."""
    short = multiplied_imu(drive(16.0), 0.0, 16.0, (1, 1, 1, 0, 1, 1))
    return write_bag(tmp_path_factory.mktemp('short') / 'short', short)


@pytest.mark.parametrize('method', ['route', 'spectral --window 12 --rate 10', 'tpsr'])
def test_a_model_of_no_use_is_refused_in_the_first_line(method, short_bag, tmp_path, command):
    """With a status of its own, as JSON too; a model that was there stays."""
    path = tmp_path / 'm.npz'
    path.write_bytes(b'PK\x03\x04 of before')
    for given in ([], ['--json']):
        training = 'train', short_bag, '-o', path, '--method', *method.split(), *given
        said = command(*training, status=3)
        first, *others = said.err.splitlines()
        assert first.startswith('two-manifold: error: the model is of no use: ')
        assert 'there are 2.0 laps; drive at least five laps' in first
        assert first.endswith('(not written; see --force)')
        assert any('never change' in line for line in others)
        assert bool(said.out) == bool(given)
    content = json.loads(said.out)
    assert (content['model'], content['refusal']['reason']) == (None, 'few_laps')
    assert path.read_bytes() == b'PK\x03\x04 of before'


@pytest.mark.parametrize('options', ['--force', '--method paper --window 12 --rate 10'])
def test_a_model_of_no_use_is_written_if_it_has_to_be(options, short_bag, tmp_path, command):
    path = tmp_path / 'm.npz'
    said = command('train', short_bag, '-o', path, *options.split())
    first = said.err.splitlines()[0]
    assert first.startswith('two-manifold: warning: the model is of no use: there are 2.0 laps')
    sentence = first.removeprefix('two-manifold: warning: ')
    assert said.out.startswith('The model is of no use: there are 2.0 laps (mean error on parts')
    assert sentence not in said.out
    assert load_model(path).summary['refusal']['sentence'] == sentence
    assert 'of no use: there are 2.0 laps' in command.words('info', path)


@pytest.mark.parametrize('options', [['--rate', '10'], [*OPTIONS, '--method', 'spectral']])
def test_the_order_of_bags_makes_no_difference(options, slot_car_bag, tmp_path, command):
    bags = [slot_car_bag, tmp_path / 'a', tmp_path / 'b']
    for seed, path in enumerate(bags[1:], start=3):
        write_run(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), laps=3), path)
    written = []
    for given in (bags, bags[::-1], [bags[1], bags[0], bags[2], bags[0]]):
        command('train', *given, '-o', tmp_path / 'm', '--force', *options)
        written.append((tmp_path / 'm').read_bytes())
    assert written[0] == written[1] == written[2]
