# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node with lines, laps, marks and fixes, and with a model of several routes."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from dataclasses import replace
from pathlib import Path

from geometry_msgs.msg import PointStamped, PoseStamped, PoseWithCovarianceStamped
from imu_feed import Feed
from nav_msgs.msg import Odometry
from rclpy.publisher import Publisher
from ros_talk import Health, numbers_of, stamp_of
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import MarkerArray

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.messages import choose_scene, stamp_fields
from two_manifold_ros.laps.unplaced import place
from two_manifold_ros.model.model import atlas_of
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.nodes.callbacks import EstimatePublishers
from two_manifold_ros.recordings.ros_messages import to_message
from two_manifold_ros.simulation.slot_car_run import run_to_recording, TRACK_FRAME
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4


def mark(publisher: Publisher, stamp_ns: int) -> None:
    header = {'stamp': stamp_fields(stamp_ns)}
    publisher.publish(to_message('geometry_msgs/msg/PointStamped', {'header': header}))


def test_nothing_is_advertised_where_a_transform_has_no_positions(talk, model_path):
    laps = replace(load_model(model_path), frame_id=LAP_FRAME)
    before = {each.topic_name for each in talk.node.publishers}
    with pytest.raises(InputError, match='the model knows laps and no positions'):
        EstimatePublishers(talk.node, choose_scene(laps), transform=True)
    assert {each.topic_name for each in talk.node.publishers} == before


def test_fixes_and_marks_that_come_while_driving_place_laps_and_move_the_line(
    talk, follow, drive, tmp_path
):
    """The model was trained without any position, and publishes some from the fixes on."""
    recording = replace(run_to_recording(drive), positions=None)
    path = tmp_path / 'laps.npz'
    save_model(train_model(list(place([recording], None).recordings), TrainingSettings()), path)
    health, feed = follow(path, mark_topic='line', fix_topic='reference')
    # The node looks for types once a second.
    marks = talk.publisher(PointStamped, 'line')
    feed.reference, feed.every = talk.publisher(PoseStamped, 'reference'), 20
    laps = talk.listen(Float64MultiArray, 'laps', 1000)
    odometry = talk.listen(Odometry, 'odometry', 1000)
    places = drive.positions[:, :2]
    line = places[len(places) // 4]
    apart = np.hypot(*(places - line).T)
    nearest = (apart[1:-1] < apart[:-2]) & (apart[1:-1] <= apart[2:]) & (apart[1:-1] < 0.05)
    passages = (np.flatnonzero(nearest) + 1).tolist()
    end = 3 * len(places) // 4
    for passage in [each for each in passages if each < end]:
        feed.send(passage + 5 - feed.sent)
        mark(marks, int(drive.stamps_ns[passage]))
    feed.send(end - feed.sent)
    last = int(drive.stamps_ns[end - 1]) - 10**9
    talk.until(lambda: odometry and stamp_of(odometry[-1]) > last, 'the odometry')
    talk.until(lambda: len(laps) > 100, 'the laps')
    found = odometry[-len(odometry) // 3 :]
    stamps = np.array([stamp_of(each) for each in found])
    truth = np.stack([np.interp(stamps, drive.stamps_ns, axis) for axis in places.T], axis=1)
    at = np.array([[m.pose.pose.position.x, m.pose.pose.position.y] for m in found])
    size = float(np.sqrt(places.var(axis=0).sum()))
    assert np.sqrt(np.square(at - truth).sum(axis=1).mean()) < 0.1 * size
    assert found[0].header.frame_id == TRACK_FRAME
    lap = numbers_of(laps[-1])
    stamp = int(lap['sec']) * 10**9 + int(lap['nanosec'])
    share = np.interp(stamp, drive.stamps_ns[passages], np.arange(len(passages)))
    assert abs((lap['phase'] - share + 0.5) % 1.0 - 0.5) < 0.1
    health.until('tracking')
    assert int(health.values['marks']) == len([each for each in passages if each < end])
    assert int(health.values['fixes']) > 20


def test_marks_come_through_every_transition_and_a_swap(talk, start, drive, model_path, tmp_path):
    """They and fixes go on while the node is inactive, unconfigured, and with another model."""
    laps_alone = replace(load_model(model_path), frame_id=LAP_FRAME)
    paths = [tmp_path / f'{name}.npz' for name in ('laps', 'other')]
    for path in paths:
        save_model(laps_alone, path)
    topics = {'mark_topic': 'line', 'fix_topic': 'reference'}
    start('filter_node', model=paths[0], managed='true', input_timeout_s=60.0, **topics)
    health = Health(talk)
    health.until('waiting for the lifecycle manager')
    # What is not possible is refused, and harms nothing.
    assert not any(map(talk.transition, (ACTIVATE, 99)))
    kinds = {'line': PointStamped, 'reference': PoseStamped, 'imu': Imu}
    marks, fixes, imu = (
        talk.node.create_publisher(kind, name, 1000) for name, kind in kinds.items()
    )
    feed = Feed(talk, drive, imu, fixes, every=5)

    def drive_on(samples: int) -> None:
        for _ in range(5):
            feed.send(samples // 5)
            mark(marks, int(drive.stamps_ns[feed.sent - 5]))

    def drive_until_marked() -> None:
        assert talk.transition(ACTIVATE)
        talk.until(marks.get_subscription_count, 'the marks')
        drive_on(700)
        talk.until(lambda: int(health.values.get('marks', 0)) > 0, 'a mark that counts')

    drive_on(100)
    assert talk.transition(CONFIGURE)
    estimates = talk.listen(Float64MultiArray, 'latent_state')
    drive_on(100)
    health.until('not active')
    assert (estimates, health.values['received']) == ([], '0')
    drive_until_marked()
    assert talk.transition(DEACTIVATE)
    talk.rest(0.5)
    count = len(estimates)
    drive_on(100)
    assert talk.transition(CLEANUP)
    health.until('cleaned up')
    assert len(estimates) == count > 0
    talk.until(lambda: not marks.get_subscription_count(), 'no listener')
    drive_on(100)
    assert talk.transition(CONFIGURE)
    drive_until_marked()
    assert talk.swap(paths[1])
    # With nothing to filter there is nothing to wait for, but for the time after which that is.
    assert talk.transition(DEACTIVATE)
    health.until_value('swaps', '1')
    assert talk.transition(ACTIVATE)
    drive_on(700)
    talk.until(lambda: int(health.values.get('marks', 0)) > 0, 'a mark that counts')
    assert health.values['callback_errors'] == '0'


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


def test_the_route_is_named_and_positions_are_in_its_frame(talk, follow, drive, atlas_path):
    health, feed = follow(atlas_path)
    kinds = dict.fromkeys(('routes', 'branches', 'status', 'laps'), Float64MultiArray)
    kinds |= {'position': PoseWithCovarianceStamped, 'markers': MarkerArray}
    heard = {name: talk.listen(kind, name, 1000) for name, kind in kinds.items()}
    feed.send(len(drive.stamps_ns) // 2)
    talk.until(lambda: len(heard['position']) > 200 and heard['routes'], 'positions')
    own = load_model(atlas_path).routes['track']
    assert {each.header.frame_id for each in heard['position'][-50:]} == {own.frame_id}
    health.until_value('route', 'track')
    # They come with new estimates alone, so that those of the past are not said again and again.
    count, statuses = len(heard['routes']), len(heard['status'])
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
    (named,) = (each for each in heard['markers'][-1].markers if each.ns == 'route')
    assert named.text == 'track 100%'
    talk.until(lambda: heard['laps'], 'laps')
    assert health.values['callback_errors'] == '0'


def test_an_atlas_takes_over_from_one_of_its_routes(talk, follow, model_path, atlas_path):
    health, feed = follow(model_path)
    feed.send(300)
    assert talk.swap(atlas_path)

    def drive_on() -> bool:
        feed.send(10)
        return health.values.get('swaps') == '1'

    talk.until(drive_on, 'the swap')
    routes = talk.listen(Float64MultiArray, 'routes', 100)
    feed.send(300)
    talk.until(lambda: routes, 'chances of routes, which were not there before')
    health.until_value('route', 'track')
    assert health.values['callback_errors'] == '0'
