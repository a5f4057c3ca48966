# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models of several routes, and of what several robots kept, on the command line."""

from dataclasses import replace
import json
import time

import numpy as np
import pytest
from raw_imu import raw_imu

from two_manifold_ros.adapting.checkpoints import Checkpoints, drives_in
from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.cli.fleet import drives_of
from two_manifold_ros.errors import InputError, NO_USE
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.interface.parameters import UpdaterParameters
from two_manifold_ros.model.model_file import (
    load_model,
    read_container,
    save_model,
    write_container,
)
from two_manifold_ros.recordings.reading import ReadingOptions
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import latitude_longitude
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

pytest.importorskip('rosbags')
pytest.importorskip('rich')

HORIZONS = (0, 5, 10)


@pytest.fixture(scope='module')
def bags(kart_drives, write_bag, tmp_path_factory):
    folder = tmp_path_factory.mktemp('karts')
    return {
        drive.name: write_bag(folder / drive.name, drive)
        for name in ('hall', 'ring')
        for drive in kart_drives[name]
    }


@pytest.fixture(scope='module')
def files(kart_atlas, tmp_path_factory):
    folder = tmp_path_factory.mktemp('models')
    for name, each in kart_atlas.routes.items():
        save_model(each, folder / f'{name}.npz')
    save_model(kart_atlas, folder / 'atlas.npz')
    return folder


@pytest.mark.slow
def test_bags_of_two_tracks_make_one_model_scored_by_route(command, bags, tmp_path, monkeypatch):
    path, routes = tmp_path / 'karts.npz', ['hall_0', 'ring_0']
    began = time.monotonic()
    drives = [bags[each] for each in reversed(routes)]
    said = command('train', *drives, '-o', path, '--rate', 10, '--json')
    # Of the training, not of the drives, which last minutes.
    took_s = [each['train_seconds'] for each in json.loads(said.out)['routes'].values()]
    assert 0.0 < sum(took_s) <= time.monotonic() - began
    assert list(load_model(path).routes) == routes
    scores = command.with_arguments('evaluate', path, bags['ring_1'])
    found = json.loads(scores(bags['hall_1'], '--json').out)['routes']
    assert list(found) == routes
    for each in found.values():
        assert each['naming']['right'] > 0.95
        assert each['horizons']['0']['published_share'] > 0.8
    words = scores.words(bags['hall_1'], '--until', 40)
    assert words.count('position error in metres at all ticks') == 2
    assert 'the route ring_0 is named at' in scores.words('--until', 40)
    # One page is about one route, which is seen before the filter runs.
    monkeypatch.setattr('two_manifold_ros.cli.evaluate.evaluate', None)
    assert 'is about one' in scores.refused(bags['hall_1'], '--report', tmp_path / 'x.html')


@pytest.mark.slow
def test_a_route_of_no_use_is_named_and_left_out(command, bags, tmp_path, monkeypatch):
    def trained(recordings, *args, **options):  # noqa: ANN002, ANN003, ANN202
        model = train_model(recordings, *args, **options)
        if recordings[0].name in poor:
            parts = dict.fromkeys(('sentence', 'cause', 'cure', 'evidence'), 'of no use')
            model.summary['refusal'] = {'reason': 'circle', **parts}
        return model

    monkeypatch.setattr('two_manifold_ros.cli.train.train_model', trained)
    path = tmp_path / 'karts.npz'
    training = command.with_arguments(
        'train', bags['hall_0'], bags['ring_0'], '-o', path, '--rate', 10
    )
    poor = [str(bags['ring_0'])]
    said = training()
    assert 'two-manifold: warning: ring_0: of no use (left out; see --force)' in said.err
    assert list(load_model(path).routes) == ['hall_0']
    path.unlink()
    poor.append(str(bags['hall_0']))
    assert training(status=NO_USE).err.startswith('two-manifold: error: ')
    assert not path.exists()


def test_models_are_joined_listed_and_taken_out(command, files, tmp_path):
    path = tmp_path / 'atlas.npz'
    hall, ring = (files / f'{name}.npz' for name in ('hall', 'ring'))
    words = command.words('atlas', 'add', ring, hall, '-o', path)
    assert words.index('hall') < words.index('ring')
    assert list(load_model(path).routes) == ['hall', 'ring']
    # It goes on with what is there, and a route of the same name is replaced.
    said = command('atlas', 'add', f'oval={files / "paddock.npz"}', hall, '-o', path, '--json')
    assert 'replaced in' in said.err
    assert json.loads(said.out)['routes'] == ['hall', 'oval', 'ring']
    command('atlas', 'remove', path, 'hall', 'ring', '-o', tmp_path / 'one.npz')
    assert list(load_model(tmp_path / 'one.npz').routes) == ['oval']
    command('atlas', 'add', f'new={tmp_path / "one.npz"}', '-o', tmp_path / 'two.npz')
    assert list(load_model(tmp_path / 'two.npz').routes) == ['new']
    assert 'known routes' in command.words('info', path)
    named = [each['name'] for each in command.json('info', path)['routes']]
    assert named == ['hall', 'oval', 'ring']
    # The rate is that of the routes that stay, whatever the name of the other one.
    other = tmp_path / 'hall.npz'
    save_model(replace(load_model(hall), rate_hz=5.0, period_ns=200_000_000), other)
    for given in (other, f'zero={other}'):
        assert '--rate 10' in command.refused('atlas', 'add', given, '-o', path)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('remove', 'atlas.npz', 'pit'), 'no route pit: the model knows hall, paddock, ring'),
        (('remove', 'atlas.npz', 'hall', 'paddock', 'ring'), 'all the routes of the model'),
        (('remove', 'hall.npz', 'hall'), 'the model knows one, without a name'),
        (('add', 'hall.npz', 'hall.npz', '-o', 'x.npz'), 'two routes of the name hall: write'),
        (('add', 'a=atlas.npz', '-o', 'x.npz'), 'knows 3 routes with names: leave a= out'),
        (('add', 'a,b=hall.npz', '-o', 'x.npz'), 'is no name of a route'),
        (('add', 'none=hall.npz', '-o', 'x.npz'), 'it stands for none of them'),
        (('add', 'gone.npz', '-o', 'x.npz'), 'gone.npz'),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, words, command, files, monkeypatch):
    monkeypatch.chdir(files)
    assert words in command.refused('atlas', *arguments)
    assert not (files / 'x.npz').exists()


@pytest.mark.slow
def test_lines_of_a_network_are_named_on_one_map(command, forked_drives, write_bag, tmp_path):
    path = tmp_path / 'fork.npz'
    bags = {name: write_bag(tmp_path / name, drive) for name, drive in forked_drives.items()}
    said = command('train', bags['right'], bags['left'], '-o', path, '--rate', 10)
    assert 'note: left, right share places and are lines on one map' in said.err
    assert 'left, right' in command.words('info', path)
    said = command('replay', path, bags['both'], '-o', tmp_path / 'bag', '--json')
    counts = json.loads(said.out)['messages']
    assert counts['routes'] == counts['status']
    assert counts['branches'] == counts['position']
    assert 'is a line on one map with others' in command.refused('atlas', 'remove', path, 'left')
    # The same map in an atlas, under the name of its file.
    added = command.words('atlas', 'add', path, '-o', tmp_path / 'atlas.npz')
    assert 'fork: left, right' in added


@pytest.fixture(scope='module')
def robots(tmp_path_factory):
    """Return checkpoints of two robots that saw one half of the track each."""
    files = []
    for number in range(2):
        run = simulate(SlotCarSettings(seed=50 + number, rate_hz=20.0), laps=8)
        folder = tmp_path_factory.mktemp(f'robot{number}')
        settings = TrainingSettings(rate_hz=10.0, window=20, horizons=HORIZONS)
        session = UpdaterSession(StreamLearner(make_head(HORIZONS), settings, at_once=True))
        rows = zip(run.stamps_ns.tolist(), run.imu, run.positions.tolist(), strict=True)
        for index, (stamp, sample, (x, y, _)) in enumerate(rows):
            session.take(raw_imu(stamp, sample))
            if index % 2 == 0 and (x > 0.0) == (number == 1):
                session.take_position(stamp, 'map', x, y)
        asked = {'horizons': list(HORIZONS), 'checkpoint_folder': str(folder)}
        Checkpoints(UpdaterParameters(learner='map', **asked), session.learner).end()
        files.append(next(folder.glob('*.npz')))
    return files


def test_a_merged_model_knows_what_each_robot_saw_in_part(robots, command, tmp_path):
    merged = tmp_path / 'merged.npz'
    command('merge', *robots, '-o', merged)
    drive = run_to_recording(simulate(SlotCarSettings(seed=70, rate_hz=20.0), laps=4))
    alone = [train_model(drives_in(each), TrainingSettings()) for each in robots]
    both, *errors = (
        evaluate(model, [drive]).scores[0].model.all.rmse_m
        for model in (load_model(merged), *alone)
    )
    assert both < 0.3 * min(errors)


def test_what_holds_no_drives_is_refused(robots, command, slot_car_model, tmp_path):
    model, out = tmp_path / 'model.npz', tmp_path / 'merged.npz'
    save_model(slot_car_model, model)
    assert 'checkpoint_folder' in command.refused('merge', robots[0], model, '-o', out)
    damaged = tmp_path / 'damaged.npz'
    header, arrays = read_container(robots[0])
    write_container(damaged, header, arrays | {'stamps': arrays['stamps'][1:]}, 'checkpoint')
    with pytest.raises(InputError, match='do not fit together'):
        drives_in(damaged)
    assert not out.exists()


def test_drives_of_several_origins_are_put_into_one_plane(robots, tmp_path):
    header, arrays = read_container(robots[1])
    origins = [GeodeticOrigin(50.0, 8.0, 100.0), GeodeticOrigin(50.01, 8.02, 90.0)]
    paths = [str(tmp_path / f'{number}.npz') for number in range(2)]
    for path, origin in zip(paths, origins, strict=True):
        header['numbers']['stream']['origin'] = vars(origin)
        write_container(path, header, arrays, 'checkpoint')
    of, (one, other) = drives_of(paths, ReadingOptions())
    assert of == paths
    assert one.positions.origin == other.positions.origin == origins[0]
    before, after = (
        latitude_longitude(each.positions.positions, each.positions.origin)
        for each in (*drives_in(paths[1]), other)
    )
    np.testing.assert_allclose(after, before, atol=1e-9)
