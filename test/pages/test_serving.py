# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Serving a page: where it listens, who may read it, and how much it sends."""

from collections.abc import Callable
from contextlib import AbstractContextManager
import json
import socket
from time import monotonic, sleep
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')

from two_manifold_ros.errors import InputError
from two_manifold_ros.pages.live_page import LivePage
from two_manifold_ros.pages.serving import LOOPBACK, serve_page, USUAL_PORT
from two_manifold_ros.pages.vehicle import Scene


def until(condition: Callable[[], object], what: str) -> None:
    end = monotonic() + 60.0
    while not condition():
        assert monotonic() < end, f'waited in vain for {what}'
        sleep(0.05)


def serve(
    host: str = LOOPBACK, port: int | None = 0, scene: Scene | None = None
) -> AbstractContextManager[str]:
    drawn = scene or Scene('a drive')
    drawn.vehicle('car')
    return serve_page(lambda document: LivePage(document, drawn) and None, host, port)


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
    monkeypatch.setattr('two_manifold_ros.pages.serving._bind', lambda *_: 1 / 0)
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
        assert 100_000 < sum(loaded.values()) < 1_500_000
        tab.page.close()
        until(lambda: not scene.pages, 'the page to be gone')
