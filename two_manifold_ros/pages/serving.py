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
    or the next free one, and 0 any. ``InputError`` says that the port or the host cannot be had.
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
    troubles: list[OSError | ValueError] = []
    usual = range(USUAL_PORT, USUAL_PORT + _TRIED_PORTS)
    for each in usual if port is None else [port]:
        try:
            server = Server(
                {'/': Application(FunctionHandler(make))},
                port=each,
                address=host,
                # Bokeh asks for the origin of websockets alone; `guard` does of all.
                allow_websocket_origin=['*'],
                check_unused_sessions_milliseconds=_CHECKED_MS,
                unused_session_lifetime_milliseconds=_UNUSED_MS,
            )
        # A name that is no address at all is a ValueError.
        except (OSError, ValueError) as trouble:
            troubles.append(trouble)
            continue
        slim(server)
        guard(server, host)
        return server
    why = (getattr(troubles[0], 'strerror', '') or str(troubles[0])).lower()
    msg = (
        f'no page can be served on {host} ({why}): name an address of this computer with --host, '
        'or leave it out'
    )
    if isinstance(troubles[0], OSError) and troubles[0].errno == errno.EADDRINUSE:
        msg = (
            f'port {port or USUAL_PORT} is in use: name another one with --port, or --port 0 for '
            'any that is free'
        )
    raise InputError(msg) from troubles[0]


def guard(server: Server, host: str) -> None:
    """
    Refuse what a page of another site that is open in the same browser asks for.

    Such a page may have let its own name point here, so the name that is asked for has to be one
    of this computer; an address cannot be pointed elsewhere. The port is any, for tunnels.
    """
    everywhere = host in {'0.0.0.0', '::'}  # noqa: S104 - the user asked for it
    own = socket.gethostname().lower()
    names = {host.lower(), LOOPBACK, 'localhost'}
    if everywhere:
        names |= {own, f'{own}.local', socket.getfqdn().lower()}
    application: Any = server._tornado  # noqa: SLF001 - Bokeh has no public way to
    find = application.find_handler

    def find_handler(request: HTTPServerRequest, **options: Any) -> Any:  # noqa: ANN401
        asked = request.headers.get('Host', '').lower()
        origin = request.headers.get('Origin', f'http://{asked}').lower()
        name = ''
        with suppress(ValueError):
            name = urlsplit(f'//{asked}').hostname or ''
        if origin == f'http://{asked}' and (name in names or (everywhere and _is_address(name))):
            return find(request, **options)
        return application.get_handler_delegate(request, ErrorHandler, {'status_code': 403})

    application.find_handler = find_handler


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def slim(server: Server) -> None:
    """
    Let a page load only the scripts that it uses, packed: .47 MB in place of 3.95 MB.

    Bokeh has no public way to; a test counts the bytes.
    """
    wanted = Resources(
        mode='server',
        root_url='/',
        path_versioner=StaticHandler.append_version,
        components=['bokeh', 'bokeh-widgets'],
    )
    application: Any = server._tornado  # noqa: SLF001 - see above
    application.resources = lambda absolute_url=None: wanted  # noqa: ARG005
    application.transforms.append(GZipContentEncoding)
