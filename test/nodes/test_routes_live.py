# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node with a model of several routes: which one, in whose frame, also after a swap."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from dataclasses import replace
from pathlib import Path

from geometry_msgs.msg import PoseWithCovarianceStamped
from imu_feed import connect, Feed
import numpy as np
from ros_talk import Health, numbers_of
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from two_manifold_ros.model.atlas import atlas_of
from two_manifold_ros.model.model import NetworkLines
from two_manifold_ros.model.model_file import load_model, save_model


@pytest.fixture(scope='module')
def atlas_path(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model of the slot car beside one in another hall that reads the opposite."""
    own = load_model(model_path)
    likelihood = own.route.likelihood
    opposite = replace(likelihood, means=-likelihood.means, new_means=-likelihood.new_means)
    other = replace(own, frame_id='hall', route=replace(own.route, likelihood=opposite))
    path = tmp_path_factory.mktemp('atlas') / 'atlas.npz'
    save_model(atlas_of({'a hall': other, 'track': own}), path)
    return path


@pytest.fixture(scope='module')
def lines_path(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model of the slot car as a line of a network; the other one is never driven."""
    own = load_model(model_path)
    passes = np.tile([1.0, 0.0], (own.route.places, 1))
    nowhere = np.zeros((0, 2, len(own.horizons), 2))
    forks = np.zeros(0, dtype=np.int64)
    lines = NetworkLines(('loop', 'spur'), 100.0, passes, forks, nowhere, 1.0)
    path = tmp_path_factory.mktemp('lines') / 'lines.npz'
    save_model(replace(own, lines=lines), path)
    return path


@pytest.fixture
def half_driven(talk, start, drive):
    """Return a function that runs a model over half a drive: its health, and what it published."""

    def run(path: Path, **further: type) -> tuple[Health, dict[str, list]]:
        start('filter_node', model=path, input_timeout_s=60.0)
        health = Health(talk)
        health.until('waiting for the first IMU message on /imu')
        numbers = dict.fromkeys(('routes', 'branches', 'status'), Float64MultiArray)
        kinds = {**numbers, 'position': PoseWithCovarianceStamped, **further}
        heard = {name: talk.listen(kind, name, 1000) for name, kind in kinds.items()}
        Feed(talk, drive, connect(talk, health)).send(len(drive.stamps_ns) // 2)
        talk.until(lambda: len(heard['position']) > 200 and heard['routes'], 'positions')
        return health, heard

    return run


def test_lines_of_one_map_are_named_too(half_driven, lines_path):
    health, heard = half_driven(lines_path)
    health.until_value('route', 'loop')
    numbers = numbers_of(heard['routes'][-1])
    assert list(numbers) == ['sec', 'nanosec', 'loop', 'spur', 'none']
    assert numbers['loop'] > 0.9
    assert numbers['spur'] < 0.01
    assert numbers_of(heard['branches'][-1])['loop.chance'] > 0.9
    assert numbers_of(heard['status'][-1])['route_number'] == 0.0


def test_the_route_is_named_and_positions_are_in_its_frame(talk, half_driven, atlas_path):
    health, heard = half_driven(atlas_path, markers=MarkerArray, laps=Float64MultiArray)
    own = load_model(atlas_path).routes['track']
    assert {each.header.frame_id for each in heard['position'][-50:]} == {own.frame_id}
    health.until_value('route', 'track')
    # They come with new estimates alone, so that those of the past are not said again and again.
    count = len(heard['routes'])
    statuses = len(heard['status'])
    talk.until(lambda: len(heard['status']) > statuses + 20, 'status of a silent input')
    assert len(heard['routes']) <= count + 1
    numbers = numbers_of(heard['routes'][-1])
    assert list(numbers) == ['sec', 'nanosec', 'a hall', 'track', 'none']
    assert numbers['track'] > 0.9
    assert sum(list(numbers.values())[2:]) == pytest.approx(1.0)
    assert float(health.values['chance of track']) == pytest.approx(numbers['track'], abs=0.1)
    status = numbers_of(heard['status'][-1])
    assert status['route_number'] == 1.0
    assert status['route_chance'] > 0.9
    branch = numbers_of(heard['branches'][-1])
    assert branch['track.chance'] > 0.9
    last = heard['position'][-1].pose.pose.position
    assert [branch['track.x_0'], branch['track.y_0']] == pytest.approx([last.x, last.y])
    names = [each.text for each in heard['markers'][-1].markers if each.ns == 'route']
    assert names == ['track 100%']
    talk.until(lambda: heard['laps'], 'laps')
    assert health.values['callback_errors'] == '0'


def test_an_atlas_takes_over_from_one_of_its_routes(talk, start, drive, model_path, atlas_path):
    start('filter_node', model=model_path, input_timeout_s=60.0)
    health = Health(talk)
    health.until('waiting for the first IMU message on /imu')
    feed = Feed(talk, drive, connect(talk, health))
    feed.send(300)
    assert talk.change('filter_node', 'next_model', str(atlas_path)).successful
    assert talk.call(Trigger, 'filter_node/swap_model').success

    def drive_on() -> bool:
        feed.send(10)
        return health.values.get('swaps') == '1'

    talk.until(drive_on, 'the swap')
    routes = talk.listen(Float64MultiArray, 'routes', 100)
    feed.send(300)
    talk.until(lambda: routes, 'chances of routes, which were not there before')
    health.until_value('route', 'track')
    assert health.values['callback_errors'] == '0'
