# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The live page in a real browser and its controls; where it is served, and who may read it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
import json
import math
import socket
from time import monotonic, sleep
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.pages.drawing import STATUS_COLOURS
from two_manifold_ros.pages.live_page import LivePage, LOOPBACK, serve_page, USUAL_PORT
from two_manifold_ros.pages.vehicle import Moment, Scene

LASTS_S, LOST_FROM_S = 100.0, 60.0
TURN_S = 20.0


def place(seconds: float) -> np.ndarray:
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


def serve(
    host: str = LOOPBACK, port: int | None = 0, scene: Scene | None = None
) -> AbstractContextManager[str]:
    drawn = scene or Scene('a drive')
    drawn.vehicle('car')
    return serve_page(lambda document: LivePage(document, drawn) and None, host, port)


@pytest.fixture
def url(scene: Scene) -> Iterator[str]:
    with serve(scene=scene) as url:
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
        tab.page.locator('.map').dblclick()
        tab.until('model("place").text.includes("--topic car1/initialpose")')
        assert 'two-manifold place' in tab.value('place', 'text')
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


def until(condition: Callable[[], object], what: str) -> None:
    end = monotonic() + 60.0
    while not condition():
        assert monotonic() < end, f'waited in vain for {what}'
        sleep(0.05)


def test_it_listens_on_loopback_alone_on_a_port_that_is_free():
    with serve() as url:
        port = urlsplit(url).port
        with urlopen(url) as answer:  # noqa: S310 - our own server
            assert b'<title>a drive</title>' in answer.read()
        # All of 127/8 is this computer, and only one address of it was bound.
        with pytest.raises(OSError, match='refused'):
            socket.create_connection(('127.0.0.2', port), timeout=5.0)
        with pytest.raises(InputError, match=f'port {port} is in use: name another'):
            serve(port=port).__enter__()
    with pytest.raises(OSError, match='refused'):
        socket.create_connection((LOOPBACK, port), timeout=5.0)
    # The usual one that is in use is passed over.
    with serve(port=None) as first, serve(port=None) as second:
        ports = [urlsplit(each).port for each in (first, second)]
        assert USUAL_PORT <= ports[0] < ports[1]


EVERYWHERE = '0.0.0.0'  # noqa: S104 - it is what is tried


@pytest.mark.parametrize(
    ('listens', 'asked', 'origin', 'served'),
    [
        (LOOPBACK, 'LocalHost', 'localhost', True),
        (LOOPBACK, LOOPBACK, 'evil.example', False),
        (LOOPBACK, 'localhost', LOOPBACK, False),
        (LOOPBACK, 'evil.example', 'evil.example', False),
        (LOOPBACK, '[', '[', False),
        (LOOPBACK, '192.0.2.1', '192.0.2.1', False),
        (EVERYWHERE, socket.gethostname(), socket.gethostname(), True),
        (EVERYWHERE, '192.0.2.1', '192.0.2.1', True),
        (EVERYWHERE, '192.0.2.1', '192.0.2.2', False),
        (EVERYWHERE, 'evil.example', 'evil.example', False),
    ],
)
def test_a_page_of_another_site_may_not_read_it(listens, asked, origin, served):
    with serve(listens) as url:
        port = urlsplit(url).port
        for route, answer in (('/ws', 101), ('/', 200), ('/static/js/bokeh.min.js', 200)):
            with socket.create_connection((LOOPBACK, port), timeout=10.0) as talk:
                talk.sendall(
                    f'GET {route} HTTP/1.1\r\nHost: {asked}:{port}\r\n'
                    'Upgrade: websocket\r\nConnection: Upgrade\r\n'
                    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
                    'Sec-WebSocket-Protocol: bokeh, none\r\n'
                    f'Origin: http://{origin}:{port}\r\n\r\n'.encode()
                )
                status = f'HTTP/1.1 {answer if served else 403} '
                assert talk.recv(4096).startswith(status.encode()), route


def test_an_address_of_another_computer_and_whatever_keeps_it_from_starting_is_raised(monkeypatch):
    for host in ('192.0.2.1', '2001:db8::1', 'no.such.invalid'):
        with pytest.raises(InputError, match=rf'no page can be served on {host} .*--host'):
            serve(host, 5006).__enter__()
    monkeypatch.setattr('two_manifold_ros.pages.live_page._bind', lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), serve_page(lambda _: None, port=0):
        pass


def test_a_page_loads_little_and_counts_as_looked_at_until_its_tab_is_closed(browse):
    scene = Scene('a drive')
    with serve(scene=scene) as url:
        assert not scene.pages
        tab = browse(url)
        until(lambda: scene.pages, 'the page to look')
        code = """() => JSON.stringify(performance.getEntries().filter(
            each => each.encodedBodySize).map(each => [each.name, each.encodedBodySize]))"""
        loaded = dict(json.loads(tab.page.evaluate(code)))
        assert any('bokeh-widgets' in name for name in loaded)
        # Packed: it is 3.9 MB.
        assert 100_000 < sum(loaded.values()) < 700_000
        tab.page.close()
        until(lambda: not scene.pages, 'the page to be gone')
