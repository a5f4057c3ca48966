# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold train`."""

import json
from pathlib import Path
from typing import Any

from command_runs import Command
from ellipse import drive, write_bag
from other_recordings import multiplied_imu
import pytest

from two_manifold_ros.cli import train
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.names import METHODS
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run
from two_manifold_ros.training.settings import FIELDS, Offered, TrainingSettings
from two_manifold_ros.training.train import train_model, with_readout

SETTINGS = TrainingSettings(window=20, states=9, horizons=(0, 5))
OPTIONS = ['--window', '20', '--states', '9', '--horizons', '0,5']


@pytest.fixture
def training(command: Command, slot_car_bag: Path, tmp_path: Path) -> Command:
    """Return a training of the bag, which writes ``m``."""
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
def test_an_option_of_a_method_is_passed_on_and_one_of_another_is_refused(
    method, slot_car_bag, monkeypatch, training
):
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
