# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models of several routes on the command line: train, join, list, take out, evaluate."""

import json
import time

import pytest

from two_manifold_ros.errors import NO_USE
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.training.train import train_model

pytest.importorskip('rosbags')


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
def test_bags_of_two_tracks_make_one_model_which_is_scored_by_route(command, bags, tmp_path):
    path = tmp_path / 'karts.npz'
    first, second = bags['hall_0'], bags['ring_0']
    began = time.monotonic()
    content = json.loads(command('train', second, first, '-o', path, '--rate', 10, '--json').out)
    # Of the training, not of the drives, which last minutes.
    took_s = [each['train_seconds'] for each in content['routes'].values()]
    assert 0.0 < sum(took_s) <= time.monotonic() - began
    assert list(load_model(path).routes) == ['hall_0', 'ring_0']
    found = command('evaluate', path, bags['ring_1'], bags['hall_1'], '--json')
    routes = json.loads(found.out)['routes']
    assert list(routes) == ['hall_0', 'ring_0']
    for each in routes.values():
        assert each['naming']['right'] > 0.95
        assert each['horizons']['0']['published_share'] > 0.8
    words = command.words('evaluate', path, bags['ring_1'], bags['hall_1'], '--until', 40)
    assert words.count('position error in metres at all ticks') == 2
    alone = command.words('evaluate', path, bags['ring_1'], '--until', 40)
    assert 'the route ring_0 is named at' in alone


@pytest.mark.slow
def test_a_route_of_no_use_is_named_and_left_out(command, bags, tmp_path, monkeypatch):
    def trained(recordings, *args, **options):  # noqa: ANN002, ANN003, ANN202
        model = train_model(recordings, *args, **options)
        refused = [each for each in poor if recordings[0].name.endswith(each)]
        if refused:
            parts = {'cause': 'of no use', 'cure': 'drive on', 'evidence': 'none'}
            model.summary['refusal'] = {'reason': 'circle', 'sentence': 'of no use', **parts}
        return model

    monkeypatch.setattr('two_manifold_ros.cli.train.train_model', trained)
    both = [bags['hall_0'], bags['ring_0']]
    path = tmp_path / 'karts.npz'
    arguments = ['train', *both, '-o', path, '--rate', 10]
    poor = ['ring_0']
    said = command(*arguments)
    assert 'two-manifold: warning: ring_0: of no use (left out; see --force)' in said.err
    assert list(load_model(path).routes) == ['hall_0']
    path.unlink()
    poor = ['ring_0', 'hall_0']
    said = command(*arguments, status=NO_USE)
    assert said.err.startswith('two-manifold: error: ')
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
    words = command.words('info', path)
    assert 'known routes' in words
    named = [each['name'] for each in command.json('info', path)['routes']]
    assert named == ['hall', 'oval', 'ring']


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
        (('add', ' =hall.npz', '-o', 'x.npz'), 'without blanks at the ends'),
        (('add', '=hall.npz', '-o', 'x.npz'), 'no name stands before the equals sign'),
        (('add', 'gone.npz', '-o', 'x.npz'), 'gone.npz'),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, words, command, files, monkeypatch):
    monkeypatch.chdir(files)
    assert words in command.refused('atlas', *arguments)
    assert not (files / 'x.npz').exists()


def test_one_page_of_several_routes_is_refused_before_the_filter_runs(
    command, files, bags, monkeypatch
):
    monkeypatch.setattr('two_manifold_ros.cli.evaluate.evaluate', None)
    evaluate = command.with_arguments('evaluate', files / 'atlas.npz', *bags.values())
    assert 'is about one route' in evaluate.refused('--report', files / 'x.html')


@pytest.mark.slow
def test_lines_of_a_network_are_named_on_one_map(command, forked_drives, write_bag, tmp_path):
    path = tmp_path / 'fork.npz'
    bags = {name: write_bag(tmp_path / name, drive) for name, drive in forked_drives.items()}
    said = command('train', bags['right'], bags['left'], '-o', path, '--rate', 10)
    assert 'note: left, right share places and are lines on one map' in said.err
    assert 'left, right' in command.words('info', path)
    drive = bags['both']
    naming = json.loads(command('evaluate', path, drive, '--json').out)['naming']
    assert naming['right'] > 0.95
    assert naming['wrong_published'] < 0.02
    assert 'a line that passes there is named at' in command.words('evaluate', path, drive)
    said = command('replay', path, drive, '-o', tmp_path / 'bag', '--json')
    counts = json.loads(said.out)['messages']
    assert counts['routes'] == counts['status']
    assert counts['branches'] == counts['position']
    assert 'is a line on one map with others' in command.refused('atlas', 'remove', path, 'left')
    # The same map in an atlas, under the name of its file.
    added = command.words('atlas', 'add', path, '-o', tmp_path / 'atlas.npz')
    assert 'fork: left, right' in added
