# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The live page and its server: map, state and numbers of vehicles, now or at a time of a bag."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
import errno
from html import escape
from ipaddress import ip_address
import logging
import math
import socket
from threading import Thread
from typing import Any, TYPE_CHECKING
from urllib.parse import urlsplit

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.events import DoubleTap
from bokeh.layouts import column, row
from bokeh.models import ColumnDataSource, DataRange1d, GlobalInlineStyleSheet
from bokeh.models.annotations.geometry import Span
from bokeh.models.widgets.buttons import Button
from bokeh.models.widgets.inputs import Select
from bokeh.models.widgets.markups import Div
from bokeh.models.widgets.sliders import Slider
from bokeh.resources import Resources
from bokeh.server.server import Server
from bokeh.server.views.static_handler import StaticHandler
import numpy as np
from tornado.web import ErrorHandler, GZipContentEncoding

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.model.path_ahead import is_dense
from two_manifold_ros.pages import drawing
from two_manifold_ros.pages.vehicle import Moment, Scene, Vehicle
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from bokeh.document import Document
    from tornado.httputil import HTTPServerRequest


LOOPBACK = '127.0.0.1'
USUAL_PORT = 5006
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
            # More pages than one person has open.
            if busy and port is None and each < USUAL_PORT + 20:
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
    """Refuse what another site that is open in the same browser asks for; pack the rest."""
    # Such a page may have let its own name point here; an address cannot be pointed elsewhere.
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


_TEXT_CSS = """:host { color: var(--ink); font: 15px/1.45 system-ui, "Segoe UI", Roboto,
  "DejaVu Sans", sans-serif; }
.bk-clearfix { display: block !important; }
.banner { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; padding: 8px 12px;
  border-left: 10px solid var(--state); background: var(--card); min-height: 48px; }
.banner b { font-size: 22px; white-space: nowrap; }
.banner b::before { content: ""; display: inline-block; width: 14px; height: 14px;
  border-radius: 50%; background: var(--state); margin-right: 8px; }
.banner .why { flex: 1 1 260px; } .banner .note { color: var(--faint); }
.numbers { display: flex; flex-wrap: wrap; gap: 6px; }
.numbers div { flex: 1 0 108px; background: var(--card); padding: 4px 8px; }
.numbers b { font-size: 17px; white-space: nowrap; font-variant-numeric: tabular-nums; }
.numbers span { display: block; color: var(--faint); font-size: 12px; white-space: nowrap; }
.key { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; color: var(--faint);
  padding-left: 12px; }
.key i { display: inline-block; width: 18px; height: 0; border-top: 4px solid; margin-right: 5px;
  vertical-align: middle; }"""


_PLACES = 'x', 'y'
_COLUMNS: dict[str, tuple[str, ...]] = {
    'route': ('xs', 'ys'),
    **dict.fromkeys(('trail', 'outline', 'path', 'truth'), _PLACES),
    'ellipse': (*_PLACES, 'colour', 'alpha'),
    'ahead': (*_PLACES, 'seconds'),
    'states': ('left', 'right', 'colour', 'status', 'why'),
    **dict.fromkeys(('ellipse_curve', 'error_curve'), ('t', 'm')),
}
"""Columns of each source."""

_MAP: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ('route', 'multi_line', {'color': drawing.GREY, 'line_width': 5, 'alpha': 0.45}),
    ('trail', 'line', {'color': drawing.BLUE, 'line_width': 5, 'line_alpha': 0.35}),
    ('outline', 'patch', {'color': drawing.GREY, 'alpha': 0.25, 'line_width': 2}),
    ('path', 'line', {'color': drawing.BLUE, 'line_width': 3}),
    ('ahead', 'scatter', {'color': drawing.BLUE, 'size': 7}),
    ('truth', 'scatter', {'marker': 'x', 'size': 14, 'color': drawing.PINK, 'line_width': 4}),
    ('ellipse', 'scatter', {'size': 13, 'fill_color': 'colour', 'line_color': 'white',
                            'line_width': 2, 'fill_alpha': 'alpha'}),
)  # fmt: skip
"""The map from the bottom up: a source, and how it is drawn."""


class LivePlots:
    """Map, timeline and curves; what they show is put into ``sources`` by their names."""

    def __init__(self, *, live: bool) -> None:
        self.sources = {
            name: ColumnDataSource({each: [] for each in columns}, name=name)
            for name, columns in _COLUMNS.items()
        }
        # Route and trail: what moves else is no reason to move the map.
        across, up = DataRange1d(renderers=[]), DataRange1d(renderers=[])
        self.map = drawing.map_plot(
            375, name='map', css_classes=['map'], lod_threshold=None, x_range=across, y_range=up
        )
        for name, method, style in _MAP:
            source = self.sources[name]
            made = getattr(self.map, method)(*_COLUMNS[name][:2], source=source, **style)
            if name == 'ahead':
                drawing.add_hover(self.map, [made], {'ahead': '@seconds{0.0} s'})
            if name == 'outline':
                self.ellipse = made.glyph
            if name == 'trail':
                across.renderers = up.renderers = list(self.map.renderers)
        whole = DataRange1d(range_padding=0.0)
        self.timeline = drawing.plot(
            '', 'state', 40, name='timeline', x_range=whole, y_range=(0.0, 1.0), tools='',
            active_drag=None, toolbar_location=None,
        )  # fmt: skip
        self.timeline.yaxis.ticker = []
        # Its time is that of the plot below it.
        self.timeline.xaxis.visible = self.timeline.ygrid.visible = False
        bars = self.timeline.quad(
            left='left', right='right', bottom=0.0, top=1.0, color='colour',
            source=self.sources['states'],
        )  # fmt: skip
        shown = {'': '@status', 'why': '@why', 'from': '@left{0.0} s', 'to': '@right{0.0} s'}
        drawing.add_hover(self.timeline, [bars], shown)
        self.curves = drawing.plot(
            'time (s)', 'metres', 170, name='curves', x_range=whole,
            tools='xpan,xwheel_zoom,reset', active_drag=None, y_axis_type='log',
        )  # fmt: skip
        self.cursors: list[Span] = []
        for name, colour in (('ellipse_curve', drawing.BLUE), ('error_curve', drawing.PINK)):
            if name == 'ellipse_curve' or not live:
                self.curves.line('t', 'm', source=self.sources[name], color=colour)
        for drawn in [] if live else [self.timeline, self.curves]:
            cursor = Span(location=0.0, dimension='height', line_color=drawing.GREY, line_width=3)
            drawn.add_layout(cursor)
            self.cursors.append(cursor)

    def put(self, name: str, /, **columns: list[Any]) -> None:
        """Show other columns of a source, if they are others."""
        source = self.sources[name]
        if source.data != columns:
            source.data = columns


def text(name: str, words: str = '') -> Div:
    """Return a text as wide as its place."""
    return Div(name=name, text=words, sizing_mode='stretch_width', stylesheets=[_TEXT_CSS])


PERIOD_MS = 80
"""Between two pictures: 12.5 a second. Half of it doubles the load, twice of it looks jerky."""
_TRAIL_S, _LIVE_S = 10.0, 300.0
_GONE_S = 3.0
"""As `two-manifold status`: a node reports once a second."""

_TILES = {
    'novelty': ('novelty (usual: 1)', '', 1.0),
    'off_route': ('chance off route', '%', 100.0),
    'input_rate_hz': ('samples in', 'Hz', 1.0),
    'estimate_rate_hz': ('estimates out', 'Hz', 1.0),
    'tick_us': ('tick time', 'ms', 1e-3),
    'processing_p99_us': ('tick time, 99 %', 'ms', 1e-3),
}
"""Label, unit and factor of numbers of the status, by their names there."""
_COLOURS = {status.value: colour for status, colour in drawing.STATUS_COLOURS.items()}
_PLACE = '<div class="key"><span>{}</span></div>'
_BAR_CSS = """:host { flex-wrap: wrap !important; gap: 4px 14px; align-items: flex-start; }
.long { flex: 1 1 260px !important; }"""


class LivePage:
    """The page of one browser: fills its document and draws a scene until the browser is gone."""

    def __init__(self, document: Document, scene: Scene) -> None:
        self._document, self._scene = document, scene
        self._live = scene.duration_s is None
        # The time that is shown, and whether a bag plays.
        self._now, self._playing = 0.0, not self._live
        self._pictures = 0
        self._shown: Vehicle | None = None
        self._drawn = -1
        self._routes: list[Floats] | None = None
        self._banner, self._numbers, self._place = map(text, ('banner', 'numbers', 'place'))
        self._picker = Select(
            name='robot', title='robot', options=[], value='', width=170, visible=False
        )
        self._play = Button(name='play', label='Pause', width=80)
        self._play.on_click(self._toggle)
        self._slider = Slider(
            name='time', title='time (s)', start=0.0, end=1.0, step=0.05, value=0.0,
            css_classes=['long'], sizing_mode='stretch_width',
        )  # fmt: skip
        self._slider.on_change('value', self._scrub)
        plots = self._plots = LivePlots(live=self._live)
        if self._live:
            plots.map.on_event(DoubleTap, self._show_place)
            self._place.text = _PLACE.format('Double-click where the vehicle is to set that')
        names = {
            'route of the model': drawing.GREY,
            'path ahead (pale: the last 10 s), half the 95 % ellipse': drawing.BLUE,
            **({} if self._live else {'true position, error': drawing.PINK}),
            **_COLOURS,
        }
        key = ''.join(
            f'<span><i style="border-color: {colour}"></i>{name}</span>'
            for name, colour in names.items()
        )
        wide: dict[str, Any] = {'sizing_mode': 'stretch_width'}
        of_bag = [] if self._live else [self._play, self._slider]
        bar = row(self._picker, *of_bag, stylesheets=[_BAR_CSS], **wide)
        document.add_root(
            column(
                self._banner, bar, self._numbers, plots.map,
                text('key', f'<div class="key">{key}</div>'), self._place,
                plots.timeline, plots.curves, **wide,
                styles={'padding': '8px', 'box-sizing': 'border-box'},
                stylesheets=[GlobalInlineStyleSheet(css=drawing.SCREEN_CSS)],
            )
        )  # fmt: skip
        document.title = scene.title
        document.on_session_destroyed(self._leave)
        scene.pages.add(self)
        self.draw()
        document.add_periodic_callback(self.draw, PERIOD_MS)

    def _leave(self, _: object) -> None:
        self._scene.pages.discard(self)

    def _toggle(self) -> None:
        self._playing = not self._playing
        if self._playing and self._now >= (self._scene.duration_s or 0.0):
            self._now = 0.0
        self._play.label = 'Pause' if self._playing else 'Play'

    def _show_place(self, clicked: Any) -> None:  # noqa: ANN401 - an event
        """Show the command by which the filter is told that its vehicle is there."""
        space = self._picker.value.rpartition('/')[0]
        topic = f' --topic {space}/initialpose' if space else ''
        words = escape(f'two-manifold place {clicked.x:.2f} {clicked.y:.2f}{topic}')
        self._place.text = _PLACE.format(f'To set the position: <code>{words}</code>')

    def _scrub(self, _: str, __: float, seconds: float) -> None:
        self._now = float(seconds)

    def _choose(self) -> Vehicle | None:
        """Return the vehicle that is chosen, the first one until another one is."""
        names: list[Any] = sorted(list(self._scene.vehicles))  # noqa: C414 - others may add
        if names != self._picker.options:
            self._picker.options = names
            self._picker.visible = len(names) > 1
            if self._picker.value not in names:
                self._picker.value = names[0]
        return self._scene.vehicles.get(self._picker.value)

    def _advance(self, vehicle: Vehicle | None) -> None:
        """Go on to the present, or in a bag that plays, as far as the filter is."""
        if self._live:
            self._now = self._scene.clock()
            return
        lasts_s = known_s = self._scene.duration_s or 0.0
        if lasts_s:
            self._slider.end = lasts_s
        if self._playing and lasts_s:
            if self._scene.note:
                last = vehicle.at(math.inf) if vehicle is not None else None
                known_s = last.seconds if last is not None else 0.0
            self._now = max(self._now, min(self._now + PERIOD_MS / 1000, known_s))
        self._slider.value = self._now

    def draw(self) -> None:
        """Draw what is new."""
        vehicle = self._choose()
        self._document.hold('combine')
        if vehicle is not self._shown and vehicle is not None:
            self._shown, self._drawn, self._pictures = vehicle, -1, 0
        self._advance(vehicle)
        now = self._now
        moment = vehicle.at(now) if vehicle is not None else None
        state, why = self._state(vehicle, moment, now)
        if vehicle is not None:
            self._draw_map(vehicle, moment, now)
            if self._pictures % 3 == 0:
                self._draw_numbers(vehicle, moment or Moment(now, '', ''))
            # What covers minutes is drawn again about once a second.
            if self._pictures % 12 == 0 and vehicle.count != self._drawn:
                self._drawn = vehicle.count
                self._draw_minutes(vehicle, now - _LIVE_S if self._live else -math.inf)
        self._pictures += 1
        self._banner.text = (
            f'<div class="banner" role="status" style="--state: {_colour(state)}">'
            f'<b>{escape(state)}</b><span class="why">{escape(why)}</span>'
            f'<span class="note">{escape(self._scene.note)}</span></div>'
        )
        # Last of all, so that where they are the rest of the picture is of that time.
        for cursor in self._plots.cursors:
            cursor.location = now
        self._document.unhold()

    def _state(
        self, vehicle: Vehicle | None, moment: Moment | None, now: float
    ) -> tuple[str, str]:
        """Return state, and cause with cure."""
        if vehicle is None and self._live:
            why = 'No filter node is heard: check that one runs, with the same ROS_DOMAIN_ID'
            return 'no node', why
        if vehicle is None:
            return 'reading', ''
        if self._live and now - vehicle.heard_s > _GONE_S:
            return 'gone', f'{vehicle.name} was not heard for {now - vehicle.heard_s:.0f} s'
        if moment is None:
            return Status.WAITING.value, ''
        silent_s = now - moment.seconds
        if not self._live and silent_s > drawing.SILENT_S:
            why = f'No estimate for {silent_s:.1f} s: the recording has a gap, or ends'
            return Status.NO_DATA.value, why
        return moment.status, moment.sentence

    def _draw_map(self, vehicle: Vehicle, moment: Moment | None, now: float) -> None:
        put = self._plots.put
        if vehicle.routes is not self._routes:
            self._routes = vehicle.routes
            xs, ys = ([run[:, axis].tolist() for run in vehicle.routes] for axis in (0, 1))
            put('route', xs=xs, ys=ys)
        place = ring = trail = np.zeros((0, 2))
        path: Floats | None = np.zeros((0, 3))
        colours, alphas = list[str](), list[float]()
        fresh = moment is not None and now - moment.seconds < drawing.SILENT_S
        if (
            moment is not None and fresh
            and moment.position is not None and moment.covariance is not None
        ):  # fmt: skip
            colours, alphas = [_colour(moment.status)], [1.0 if moment.usable else 0.25]
            self._plots.ellipse.fill_color = self._plots.ellipse.line_color = colours[0]
            place = moment.position[None]
            ring = drawing.outlines(place, moment.covariance[None])[0]
            trail = vehicle.trail(now - _TRAIL_S, now)
            if moment.usable:
                # A path comes right after its position: until then that of before stays.
                path = moment.path() if moment.path is not None else None
        put('ellipse', **_spots(place), colour=colours, alpha=alphas)
        put('outline', **_spots(ring))
        put('trail', **_spots(trail))
        if path is not None:
            # A line along the route, or its points alone.
            line, dots = (path, path[:0]) if is_dense(path[:, 2]) else (path[:0], path[1:])
            put('path', **_spots(line))
            put('ahead', **_spots(dots), seconds=dots[:, 2].tolist())
        put('truth', **_spots(vehicle.true_places(now - drawing.SILENT_S, now)[-1:]))

    def _draw_minutes(self, vehicle: Vehicle, start: float) -> None:
        """Draw the states and curves of the bag, or of the last minutes."""
        stretches = vehicle.stretches(start)
        # One tick of a state has no length, and would not be seen.
        self._plots.put(
            'states',
            left=[each.start for each in stretches],
            right=[max(each.end, each.start + 0.05) for each in stretches],
            colour=[_colour(each.status) for each in stretches],
            status=[each.status for each in stretches],
            why=[each.why for each in stretches],
        )
        seconds, ellipses, errors = vehicle.curves(start)
        # About as many points as a screen has pixels.
        at, both = drawing.envelope(seconds, np.stack([ellipses, errors], axis=1), 1500)
        # No line joins what a gap parts.
        both[np.diff(at, prepend=at[:1]) > drawing.SILENT_S] = np.nan
        for name, values in zip(('ellipse_curve', 'error_curve'), both.T.tolist(), strict=True):
            self._plots.put(name, t=at.tolist(), m=values)

    def _draw_numbers(self, vehicle: Vehicle, shown: Moment) -> None:
        numbers = shown.numbers
        chance = _number(100.0 * numbers.get('route_chance', math.nan), '%')
        cells = {
            'route': escape(f'{shown.route}, {chance}') if shown.route else '',
            'half 95 % ellipse': _number(shown.ellipse_m, 'm'),
            'error': _number(shown.error_m, 'm') if len(vehicle.truth[0]) else '',
            'bad messages': str(vehicle.passed_over or ''),
            'x, y (m)': '' if shown.position is None else '{:.2f}, {:.2f}'.format(*shown.position),
        }
        for name, (label, unit, factor) in _TILES.items():
            if math.isfinite(numbers.get(name, math.nan)):
                cells[label] = _number(factor * numbers[name], unit)
        inner = ''.join(
            f'<div><span>{label}</span><b>{value}</b></div>'
            for label, value in cells.items()
            if value
        )
        self._numbers.text = f'<div class="numbers">{inner}</div>'


def _colour(status: str) -> str:
    """Return the colour of a state by its word, also of a node that is not heard."""
    return _COLOURS.get(status, drawing.NOT_RUNNING)


def _spots(places: Floats) -> dict[str, list[float]]:
    return {'x': places[:, 0].tolist(), 'y': places[:, 1].tolist()}


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return '-'
    digits = 2 if abs(value) < 10.0 else 1 if abs(value) < 100.0 else 0
    return f'{value:.{digits}f} {unit}'.rstrip()
