# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Serve a page from this process, on loopback unless another address is named."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import contextmanager, suppress
import errno
from ipaddress import ip_address
import logging
import socket
from threading import Thread
from typing import Any, TYPE_CHECKING
from urllib.parse import urlsplit

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.resources import Resources
from bokeh.server.server import Server
from bokeh.server.views.static_handler import StaticHandler
from tornado.web import ErrorHandler, GZipContentEncoding

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bokeh.document import Document
    from tornado.httputil import HTTPServerRequest

LOOPBACK = '127.0.0.1'
USUAL_PORT = 5006
_TRIED_PORTS = 20
"""Ports after the usual one that are tried: more pages than one person has open."""
_CHECKED_MS, _UNUSED_MS = 3000, 5000
"""How often sessions without a browser are looked for, and when they end: seconds after a tab."""


@contextmanager
def serve_page(
    make: Callable[[Document], None], host: str = LOOPBACK, port: int | None = None
) -> Iterator[str]:
    """
    Serve a page to browsers from a thread of its own, and hand out its address.

    ``make`` fills the document of each browser, in that thread. A port ``None`` is the usual one
    or the next free one, and 0 any.
    """
    # Its lines about sessions and addresses are of no use to a driver.
    for name in ('bokeh', 'tornado'):
        logging.getLogger(name).setLevel(logging.ERROR)
    bound: Future[Server] = Future()

    def run() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            server = _bind(make, host, port)
        # Whatever it is, who waits for the page has to hear of it.
        except Exception as trouble:  # noqa: BLE001
            bound.set_exception(trouble)
            return
        server.start()
        bound.set_result(server)
        server.io_loop.start()

    thread = Thread(target=run, name='page', daemon=True)
    thread.start()
    server = bound.result()

    def stop() -> None:
        server.stop(wait=False)
        server.io_loop.stop()

    shown = socket.gethostname() if host in {'0.0.0.0', '::'} else host  # noqa: S104
    shown = f'[{shown}]' if ':' in shown else shown
    try:
        yield f'http://{shown}:{server.port}/'
    finally:
        server.io_loop.add_callback(stop)
        thread.join(5.0)


def _bind(make: Callable[[Document], None], host: str, port: int | None) -> Server:
    """Return a server on the port, or on the first of the usual ones that is free."""
    each = USUAL_PORT if port is None else port
    while True:
        try:
            server = Server(
                {'/': Application(FunctionHandler(make))},
                port=each,
                address=host,
                # Bokeh asks for the origin of websockets alone; `_guard` does of all.
                allow_websocket_origin=['*'],
                check_unused_sessions_milliseconds=_CHECKED_MS,
                unused_session_lifetime_milliseconds=_UNUSED_MS,
            )
        # A name that is no address at all is a ValueError.
        except (OSError, ValueError) as trouble:
            busy = getattr(trouble, 'errno', 0) == errno.EADDRINUSE
            if busy and port is None and each < USUAL_PORT + _TRIED_PORTS:
                each += 1
                continue
            why = (getattr(trouble, 'strerror', '') or str(trouble)).lower()
            msg = (
                f'no page can be served on {host} ({why}): name an address of this computer with '
                '--host, or leave it out'
            )
            if busy:
                msg = f'port {each} is in use: name another one with --port, or --port 0 for any'
            raise InputError(msg) from trouble
        _guard(server, host)
        return server


def _guard(server: Server, host: str) -> None:
    """
    Refuse what a page of another site that is open in the same browser asks for; pack the rest.

    Such a page may have let its own name point here, so the name that is asked for has to be one
    of this computer; an address cannot be pointed elsewhere.
    """
    everywhere = host in {'0.0.0.0', '::'}  # noqa: S104 - the user asked for it
    own = socket.gethostname().lower()
    names = {host.lower(), LOOPBACK, 'localhost'}
    if everywhere:
        names |= {own, f'{own}.local', socket.getfqdn().lower()}
    application: Any = server._tornado  # noqa: SLF001 - Bokeh has no public way to
    application.transforms.append(GZipContentEncoding)
    # A page loads the scripts that it uses alone: .47 MB in place of 1.2 MB.
    wanted = Resources(
        mode='server', root_url='/', path_versioner=StaticHandler.append_version,
        components=['bokeh', 'bokeh-widgets'],
    )  # fmt: skip
    application.resources = lambda absolute_url=None: wanted  # noqa: ARG005
    find = application.find_handler

    def find_handler(request: HTTPServerRequest, **options: Any) -> Any:  # noqa: ANN401
        asked = request.headers.get('Host', '').lower()
        if request.headers.get('Origin', f'http://{asked}').lower() == f'http://{asked}':
            # What is no name, or no address, is not ours.
            with suppress(ValueError):
                name = urlsplit(f'//{asked}').hostname or ''
                if name in names or (everywhere and ip_address(name)):
                    return find(request, **options)
        return application.get_handler_delegate(request, ErrorHandler, {'status_code': 403})

    application.find_handler = find_handler
