# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The live page in a real browser: what is on it, and what its controls do."""

from collections.abc import Iterator
import math

import numpy as np
import pytest

pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.pages.drawing import STATUS_COLOURS
from two_manifold_ros.pages.live_page import LivePage
from two_manifold_ros.pages.serving import serve_page
from two_manifold_ros.pages.vehicle import Moment, Scene

LASTS_S, LOST_FROM_S = 100.0, 60.0
TURN_S = 20.0


def place(seconds: float) -> np.ndarray:
    """Return where the vehicle is on its circle."""
    angle = 2.0 * math.pi * seconds / TURN_S
    return np.array([3.0 * math.cos(angle), 2.0 * math.sin(angle)])


def moment(seconds: float, shift: float = 0.0) -> Moment:
    lost = seconds >= LOST_FROM_S
    why = 'lost: the <b>ellipse</b> reaches 9 m; drive on' if lost else 'tracking'
    ahead = np.linspace(0.0, 2.0, 9)
    path = np.array([[*(place(seconds + each) + shift), each] for each in ahead.tolist()])
    status = (Status.LOST if lost else Status.TRACKING).value
    numbers = {'novelty': 1.25, 'off_route': 0.5, 'tick_us': 90747.0}
    covariance = np.diag([0.09, 0.04])
    return Moment(seconds, status, why, path[0, :2], covariance, lambda: path, 0.73, 0.1, numbers)


def drive(name: str, scene: Scene, shift: float = 0.0) -> None:
    vehicle = scene.vehicle(name)
    times = np.arange(0.0, LASTS_S, 0.1)
    vehicle.add(moment(each, shift) for each in times.tolist())
    vehicle.truth = times, np.array([place(each) for each in times])
    vehicle.routes = [vehicle.truth[1][:200]]


@pytest.fixture
def scene() -> Scene:
    scene = Scene('a drive')
    drive('car', scene)
    scene.duration_s = LASTS_S
    return scene


@pytest.fixture
def url(scene: Scene) -> Iterator[str]:
    with serve_page(lambda document: LivePage(document, scene) and None, port=0) as url:
        yield url


def pause(tab):
    tab.page.get_by_role('button', name='Pause').click()
    tab.until('model("play").label === "Play"')


def scrub(tab, seconds):
    """Set the slider, which is what a hand does to it."""
    tab.page.evaluate(
        'seconds => { Bokeh.documents[0].get_model_by_name("time").value = seconds; }', seconds
    )
    # The cursor of the timeline comes back from the server.
    tab.until(f'Math.abs(model("timeline").center.at(-1).location - {seconds}) < 1e-6')


def test_state_position_path_cause_and_cure_are_those_of_the_time(browse, url):
    tab = browse(url)
    pause(tab)
    scrub(tab, 30.0)
    assert tab.text('.banner b') == 'tracking'
    shown = tab.columns('ellipse')
    assert [shown['x'][0], shown['y'][0]] == pytest.approx(place(30.0).tolist())
    assert shown['colour'] == [STATUS_COLOURS[Status.TRACKING]]
    path = tab.columns('path')
    assert [path['x'][8], path['y'][8]] == pytest.approx(place(32.0).tolist())
    truth = tab.columns('truth')
    assert math.dist([truth['x'][0], truth['y'][0]], place(30.0)) < 0.2
    # Half the long axis of the 95 % ellipse is 2.45 deviations.
    assert max(tab.columns('outline')['x']) - shown['x'][0] == pytest.approx(0.7343, rel=0.02)
    assert len(tab.columns('trail')['x']) == pytest.approx(100, abs=2)
    for words in ('half 95 % ellipse 0.73 m', 'chance off route 50.0 %', 'tick time 90.7 ms'):
        assert words in tab.text('.numbers')
    assert 'true position' in tab.text('.key')
    scrub(tab, 70.0)
    tab.until(f'model("ellipse").data.colour[0] === "{STATUS_COLOURS[Status.LOST]}"')
    tab.page.get_by_text('drive on').wait_for()
    # Words of a node are never markup.
    assert tab.text('.banner') == 'lost The <b>ellipse</b> reaches 9 m; drive on'
    assert not tab.columns('path')['x']
    tab.until('model("states").data.status.length === 2')
    assert tab.columns('states')['right'][0] == pytest.approx(LOST_FROM_S)


def test_it_plays_stands_while_paused_and_shows_the_robot_that_is_chosen(browse, scene, url):
    drive('other', scene, shift=0.5)
    tab = browse(url)
    tab.until('model("time").value > 1.0')
    pause(tab)
    stands = tab.value('time', 'value')
    tab.page.wait_for_timeout(400)
    assert tab.value('time', 'value') == stands
    tab.page.get_by_role('button', name='Play').click()
    tab.until(f'model("time").value > {stands + 0.5}')
    pause(tab)
    scrub(tab, 40.0)
    assert tab.columns('ellipse')['x'][0] == pytest.approx(place(40.0)[0])
    tab.page.get_by_label('robot').select_option('other')
    tab.until(f'model("ellipse").data.x[0] > {place(40.0)[0] + 0.4}')


def test_live_it_follows_the_present_and_says_when_a_node_is_gone(browse):
    now_s = 5.0
    scene = Scene('live', duration_s=None, clock=lambda: now_s)
    with serve_page(lambda document: LivePage(document, scene) and None, port=0) as url:
        tab = browse(url)
        assert tab.text('.banner b') == 'no node'
        assert 'ROS_DOMAIN_ID' in tab.text('.banner')
        vehicle = scene.vehicle('car1/filter_node')
        vehicle.add([moment(4.9)])
        vehicle.heard_s = 4.9
        tab.until('model("ellipse").data.x.length === 1')
        tab.until('model("banner").text.includes("tracking")')
        assert tab.page.get_by_role('button', name='Pause').count() == 0
        # No true position is known of a robot that drives.
        assert 'path ahead' in tab.text('.key')
        assert 'true' not in tab.text('.key')
        now_s = 12.0
        tab.until('model("banner").text.includes("gone")')
        assert 'car1/filter_node was not heard for 7 s' in tab.text('.banner')
        tab.until('model("ellipse").data.x.length === 0')


@pytest.mark.parametrize(('width', 'height'), [(1280, 800), (390, 844)])
def test_narrow_screens_are_readable(browse, url, width, height):
    tab = browse(url, width, height)
    pause(tab)
    scrub(tab, 30.0)
    tab.until('model("states").data.status.length === 2')
    # Nothing is cut off: the page is as wide as the screen.
    assert tab.page.evaluate('() => document.documentElement.scrollWidth') <= width
    assert tab.value('map', 'inner_width') > 0.6 * min(width, 700)
    # The track fills its plot, and a metre is as long in y as in x, wide or narrow.
    across, high = (
        tab.value('map', f'{axis}_range.end') - tab.value('map', f'{axis}_range.start')
        for axis in 'xy'
    )
    sides = tab.value('map', 'inner_width'), tab.value('map', 'inner_height')
    assert across / sides[0] == pytest.approx(high / sides[1], rel=0.02)
    assert max(6.0 / across, 4.0 / high) > 0.7
