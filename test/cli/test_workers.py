# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands print with workers what they print without."""

import json

import pytest

pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')
pytestmark = pytest.mark.xdist_group('fleet')


def test_bags_are_inspected_and_evaluated_by_workers_as_here(command, slot_car_bag, model_file):
    bags = [slot_car_bag, slot_car_bag]
    said = {}
    for workers in ((), ('--workers', 2)):
        inspected = json.loads(command('inspect', *bags, *workers, '--json').out)
        scores = json.loads(command('evaluate', model_file, *bags, *workers, '--json').out)
        said[workers] = inspected, scores['horizons']
    assert said[()] == said['--workers', 2]


def test_experiments_are_reproduced_by_workers_as_here(command, tmp_path):
    said, pictures = [], []
    for number, workers in enumerate(((), ('--workers', 2))):
        folder = tmp_path / str(number)
        out = command(
            'reproduce', 'mkdr-torus', '--quick', '--sets', 2, '-o', folder, *workers, '--json'
        )
        (found,) = json.loads(out.out)['experiments']
        found.pop('seconds')
        said.append(found)
        pictures.append([path.name for path in folder.iterdir()])
    assert said[0] == said[1]
    assert pictures[0] == pictures[1] == ['mkdr-torus.png']


def test_what_workers_cannot_do_is_refused(command, slot_car_bag, tmp_path):
    one = ('--workers', 1)
    assert 'does not exist' in command('inspect', tmp_path / 'none', *one, status=2).err
    report = ('--report', tmp_path / 'page.html')
    assert '--report' in command('inspect', slot_car_bag, *report, *one, status=2).err
    assert '--online' in command('evaluate', '--online', slot_car_bag, *one, status=2).err
