# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a page knows of a vehicle, from estimates and from messages."""

from dataclasses import replace
import itertools
import json
import math
from types import SimpleNamespace
from typing import Any

from bokeh.document import Document
from filter_runs import estimate_with
import numpy as np
import pytest

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import CODES, diagnostics_message, status_message
from two_manifold_ros.interface.messages import (
    choose_scene,
    markers_message,
    position_message,
    predicted_path_message,
)
from two_manifold_ros.model.path_ahead import is_dense
from two_manifold_ros.pages.live_page import LivePage
from two_manifold_ros.pages.vehicle import Ear, Moment, moment_of, Scene, Vehicle


def moment(seconds: float, status: Status = Status.TRACKING, why: str = '') -> Moment:
    place = np.array([seconds, 2.0 * seconds])
    return Moment(seconds, status.value, why, place, np.eye(2), None, 1.0, 0.5)


def as_object(part: Any) -> Any:  # noqa: ANN401 - fields of a message
    """Return the fields of a message as a library decodes them."""
    if isinstance(part, dict):
        return SimpleNamespace(**{name: as_object(each) for name, each in part.items()})
    return [as_object(each) for each in part] if isinstance(part, list) else part


def test_the_newest_moment_states_with_their_first_cause_and_the_trail_that_was_published():
    vehicle = Vehicle('car')
    assert vehicle.at(1.0) is None
    lost = [moment(each, Status.LOST, 'lost: a; do b') for each in (2.0, 3.0)]
    vehicle.add([moment(0.0), moment(1.0), *lost, moment(4.0), moment(9.0)])
    # From 4 to 9 nothing was known.
    found = [(each.start, each.end, each.status) for each in vehicle.stretches()]
    assert found[:2] == [(0.0, 2.0, 'tracking'), (2.0, 4.0, 'lost')]
    assert found[2:] == [(each, each, 'tracking') for each in (4.0, 9.0)]
    newest = [vehicle.at(each).seconds for each in (2.5, 0.0, math.inf)]
    assert (newest, vehicle.at(-0.1)) == ([2.0, 0.0, 9.0], None)
    vehicle.add([moment(3.0)])
    assert vehicle.count == 6
    assert vehicle.stretches()[1].why == 'A; do b'
    assert [each.start for each in vehicle.stretches(3.5)] == [2.0, 4.0, 9.0]
    assert vehicle.trail(1.5, 4.5).tolist() == [[4.0, 8.0]]
    seconds, ellipses, errors = vehicle.curves(3.5)
    assert seconds.tolist() == [4.0, 9.0]
    assert (set(ellipses.tolist()), set(errors.tolist())) == ({1.0}, {0.5})


def test_a_live_vehicle_forgets_and_one_of_a_bag_does_not(monkeypatch):
    monkeypatch.setattr('two_manifold_ros.pages.vehicle._MOST_LIVE', 10)
    for live, kept in ((True, 11), (False, 21)):
        vehicle = Vehicle('car', live=live)
        vehicle.add(moment(float(second)) for second in range(21))
        assert vehicle.count == kept
        assert vehicle.at(20.0).seconds == 20.0
        assert len(vehicle.curves()[0]) == kept


def test_an_estimate_and_messages_of_a_node_become_moments(slot_car_model):
    scene = choose_scene(slot_car_model)
    estimate = estimate_with(
        stamp_ns=5 * 10**9,
        positions=np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        covariances=np.stack([np.diag([4.0, 1.0])] * 3),
        velocity=np.array([1.0, 0.0]),
    )
    made = moment_of(estimate, scene, 10**9, 0.25, 1e-4)
    assert (made.seconds, made.status, made.error_m) == (4.0, 'tracking', 0.25)
    farthest_s = slot_car_model.horizons[-1] / slot_car_model.rate_hz
    assert made.path()[[0, -1]] == pytest.approx(np.array([[1, 2, 0], [5, 6, farthest_s]]))
    assert made.numbers['tick_us'] == pytest.approx(100.0)
    assert moment_of(replace(estimate, ellipse_m=math.nan), scene, 0, 0.0, 0.0).position is None
    vehicle = Vehicle('filter_node', live=True)
    hear = Ear(vehicle)
    values = {'status': 'lost', 'cause': 'diverged', 'input_rate_hz': 100.0, 'model': 'm.npz'}
    said = diagnostics_message(0, 'filter_node', 0, 'lost: moved; drive on', values)
    hear('diagnostics', as_object(said).status[0], 1.0)
    assert vehicle.at(1.0).sentence == 'Moved; drive on'
    assert not vehicle.at(1.0).usable
    assert vehicle.at(1.0).numbers['input_rate_hz'] == 100.0
    numbers = {'status': CODES[Status.TRACKING], 'novelty': 1.5}
    hear('status', as_object(status_message(0, numbers)), 2.0)
    assert vehicle.at(2.0).status == 'tracking'
    hear('position', as_object(position_message(estimate, scene)), 2.1)
    hear('predicted_path', as_object(predicted_path_message(estimate, scene)), 2.11)
    newest = vehicle.at(3.0)
    assert newest.position.tolist() == [1.0, 2.0]
    assert newest.covariance.tolist() == [[4.0, 0.0], [0.0, 1.0]]
    path = newest.path()
    assert is_dense(path[:, 2])
    for tick, position in zip(slot_car_model.horizons, estimate.positions.tolist(), strict=True):
        seconds = tick / slot_car_model.rate_hz
        nearest = path[np.argmin(np.abs(path[:, 2] - seconds))]
        assert nearest.tolist() == pytest.approx([*position, seconds])
    assert newest.ellipse_m == pytest.approx(2.0 * 2.4477, rel=1e-4)
    assert newest.numbers['novelty'] == 1.5
    hear('markers', as_object(markers_message(replace(estimate, tick=0), scene)), 2.2)
    assert len(vehicle.routes) == len(scene.drawn.runs)
    assert np.array_equal(vehicle.routes[0], scene.drawn.runs[0])


def stamped(sec: int = 1) -> dict[str, Any]:
    return {'header': {'stamp': {'sec': sec, 'nanosec': 0}}}


def position_at(x: object, y: object, covariance: object) -> tuple[str, Any]:
    place = {'pose': {'position': {'x': x, 'y': y}}, 'covariance': covariance}
    return 'position', as_object(stamped() | {'pose': place})


def path_of(*places: tuple[float, float], at: tuple[int, ...] = (1, 2)) -> tuple[str, Any]:
    poses = [
        stamped(sec) | {'pose': {'position': {'x': x, 'y': y}}}
        for sec, (x, y) in zip(at, places, strict=False)
    ]
    return 'predicted_path', as_object(stamped() | {'poses': poses})


def markers_of(*places: tuple[float, float]) -> tuple[str, Any]:
    points = [{'x': x, 'y': y} for x, y in places]
    return 'markers', as_object({'markers': [{'ns': 'track', 'points': points}]})


def status_of(label: object, data: object) -> tuple[str, Any]:
    return 'status', as_object({'layout': {'dim': [{'label': label}]}, 'data': data})


USUAL = np.eye(6).ravel().tolist()
WILD = (math.nan, math.inf, -math.inf, 1e308)
ANYTHING = [None, 7, b'', b'\0\1\0\0', 'text', SimpleNamespace(), as_object(stamped())]
FINE = [
    position_at(0.0, 0.0, (-np.eye(6)).ravel()),
    *[path_of(*([(0.0, 1.0)] * count)) for count in range(3)],
    path_of((0.0, 0.0), (0.0, 0.0), at=(1, 2**31 - 1)),
    markers_of(), ('markers', SimpleNamespace(markers=[])), status_of('status,novelty', [1.0]),
    *[status_of('status,novelty', [each, each]) for each in WILD],
]  # fmt: skip
BAD = [
    *[position_at(each, 0.0, USUAL) for each in WILD],
    *[position_at(0.0, each, USUAL) for each in WILD],
    *[position_at(0.0, 0.0, [each] * 36) for each in WILD],
    *[position_at(0.0, 0.0, each) for each in ([], [1.0] * 35, None)],
    *[path_of((0.0, 0.0), (each, 0.0)) for each in WILD],
    *[
        path_of((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), at=at)
        for at in ((1, 1), (0, 0), (2, 1), (-9, -8), (0, 2), (1, 3, 2), (1, 3, 3))
    ],
    *[markers_of((0.0, 0.0), (each, 0.0)) for each in WILD],
    status_of(None, [1.0]),
    *[status_of('status,novelty', [3.0, each]) for each in (None, b'\1', 'text')],
    *itertools.product(
        ('position', 'predicted_path', 'markers', 'status', 'diagnostics'), ANYTHING
    ),
]


def test_messages_that_are_none_are_counted_and_the_page_drawn():
    scene = Scene('live', duration_s=None, clock=lambda: 2.0)
    document = Document()
    page = LivePage(document, scene)
    vehicle, hear = scene.vehicle('car'), scene.ears['car']
    hear(*status_of('status', [3.0]), 0.5)
    hear(*position_at(1.0, 1.0, USUAL), 1.0)
    for messages, counted in ((FINE, False), (BAD, True)):
        for kind, message in messages:
            before = vehicle.passed_over
            hear(kind, message, 1.9)
            assert vehicle.passed_over == before + counted, (kind, message)
            for _ in range(14):
                page.draw()
        assert ('bad messages' in json.dumps(document.to_json(), default=str)) is counted
    hear(*position_at(2.0, 1.0, USUAL), 1.95)
    assert vehicle.at(2.0).position.tolist() == [2.0, 1.0]
