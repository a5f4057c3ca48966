# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Serve a page from this process, on loopback unless another address is named."""

from __future__ import annotations

import asyncio
from contextlib import suppress
import errno
from ipaddress import ip_address
import logging
import socket
from threading import Event, Thread
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
    from collections.abc import Callable
    from types import TracebackType

    from bokeh.document import Document
    from tornado.httputil import HTTPServerRequest
    from typing_extensions import Self

LOOPBACK = '127.0.0.1'
USUAL_PORT = 5006
_TRIED_PORTS = 20
"""Ports after the usual one that are tried: more pages than one person has open."""
_CHECKED_MS, _UNUSED_MS = 3000, 5000
"""How often sessions without a browser are looked for, and when they end: seconds after a tab."""


class PageServer:
    """
    A context manager that serves a page to browsers from a thread of its own, at its ``url``.

    ``make`` fills the document of each browser, in that thread. A port ``None`` is the usual one
    or the next free one, and 0 any. ``InputError`` on entering says that the port or the host
    cannot be had.
    """

    def __init__(
        self, make: Callable[[Document], None], host: str = LOOPBACK, port: int | None = None
    ) -> None:
        self._make, self._host, self._port = make, host, port
        self._server: Server | None = None
        self._trouble: Exception | None = None
        self._ready = Event()
        self._thread = Thread(target=self._run, name='page', daemon=True)
        self.url = ''

    def __enter__(self) -> Self:
        # Its lines about sessions and addresses are of no use to a driver.
        for name in ('bokeh', 'tornado'):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._thread.start()
        self._ready.wait()
        if self._trouble is not None:
            # A name that is no address at all is a ValueError.
            if isinstance(self._trouble, OSError | ValueError):
                raise InputError(self._refusal(self._trouble))
            raise self._trouble
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        server = self._server
        if server is not None:
            server.io_loop.add_callback(self._stop, server)
        self._thread.join(5.0)

    @staticmethod
    def _stop(server: Server) -> None:
        server.stop(wait=False)
        server.io_loop.stop()

    def _refusal(self, trouble: OSError | ValueError) -> str:
        why = (getattr(trouble, 'strerror', '') or str(trouble)).lower()
        if isinstance(trouble, OSError) and trouble.errno == errno.EADDRINUSE:
            return (
                f'port {self._port or USUAL_PORT} is in use: name another one with --port, or '
                '--port 0 for any that is free'
            )
        return (
            f'no page can be served on {self._host} ({why}): name an address of this computer '
            'with --host, or leave it out'
        )

    def _run(self) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            server = self._server = self._bind()
        # Whatever it is, who waits for the page has to hear of it.
        except Exception as trouble:  # noqa: BLE001
            self._trouble = trouble
            self._ready.set()
            return
        shown = socket.gethostname() if self._host in {'0.0.0.0', '::'} else self._host  # noqa: S104
        shown = f'[{shown}]' if ':' in shown else shown
        self.url = f'http://{shown}:{server.port}/'
        server.start()
        self._ready.set()
        server.io_loop.start()

    def _bind(self) -> Server:
        if self._port is not None:
            return self._make_server(self._port)
        for port in range(USUAL_PORT, USUAL_PORT + _TRIED_PORTS):
            with suppress(OSError):
                return self._make_server(port)
        # Whatever it is, the next error says it.
        return self._make_server(USUAL_PORT)

    def _make_server(self, port: int) -> Server:
        server = Server(
            {'/': Application(FunctionHandler(self._make))},
            port=port,
            address=self._host,
            # Bokeh asks for the origin of websockets alone; `guard` does of all.
            allow_websocket_origin=['*'],
            check_unused_sessions_milliseconds=_CHECKED_MS,
            unused_session_lifetime_milliseconds=_UNUSED_MS,
        )
        slim(server)
        guard(server, self._host)
        return server


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
