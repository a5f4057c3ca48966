# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages as position fixes on the map of a model."""

from collections import Counter
from dataclasses import replace
import math
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.fixes import Fix, NEWEST
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.interface import fixes
from two_manifold_ros.interface.fixes import FixInput
from two_manifold_ros.interface.messages import choose_scene, planar_covariance, pose_fields
from two_manifold_ros.interface.session import Session
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import GEODETIC

POSE = 'geometry_msgs/msg/PoseWithCovarianceStamped'


def as_message(fields: object) -> object:
    if not isinstance(fields, dict):
        return fields
    return SimpleNamespace(**{name: as_message(each) for name, each in fields.items()})


class Taken:
    """A `FixInput` of a model, with the fixes that its session was given."""

    def __init__(self, model, track='', find=None) -> None:
        self.fixes: list[Fix] = []
        self.filter, self.fix_behind_s = SimpleNamespace(fixes=Counter()), 0.0
        self.latest, self.model = None, model
        scene = choose_scene(model, track)
        self.input = FixInput(lambda: self, lambda: scene, lambda raw, _: as_message(raw), find)

    def fix(self, fix: Fix, *, clicked: bool) -> None:
        assert clicked == (fix.heading_variance > 0.0)
        self.fixes.append(fix)

    def take(self, frame, place, yaw=0.0, covariance=None, msgtype=POSE, **fields: object) -> None:
        stamp = {'sec': 7, 'nanosec': 5}
        plane = planar_covariance(np.eye(2) if covariance is None else covariance, 0.3)
        pose = {'pose': pose_fields(place, yaw), 'covariance': plane}
        header = {'stamp': stamp, 'frame_id': frame}
        take = self.input.begin('initialpose', msgtype, clicked=msgtype == POSE)
        take({'header': header, 'pose': pose, **fields})


@pytest.fixture(scope='module')
def model(model_path):
    return replace(load_model(model_path), frame_id='arena')


@given(st.tuples(*[st.floats(-9.0, 9.0)] * 3), st.floats(-3.0, 3.0))
def test_a_fix_is_at_the_same_place_in_each_frame(model, place, yaw):
    x, y, turned = place
    at, covariance = np.array([1.0, 2.0]), np.array([[4.0, 2.0], [2.0, 1.0]])
    cosine, sine = math.cos(turned), math.sin(turned)
    turn = np.array([[cosine, -sine], [sine, cosine]])
    taken = Taken(model, 'map', lambda *_: (x, y, turned))
    for frame in ('', 'map', '/arena'):
        taken.take(frame, turn @ at + [x, y], yaw + turned, turn @ covariance @ turn.T)
    taken.take('odom', at, yaw, covariance)
    assert len(taken.fixes) == 4, taken.input.complaint
    for found in taken.fixes:
        np.testing.assert_allclose(found.position, turn @ at + [x, y], atol=1e-9)
        np.testing.assert_allclose(found.covariance, turn @ covariance @ turn.T, atol=1e-9)
        assert math.remainder(found.heading - yaw - turned, math.tau) == pytest.approx(0.0)
        assert (found.stamp_ns, found.heading_variance) == (7_000_000_005, 0.3)
        assert found.on_map_of(model) is found


def test_what_cannot_be_placed_is_counted_and_said_for_a_while(model, monkeypatch):
    now_s = 0.0
    monkeypatch.setattr(fixes, 'monotonic', lambda: now_s)
    satellites = {
        'msgtype': GEODETIC, 'latitude': 48.0, 'longitude': 11.0, 'altitude': 0.0,
        'status': {'status': 0}, 'position_covariance': np.zeros(9), 'position_covariance_type': 0,
    }  # fmt: skip
    laps = replace(model, frame_id=LAP_FRAME)
    for each, given_too in ((model, satellites), (laps, satellites), (laps, {})):
        taken = Taken(each)
        taken.take('antenna', [0.0, 0.0], **given_too)
        assert taken.fixes[0].on_map_of(each) is None
        taken.filter.fixes['other_frame'] += 1
        assert 'fit no map' in taken.input.complaint[1]
        now_s += 2.0 * fixes.SAID_S
        assert taken.input.complaint == ('fixes', '')
    placed = replace(model, origin=GeodeticOrigin(48.0, 11.0, 500.0))
    taken = Taken(placed)
    taken.take('antenna', [0.0, 0.0], **satellites)
    taken.take('antenna', [0.0, 0.0], **satellites | {'status': {'status': -1}})
    taken.take('antenna', [0.0, 0.0], **satellites | {'latitude': np.nan})
    assert taken.filter.fixes == {'received': 2, 'no_fix': 2}
    # Garbage in a quaternion is no error of the node.
    huge = {'position': {'x': 0.0, 'y': 0.0}, 'orientation': dict.fromkeys('xyzw', 1e200)}
    taken.take('', [0.0, 0.0], pose={'pose': huge, 'covariance': planar_covariance(np.eye(2))})
    assert math.isnan(taken.fixes.pop().heading)
    (found,) = [each.on_map_of(placed) for each in taken.fixes]
    np.testing.assert_allclose(found.position, 0.0, atol=1e-6)
    assert taken.input.complaint == ('fixes', '')
    taken.take('', [0.0, 0.0], covariance=np.full((2, 2), np.nan))
    assert taken.filter.fixes['refused'] == 1


def test_a_click_is_of_now_if_its_clock_is_another_one_and_a_successor_gets_it_too(model):
    fix = Fix(0, np.zeros(2), np.eye(2))
    session = Session(model)
    heard: list[Fix] = []
    live = Filter(model)
    live.fix = heard.append
    session.successor = Successor(lambda: live, at_once=True)
    session.arrivals.newest_ns = 10**12
    near, far = 10**12 - model.window_ns, 10**12 + model.window_ns + 1
    for stamp_ns in (0, near, far):
        session.fix(replace(fix, stamp_ns=stamp_ns), clicked=True)
    session.fix(replace(fix, stamp_ns=far))
    session.successor.catch_up()
    assert [each.stamp_ns for each in heard] == [NEWEST, near, NEWEST, far]
    assert session.fix_behind_s == pytest.approx((10**12 - far) / 1e9)
    with pytest.raises(InputError, match='stamp is zero'):
        session.fix(fix)
    assert session.filter.fixes == {'received': 4}
    # Before the first sample of the IMU no stamp is far from it.
    session.arrivals.newest_ns = 0
    session.fix(fix, clicked=True)
    session.successor.catch_up()
    assert heard.pop().stamp_ns == NEWEST


def test_a_sensor_is_as_late_as_in_the_training_and_no_covariance_is_no_heading(model):
    session = Session(replace(model, summary={'position_lag': [{'corrected_s': 0.25}]}))
    heard: list[Fix] = []
    session.filter.fix, session.arrivals.newest_ns = heard.append, 10**12
    for clicked in (False, True):
        session.fix(Fix(10**12, np.zeros(2), np.eye(2)), clicked=clicked)
    assert [each.stamp_ns for each in heard] == [10**12 - 250_000_000, 10**12]
    headings = [
        fixes.fix_of(POSE, 1, '', [*[0.0] * 8, 1.0, variance]).heading for variance in (0.0, 0.1)
    ]
    np.testing.assert_array_equal(headings, [math.nan, 0.0])
