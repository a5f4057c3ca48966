# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Transforms to the vehicle and to the frame of an odometry, against products of matrices."""

from dataclasses import replace
import math
from types import SimpleNamespace as Fields
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.messages import position_message
from two_manifold_ros.interface.transforms import (
    LONGEST_S,
    OdometryFrame,
    SURE_YAW,
    transform_message,
)

BEGIN_NS = 1_700_000_000_000_000_000
SLOW = np.array([[1.0, 0.0], [0.0, 1.0]])


def odometry(
    seconds: float,
    pose: tuple[float, float, float],
    speed: float = 1.0,
    child: str = 'base_link',
    frame: str = 'odom',
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
def frame() -> OdometryFrame:
    return OdometryFrame('map', 'base_link')


@pytest.fixture
def at(estimate):
    """Return the estimate at a time and a pose; it drives where the yaw points, or the course."""

    def moved(seconds: float, pose: tuple[float, float, float], **changes: object) -> Estimate:
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
    slow = 4.0 * (1.1 * SURE_YAW) ** 2 * np.eye(2)
    assert frame.locate(at(0.0, (1.0, 1.0, 0.5), velocity_covariance=slow)) is None
    assert 'course was not sure' in frame.trouble
    assert frame.locate(at(0.0, (1.0, 1.0, 0.5)))[2] == pytest.approx(0.5)
    assert not frame.trouble
    # It turned by a degree on the spot, and the course says something else.
    frame.take(odometry(1.0, (0.0, 0.0, 0.02), speed=0.0))
    stands = at(1.0, (1.0, 1.0, 0.0), velocity=np.zeros(2), velocity_covariance=SLOW)
    np.testing.assert_allclose(frame.locate(stands), (1.0, 1.0, 0.5))
    # In reverse it faces against its course.
    frame = OdometryFrame('map', 'base_link')
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
    soon, late = LONGEST_S - 0.1, LONGEST_S + 0.1
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
    frame = OdometryFrame('map', 'base_link')
    frame.take(odometry(5.0, (1.0, 0.0, 0.0)))
    known = frame.locate(at(5.0, (0.0, 0.0, 1.0)))
    # A late one is left out.
    frame.take(odometry(4.9, (8.0, 8.0, 0.0)))
    assert frame.locate(at(5.0, (0.0, 0.0, 1.0))) == pytest.approx(known)
    frame.take(odometry(0.0, (0.0, 0.0, 0.0)))
    slow = {'velocity': np.zeros(2), 'velocity_covariance': SLOW}
    assert frame.locate(at(0.0, (0.0, 0.0, 1.0), **slow)) is None
    assert frame.locate(at(5.0, (0.0, 0.0, 1.0))) is None


def test_messages_also_on_a_route_in_another_frame(estimate, scene, at):
    """The frames of two routes say nothing of each other: no yaw of one is one of the other."""
    (transform,) = transform_message(estimate, scene)['transforms']
    pose = position_message(estimate, scene)
    assert (transform['header'], transform['child_frame_id']) == (pose['header'], 'base_link')
    assert transform['transform']['translation'] == pose['pose']['pose']['position']
    assert transform['transform']['rotation'] == pose['pose']['pose']['orientation']
    frame = OdometryFrame('arena', 'base_link')
    assert transform_message(estimate, scene, frame) is None
    frame.take(odometry(0.0, (0.0, 0.0, 0.0)))
    (transform,) = transform_message(at(0.0, (1.0, 2.0, 0.0)), scene, frame)['transforms']
    assert (transform['header']['frame_id'], transform['child_frame_id']) == ('arena', 'odom')
    assert transform['transform']['translation'] == {'x': 1.0, 'y': 2.0, 'z': 0.0}
    # On a route in another frame the odometry is turned anew.
    frame = OdometryFrame(scene.track, 'base_link')
    hall = replace(scene, track='hall')
    for tick in range(40):
        frame.take(odometry(0.1 * tick, (0.1 * tick, 0.0, 0.0)))
        transform_message(at(0.1 * tick, (0.1 * tick, 0.0, 0.0)), scene, frame)
    # In the hall the same way leads north; first the course is not sure.
    unsure = at(3.9, (5.0, 5.0, 0.5 * math.pi), velocity_covariance=np.eye(2))
    assert transform_message(unsure, hall, frame) is None
    assert 'course' in frame.trouble
    (transform,) = transform_message(at(3.9, (5.0, 5.0, 0.5 * math.pi)), hall, frame)['transforms']
    assert transform['header']['frame_id'] == 'hall'
    turned = transform['transform']['rotation']
    assert 2.0 * math.atan2(turned['z'], turned['w']) == pytest.approx(0.5 * math.pi)
    # And in the frame of the odometry itself there is no transform.
    assert transform_message(unsure, replace(scene, track='odom'), frame) is None
    assert 'as the estimates' in frame.trouble
