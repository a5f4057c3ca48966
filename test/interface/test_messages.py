# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics, all that is published for one estimate, and transforms by products of matrices."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
import math
from types import SimpleNamespace as Fields
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.network_lines import Branch
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface import messages, transforms

Build = Callable[..., messages.Message]
Pose = tuple[float, float, float]
HEADER = {'stamp': {'sec': 1_700_000_000, 'nanosec': 123_456_789}, 'frame_id': 'arena'}
SPHERE, CYLINDER, SPHERES = 2, 3, 7


@pytest.fixture
def build(estimate: Estimate, scene: messages.Scene) -> Build:
    """Return what builds the message of a topic, for the estimate with some changes."""
    return lambda topic, **changes: messages.BUILDERS[messages.PUBLISHED[topic]](
        replace(estimate, **changes), scene
    )


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict | list | tuple | np.ndarray):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif not isinstance(value, str):
        yield value


def test_every_topic_of_an_estimate_is_published_if_it_is_valid_and_in_its_type(estimate, scene):
    published = {name: kind for name, kind, _ in messages.messages_of(estimate, scene)}
    # The others are about the node, laps, and several routes.
    others = {'status', 'diagnostics', 'laps', 'routes', 'branches'}
    assert published == {
        name: topic.msgtype for name, topic in messages.PUBLISHED.items() if name not in others
    }

    def names(**changes: object) -> set[str]:
        return {name for name, _, _ in messages.messages_of(replace(estimate, **changes), scene)}

    assert names(places=None) == published.keys() - {'particles'}
    assert names(status=Status.FILLING) == set()
    scene.model.frame_id = 'lap'
    assert names() == {'latent_state'}
    scene.model.frame_id = 'arena'
    track = scene.model.track
    scene.model.track = np.full((4, 2), np.nan)
    still = replace(estimate, velocity=np.zeros(2), evidence=math.nan, novelty=math.nan, tick=0)
    sent = messages.messages_of(still, scene)
    assert sent
    for name, _, message in sent:
        assert all(math.isfinite(number) for number in numbers(message)), name
    scene.model.track = track
    pytest.importorskip('rosbags')
    from two_manifold_ros.recordings.message_building import MessageBuilder  # noqa: PLC0415

    builder = MessageBuilder()
    for _, msgtype, message in messages.messages_of(replace(estimate, tick=60), scene):
        assert len(builder.serialise(msgtype, message)) > 0


def test_frames_are_the_users_or_those_of_positions_and_vehicle(model):
    assert messages.choose_scene(model) == messages.Scene(model, 'arena', 'base_link')
    assert messages.choose_scene(model, 'world', 'car') == messages.Scene(model, 'world', 'car')
    # The fixed frame of the rviz layout, and what REP-105 calls such a frame.
    model.frame_id = model.imu_frame_id = ''
    assert messages.choose_scene(model).track == 'map'


def test_position_and_odometry_face_along_the_course(build, estimate):
    message = position = build('position')
    assert message['header'] == HEADER
    pose, half = message['pose']['pose'], math.sqrt(0.5)
    assert pose['position'] == {'x': 1.0, 'y': 2.0, 'z': 0.0}
    assert pose['orientation'] == pytest.approx({'x': 0.0, 'y': 0.0, 'z': half, 'w': half})
    covariance = message['pose']['covariance'].reshape(6, 6)
    np.testing.assert_array_equal(covariance[:2, :2], estimate.covariances[0])
    assert covariance[2, 2] == covariance[3, 3] == covariance[4, 4] == messages.UNKNOWN_VARIANCE
    # Across a course along y only the x velocity matters: 0.16 / 2^2.
    assert covariance[5, 5] == pytest.approx(0.04)
    assert np.all(np.linalg.eigvalsh(covariance) > 0)
    for speed in (0.0, 1e-200, 1e-3):
        slow = build('position', velocity=np.array([speed, 0.0]))
        assert slow['pose']['covariance'][35] == messages.UNIFORM_ANGLE_VARIANCE
    message = build('odometry')
    assert (message['header'], message['child_frame_id']) == (HEADER, 'base_link')
    assert message['pose']['pose'] == position['pose']['pose']
    np.testing.assert_array_equal(message['pose']['covariance'], position['pose']['covariance'])
    assert message['twist']['twist']['linear'] == {'x': 2.0, 'y': 0.0, 'z': 0.0}
    covariance = message['twist']['covariance'].reshape(6, 6)
    # The body faces along y: its x is the track's y, its y the track's -x.
    assert np.diag(covariance)[:2] == pytest.approx([0.25, 0.16])
    assert np.all(np.linalg.eigvalsh(covariance) > 0)


def test_the_path_lies_in_the_future_and_faces_the_next_pose(build, estimate):
    poses = build('predicted_path')['poses']
    stamps = [pose['header']['stamp'] for pose in poses]
    elapsed = [stamp['sec'] * 10**9 + stamp['nanosec'] - estimate.stamp_ns for stamp in stamps]
    assert elapsed == [0, 500_000_000, 2_500_000_000]
    assert {pose['header']['frame_id'] for pose in poses} == {'arena'}

    def yaws(poses: list[messages.Message]) -> list[float]:
        turns = [pose['pose']['orientation'] for pose in poses]
        return [2 * math.atan2(turn['z'], turn['w']) for turn in turns]

    np.testing.assert_allclose(yaws(poses), [math.pi / 2, math.pi, math.pi])
    # Positions that coincide keep the direction.
    still = build('predicted_path', positions=np.ones((3, 2)))['poses']
    np.testing.assert_allclose(yaws(still), [math.pi / 2] * 3)


def test_the_latent_state_is_a_labelled_array(build, estimate):
    state = np.array([3, math.nan, 0.125])
    message = build('latent_state', state=state)
    seconds, nanoseconds, *numbers = message['data']
    assert int(seconds) * 10**9 + int(nanoseconds) == estimate.stamp_ns
    assert all(isinstance(number, float) for number in message['data'])
    np.testing.assert_array_equal(numbers, state)
    (dimension,) = message['layout']['dim']
    label = 'sec,nanosec,state_0,state_1,state_2'
    assert dimension == {'label': label, 'size': 5, 'stride': 5}
    assert isinstance(messages.labelled_array(0, {'used': 3})['data'][2], float)


def test_particles_are_points_and_their_weights(build):
    message = build('particles')
    assert message['header'] == HEADER
    assert (message['height'], message['width'], message['is_bigendian']) == (1, 2, False)
    step = message['point_step']
    assert message['row_step'] == len(message['data']) == 2 * step
    assert [each['name'] for each in message['fields']] == ['x', 'y', 'z', 'weight']
    offsets = [each['offset'] for each in message['fields']]
    kind = np.dtype({'names': list('xyzw'), 'formats': ['<f4'] * 4, 'offsets': offsets,
                     'itemsize': step})  # fmt: skip
    rows = np.frombuffer(bytes(message['data']), kind).tolist()
    assert rows == [(1.0, 2.0, 0.0, 0.75), (-3.5, 0.25, 0.0, 0.125)]
    empty = build('particles', places=np.zeros((0, 3)))
    assert empty['width'] == empty['row_step'] == len(empty['data']) == 0


def test_axes_of_a_turned_covariance():
    angle = 0.7
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    long, short, yaw = messages.ellipse95(turn @ np.diag([4.0, 1.0]) @ turn.T)
    # The root of the 95 % quantile of chi square with two degrees of freedom.
    assert (long, short) == pytest.approx((4 * 2.4477468, 2 * 2.4477468))
    assert yaw % math.pi == pytest.approx(angle)


def test_runs_are_split_at_seams_and_thinned_but_keep_their_ends_and_shape():
    gap = [np.nan, np.nan]
    track = np.array([gap, [0, 0], [1, 0], gap, gap, [5, 5], gap, [2, 0], [3, 0], [4, 1]])
    runs = messages.DrawnTrack(track).runs
    assert [run.tolist() for run in runs] == [[[0, 0], [1, 0]], [[2, 0], [3, 0], [4, 1]]]
    angle = np.linspace(0, 2 * np.pi * 100, 50_000)
    laps = np.column_stack([np.cos(angle), np.sin(angle)])
    parts = laps, laps[:777]
    runs = messages.DrawnTrack(np.vstack([laps, [gap], parts[1]]), most_points=4000).runs
    assert sum(map(len, runs)) <= 4004
    for run, whole in zip(runs, parts, strict=True):
        np.testing.assert_array_equal(run[[0, -1]], whole[[0, -1]])
        np.testing.assert_allclose(np.hypot(*run.T), 1.0)
    # And without points or without size.
    nowhere = messages.DrawnTrack(np.full((3, 2), np.nan))
    assert (nowhere.runs, nowhere.size > 0) == ([], True)
    (run,) = messages.DrawnTrack(np.ones((5, 2))).runs
    assert np.isfinite(run).all()


def by_namespace(message: messages.Message) -> dict[str, list[messages.Message]]:
    ordered = sorted(message['markers'], key=lambda each: each['ns'])
    return {name: list(each) for name, each in groupby(ordered, key=lambda each: each['ns'])}


def test_markers_of_position_path_and_growing_ellipses(build, estimate):
    found = by_namespace(build('markers'))
    assert sorted(found) == ['ellipse', 'position', 'predicted_path']
    assert found['position'][0]['type'] == SPHERE
    # Of a model without a map: straight lines would not be on the road.
    assert found['predicted_path'][0]['type'] == SPHERES
    drawn = [(point['x'], point['y']) for point in found['predicted_path'][0]['points']]
    assert drawn == [(1, 2), (1, 3), (0, 3)]
    ellipses = found['ellipse']
    assert [(each['id'], each['type']) for each in ellipses] == [(n, CYLINDER) for n in range(3)]
    assert np.all(np.diff([marker['scale']['x'] for marker in ellipses]) > 0)
    # Where lines part, the path is along one road, and no ellipse is drawn around both.
    ways = [
        Branch(name, chance, (0.0, 1.0, 2.0), estimate.positions + shift)
        for name, chance, shift in (('a', 0.7, 9.0), ('b+c', 0.2, -9.0))
    ]
    parted = {'line': 'a', 'chances': {'a': 0.7, 'b': 0.1, 'c': 0.1}, 'branches': tuple(ways)}
    found = by_namespace(build('markers', fork=1, **parted))
    assert len(found['ellipse']) == 1
    for name, way in (('predicted_path', ways[0]), ('branch', ways[1])):
        drawn = [(point['x'], point['y']) for point in found[name][0]['points']]
        assert drawn[-3:] == [tuple(each) for each in way.positions.tolist()]
    assert found['route'][0]['text'] == 'a 70%'
    poses = build('predicted_path', fork=1, **parted)['poses']
    assert [each['pose']['position']['x'] for each in poses] == ways[0].positions[:, 0].tolist()
    one = {'positions': estimate.positions[:1], 'covariances': estimate.covariances[:1]}
    assert sorted(by_namespace(build('markers', **one))) == ['ellipse', 'position']


def test_the_track_comes_once_a_second_and_markers_vanish_unless_renewed(build):
    drawn = (by_namespace(build('markers', tick=tick)) for tick in range(60, 101))
    assert [tick for tick, found in enumerate(drawn, 60) if 'track' in found] == [60, 80, 100]
    markers = by_namespace(build('markers', tick=60))
    assert [(each['id'], each['type']) for each in markers['track']] == [(0, 4), (1, 4)]
    for marker in (each for found in markers.values() for each in found):
        assert 1 <= marker['lifetime']['sec'] + marker['lifetime']['nanosec'] / 1e9 <= 3
        assert (marker['header']['frame_id'], marker['action']) == ('arena', 0)


BEGIN_NS = 1_700_000_000_000_000_000
SLOW = np.array([[1.0, 0.0], [0.0, 1.0]])


def odometry(
    seconds: float, pose: Pose, speed: float = 1.0, child: str = 'base_link', frame: str = 'odom'
) -> Any:  # noqa: ANN401 - as a message
    """Return what has the fields of ``nav_msgs/Odometry``."""
    seconds, nanoseconds = divmod(BEGIN_NS + round(1e9 * seconds), 10**9)
    x, y, yaw = pose
    turn = Fields(x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    return Fields(
        header=Fields(frame_id=frame, stamp=Fields(sec=seconds, nanosec=nanoseconds)),
        child_frame_id=child,
        pose=Fields(pose=Fields(position=Fields(x=x, y=y, z=0.0), orientation=turn)),
        twist=Fields(twist=Fields(linear=Fields(x=speed), angular=Fields(z=0.0))),
    )


def matrix(x: float, y: float, yaw: float) -> np.ndarray:
    cosine, sine = math.cos(yaw), math.sin(yaw)
    return np.array([[cosine, -sine, x], [sine, cosine, y], [0.0, 0.0, 1.0]])


@pytest.fixture
def frame() -> transforms.OdometryFrame:
    return transforms.OdometryFrame('map', 'base_link')


@pytest.fixture
def at(estimate):
    """Return the estimate at a time and a pose; it drives where the yaw points, or the course."""

    def moved(seconds: float, pose: Pose, **changes: object) -> Estimate:
        x, y, yaw = pose
        positions = np.vstack([[x, y], estimate.positions[1:]])
        usual = {
            'velocity': 2.0 * np.array([math.cos(yaw), math.sin(yaw)]),
            'velocity_covariance': 1e-4 * np.eye(2),
        }
        stamp_ns = BEGIN_NS + round(1e9 * seconds)
        return replace(estimate, stamp_ns=stamp_ns, positions=positions, **usual | changes)

    return moved


@pytest.mark.parametrize('seed', range(3))
def test_the_vehicle_is_where_the_estimate_has_it(seed, at, frame):
    rng = np.random.default_rng(seed)
    before, after, true = (tuple(rng.uniform(-3.0, 3.0, 3).tolist()) for _ in range(3))
    after = (*after[:2], before[2] + 0.4)
    frame.take(odometry(0.0, before))
    frame.take(odometry(0.1, after))
    # A quarter of the way between the two.
    between = [a + 0.25 * (b - a) for a, b in zip(before, after, strict=True)]
    found = frame.locate(at(0.025, true))
    np.testing.assert_allclose(matrix(*found) @ matrix(*between), matrix(*true), atol=1e-9)
    assert (frame.frame, frame.trouble) == ('odom', '')


def test_it_keeps_its_yaw_while_the_course_is_not_sure_or_against_it(at, frame):
    frame.take(odometry(0.0, (0.0, 0.0, 0.0)))
    slow = 4.0 * (1.1 * transforms.SURE_YAW) ** 2 * np.eye(2)
    assert frame.locate(at(0.0, (1.0, 1.0, 0.5), velocity_covariance=slow)) is None
    assert 'course was not sure' in frame.trouble
    assert frame.locate(at(0.0, (1.0, 1.0, 0.5)))[2] == pytest.approx(0.5)
    assert not frame.trouble
    # It turned by a degree on the spot, and the course says something else.
    frame.take(odometry(1.0, (0.0, 0.0, 0.02), speed=0.0))
    stands = at(1.0, (1.0, 1.0, 0.0), velocity=np.zeros(2), velocity_covariance=SLOW)
    np.testing.assert_allclose(frame.locate(stands), (1.0, 1.0, 0.5))
    # In reverse it faces against its course.
    frame = transforms.OdometryFrame('map', 'base_link')
    frame.take(odometry(0.0, (0.0, 0.0, 0.3), speed=-2.0))
    found = frame.locate(at(0.0, (1.0, 2.0, 1.3 - math.pi)))
    np.testing.assert_allclose(found, (1.0, 2.0, 1.0), atol=1e-12)
    # Wheels that slip turn backwards by less than half of its speed, or stand.
    for tick, speed in enumerate((-2.0, -0.5, 0.0, 0.9, -1e-4), 1):
        frame.take(odometry(0.1 * tick, (0.0, 0.0, 0.3), speed=speed))
        found = frame.locate(at(0.1 * tick, (1.0, 2.0, 1.3 - math.pi)))
        assert found[2] == pytest.approx(1.0, abs=1e-9)


def test_the_yaw_follows_a_noisy_course_as_slowly_as_it_drifts(at, frame):
    rng = np.random.default_rng(2)
    spread, found, wanted = 0.1, [], []
    for tick in range(40 * 60):
        seconds = tick / 40.0
        true = 1.0 + math.radians(seconds / 60.0)
        frame.take(odometry(seconds, (30.0, 0.0, 0.0), speed=2.0))
        course = true + spread * rng.standard_normal()
        unsure = {'velocity_covariance': 4.0 * spread**2 * np.eye(2)}
        found.append(frame.locate(at(seconds, (0.0, 0.0, course), **unsure))[2])
        wanted.append(true)
    errors = np.array(found)[400:] - wanted[400:]
    assert np.sqrt(np.mean(np.square(errors))) < 0.15 * spread


def test_a_stall_is_bridged_and_silence_is_not(at, frame):
    frame.take(odometry(0.0, (5.0, 0.0, 0.0), speed=2.0))
    soon, late = transforms.LONGEST_S - 0.1, transforms.LONGEST_S + 0.1
    x, y, yaw = frame.locate(at(soon, (9.0, 0.0, 0.0)))
    np.testing.assert_allclose((x, y, yaw), (9.0 - 5.0 - 2.0 * soon, 0.0, 0.0), atol=1e-12)
    assert not frame.trouble
    assert frame.locate(at(late, (9.0, 0.0, 0.0))) is None
    assert 'no pose for the time' in frame.trouble
    assert frame.locate(at(-1.0, (9.0, 0.0, 0.0))) is None
    frame.take(odometry(late, (5.0, 0.0, 0.0)))
    assert frame.locate(at(late, (9.0, 0.0, 0.0))) is not None
    assert not frame.trouble
    # Nor is a hole between two poses, of which many are kept, by their age.
    assert frame.locate(at(0.5 * late, (9.0, 0.0, 0.0))) is None
    for tick in range(3000):
        frame.take(odometry(late + 0.001 * tick, (0.001 * tick, 0.0, 0.0)))
    x, *_ = frame.locate(at(late + 2.599, (0.0, 0.0, 0.0)))
    assert x == pytest.approx(-2.599)


def test_what_cannot_be_used_or_starts_again_says_why_and_changes_nothing(at, frame):
    assert 'no odometry came' in frame.trouble
    nowhere = 0.0, 0.0, 0.0
    for wrong, words in (
        (odometry(0.0, nowhere, child='wheels'), "'wheels'"),
        (odometry(0.0, (math.nan, 0.0, 0.0)), 'not finite'),
        (odometry(0.0, nowhere, frame=''), 'no frame'),
        (odometry(0.0, nowhere, frame='map'), "in 'map' as the estimates"),
    ):
        frame.take(wrong)
        assert words in frame.trouble
    frame.take(odometry(0.0, nowhere))
    assert not frame.trouble
    assert frame.locate(at(0.0, (1.0, 0.0, 0.0))) is not None
    # An odometry that starts again is another one.
    frame = transforms.OdometryFrame('map', 'base_link')
    frame.take(odometry(5.0, (1.0, 0.0, 0.0)))
    known = frame.locate(at(5.0, (0.0, 0.0, 1.0)))
    frame.take(odometry(4.9, (8.0, 8.0, 0.0)))
    assert frame.locate(at(5.0, (0.0, 0.0, 1.0))) == pytest.approx(known)
    frame.take(odometry(0.0, (0.0, 0.0, 0.0)))
    slow = {'velocity': np.zeros(2), 'velocity_covariance': SLOW}
    assert frame.locate(at(0.0, (0.0, 0.0, 1.0), **slow)) is None
    assert frame.locate(at(5.0, (0.0, 0.0, 1.0))) is None


def test_messages_also_on_a_route_in_another_frame(estimate, scene, at):
    """The frames of two routes say nothing of each other: no yaw of one is one of the other."""
    (transform,) = transforms.transform_message(estimate, scene)['transforms']
    pose = messages.position_message(estimate, scene)
    assert (transform['header'], transform['child_frame_id']) == (pose['header'], 'base_link')
    assert transform['transform']['translation'] == pose['pose']['pose']['position']
    assert transform['transform']['rotation'] == pose['pose']['pose']['orientation']
    frame = transforms.OdometryFrame('arena', 'base_link')
    assert transforms.transform_message(estimate, scene, frame) is None
    frame.take(odometry(0.0, (0.0, 0.0, 0.0)))
    (transform,) = transforms.transform_message(at(0.0, (1.0, 2.0, 0.0)), scene, frame)[
        'transforms'
    ]
    assert (transform['header']['frame_id'], transform['child_frame_id']) == ('arena', 'odom')
    assert transform['transform']['translation'] == {'x': 1.0, 'y': 2.0, 'z': 0.0}
    # On a route in another frame the odometry is turned anew.
    frame = transforms.OdometryFrame(scene.track, 'base_link')
    hall = replace(scene, track='hall')
    for tick in range(40):
        frame.take(odometry(0.1 * tick, (0.1 * tick, 0.0, 0.0)))
        transforms.transform_message(at(0.1 * tick, (0.1 * tick, 0.0, 0.0)), scene, frame)
    # In the hall the same way leads north; first the course is not sure.
    unsure = at(3.9, (5.0, 5.0, 0.5 * math.pi), velocity_covariance=np.eye(2))
    assert transforms.transform_message(unsure, hall, frame) is None
    assert 'course' in frame.trouble
    (transform,) = transforms.transform_message(at(3.9, (5.0, 5.0, 0.5 * math.pi)), hall, frame)[
        'transforms'
    ]
    assert transform['header']['frame_id'] == 'hall'
    turned = transform['transform']['rotation']
    assert 2.0 * math.atan2(turned['z'], turned['w']) == pytest.approx(0.5 * math.pi)
    # And in the frame of the odometry itself there is no transform.
    assert transforms.transform_message(unsure, replace(scene, track='odom'), frame) is None
    assert 'as the estimates' in frame.trouble
