# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands print and write with workers what they print and write without."""

import json
from pathlib import Path
from unittest.mock import Mock

from fleet_work import write_fleet
import pytest

from two_manifold_ros.fleet import ItemJournal
from two_manifold_ros.inspection.coverage import Survey, survey_bag
from two_manifold_ros.recordings.reading import ReadingOptions

pytest.importorskip('rosbags')
pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')
pytestmark = pytest.mark.xdist_group('fleet')


def test_workers_inspect_and_score_bags_as_done_here(command, slot_car_bag, model_file, tmp_path):
    bags = [slot_car_bag, slot_car_bag]
    said = []
    for workers in ((), ('--workers', 2)):
        inspected = command('inspect', *bags, tmp_path / 'none', *workers, '--json', status=2)
        scores = json.loads(command('evaluate', model_file, *bags, *workers, '--json').out)
        said.append((json.loads(inspected.out), scores['horizons']))
    assert said[0] == said[1]
    assert list(said[0][0]['unread']) == [str(tmp_path / 'none')]
    assert len(said[0][0]['recordings']) == 2


@pytest.fixture(scope='module')
def fleet_bags(tmp_path_factory):
    """Return eight bags of three laps each, and one that is damaged."""
    return write_fleet(tmp_path_factory.mktemp('fleet'), range(30, 38))


def test_a_model_of_many_bags_has_the_same_bytes_from_workers(command, fleet_bags, tmp_path):
    # The order in which they are named says nothing about the route.
    said, models = [], []
    for number, workers in enumerate(((), (), ('--workers', 2))):
        file = tmp_path / f'{number}.npz'
        arguments = ('-o', file, '--most-minutes', 2, '--rate', 10, *workers, '--json')
        out = command('train', *fleet_bags[:: (-1) ** number], *arguments)
        assert 'bad.mcap' in out.err
        said.append(json.loads(out.out)['fleet'])
        models.append(file.read_bytes())
    assert models[0] == models[1] == models[2]
    assert said[0] == said[2]
    assert (said[0]['bags'], said[0]['not_used']) == (9, 1)
    assert said[0]['trained'] + said[0]['tried']['drives'] <= 8
    assert said[0]['tried']['mean_m'] < 0.3
    refused = command.refused('train', *fleet_bags, tmp_path / 'other.mcap', '-o', file)
    assert 'other.mcap' in refused


def test_fleets_are_scored_by_workers_as_here(command, fleet_bags, model_file):
    said = [
        command('evaluate', model_file, *fleet_bags, '--fleet', *more, '--json').out
        for more in ((), ('--workers', 2))
    ]
    assert said[0] == said[1]
    content = json.loads(said[0])
    vehicles = sorted(content['routes']['']['vehicles'])
    assert [each.rpartition('/')[2] for each in vehicles] == ['car0', 'car1']
    assert 'the worst drive is' in content['verdict']['sentence']
    (trouble,) = filter(None, (each['trouble'] for each in content['drives']))
    assert 'bad.mcap' in trouble
    words = command('evaluate', model_file, *fleet_bags, '--fleet')
    assert 'car1' in words.out
    assert 'bad.mcap' in words.err


def test_a_run_that_is_stopped_keeps_its_surveys(command, fleet_bags, tmp_path, monkeypatch):
    file, surveyed = tmp_path / 'model.npz', []
    journal = Path(f'{file}.bags.jsonl')

    def stop(options: ReadingOptions, until_s: float | None, path: str) -> Survey:
        if len(surveyed) == 3:
            raise KeyboardInterrupt
        surveyed.append(path)
        return survey_bag(options, until_s, path)

    monkeypatch.setattr('two_manifold_ros.inspection.coverage.survey_bag', stop)
    arguments = (*fleet_bags[:-1], '-o', file, '--most-minutes', 2, '--rate', 10)
    command('train', *arguments, status=130)
    assert len(ItemJournal(journal)) == 3
    monkeypatch.setattr('two_manifold_ros.inspection.coverage.survey_bag', survey_bag)

    stopped = Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr('two_manifold_ros.cli.train.train_model', stopped)
    command('train', *arguments, status=130)
    assert len(ItemJournal(journal)) == 8
    # A run that surveys nothing keeps nothing, whatever is there, and leaves it alone.
    journal.write_text('of another program')
    command('train', fleet_bags[0], *arguments[-2:], '-o', file, status=130)
    assert journal.read_text() == 'of another program'
