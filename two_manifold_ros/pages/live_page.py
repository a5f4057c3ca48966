# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The live page: map, state, numbers and traces of vehicles, now or at any time of a bag."""

from __future__ import annotations

from html import escape
import math
from typing import Any, TYPE_CHECKING

from bokeh.layouts import column, row
from bokeh.models import GlobalInlineStyleSheet, Range1d
from bokeh.models.widgets.buttons import Button
from bokeh.models.widgets.inputs import Select
from bokeh.models.widgets.sliders import Slider
import numpy as np

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.model.path_ahead import is_dense
from two_manifold_ros.pages import drawing
from two_manifold_ros.pages.live_plots import key, LivePlots, text, TRACES_S
from two_manifold_ros.pages.vehicle import Moment, Scene, Vehicle
from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from bokeh.document import Document

    from two_manifold_ros.typing import Floats

PERIOD_MS = 80
"""Between two pictures: 12.5 a second. Half of it doubles the load, twice of it looks jerky."""
_SLOW = 12
"""Pictures after which what covers minutes is drawn again: about once a second."""
_TRAIL_S, _LIVE_S = 10.0, 300.0
_LOADED_S = 40.0
"""How far around the present a page loads traces of a bag: a scrub within it loads nothing."""
_TRACE_HZ, _CURVE_POINTS = 50, 1500
"""A trace of 20 s and a curve have about as many points as a screen has pixels."""
_GONE_S = 3.0
"""As `two-manifold status`: a node reports once a second."""

_NOBODY = (
    'No filter node is heard: check that one runs, and that both terminals have the same '
    'ROS_DOMAIN_ID'
)
_NO_PATH = np.zeros((0, 3))
_TILES = {
    'novelty': ('novelty (usual: 1)', '', 1.0, 'How much the IMU differs from the training'),
    'off_route': (
        'chance off route', '%', 100.0, 'Probability that the vehicle is not on the trained route'
    ),
    'input_rate_hz': ('samples in', 'Hz', 1.0, 'IMU samples that the node receives'),
    'estimate_rate_hz': ('estimates out', 'Hz', 1.0, 'Estimates that the filter computes'),
    'stamp_age_s': ('IMU delay', 'ms', 1e3, 'Age of an IMU sample when the node receives it'),
    'tick_us': ('tick time', 'ms', 1e-3, 'Computing time of the filter for this tick'),
    'processing_p50_us': ('tick time, median', 'ms', 1e-3, 'Half of the ticks take less'),
    'processing_p99_us': ('tick time, 99 %', 'ms', 1e-3, 'One tick of a hundred takes more'),
}  # fmt: skip
"""Label, unit, factor and meaning of numbers of the status, by their names there."""
_COLOURS = {status.value: colour for status, colour in drawing.STATUS_COLOURS.items()}
_HALVES_CSS = """:host { flex-wrap: wrap !important; gap: 4px 14px; align-items: flex-start; }
.wide { flex: 3 1 440px !important; min-width: min(440px, 100%) !important; }
.side { flex: 2 1 340px !important; min-width: min(340px, 100%) !important; }"""
_BAR_CSS = """:host { flex-wrap: wrap !important; gap: 4px 12px; align-items: end; }
.long { flex: 1 1 260px !important; }"""


_PLAYED_S = 3600.0
"""Age of a sample from which on a bag is played with stamps of its own time: it says nothing."""


class Controls:
    """
    What a reader chooses: the vehicle and, of a bag, the time ``now`` and whether it plays.

    ``whole`` is the range of all times.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene, self._live = scene, scene.duration_s is None
        self.now, self._playing, self._begun = 0.0, not self._live, False
        self.whole = Range1d(start=0.0, end=1.0)
        self._picker = Select(
            name='robot', title='robot', options=[], value='', width=170, visible=False
        )
        self._play = Button(name='play', label='Pause', width=80)
        self._play.on_click(self._toggle)
        speeds: list[Any] = ['0.25', '1', '2', '5', '20']
        self._speed = Select(name='speed', title='speed', options=speeds, value='1', width=80)
        self._slider = Slider(
            name='time', title='time (s)', start=0.0, end=1.0, step=0.05, value=0.0,
            css_classes=['long'], sizing_mode='stretch_width',
        )  # fmt: skip
        self._slider.on_change('value', self._scrub)
        of_bag = [] if self._live else [self._play, self._speed, self._slider]
        shown = self._picker, *of_bag
        self.bar = row(*shown, sizing_mode='stretch_width', stylesheets=[_BAR_CSS])

    def choose(self) -> Vehicle | None:
        """Return the vehicle that is chosen, the first one until another one is."""
        names: list[Any] = sorted(list(self._scene.vehicles))  # noqa: C414 - others may add
        if names != self._picker.options:
            self._picker.options = names
            self._picker.visible = len(names) > 1
            if names and self._picker.value not in names:
                self._picker.value = names[0]
        return self._scene.vehicles.get(self._picker.value)

    def _toggle(self) -> None:
        self._playing = not self._playing
        if self._playing and self.now >= (self._scene.duration_s or 0.0):
            self.now = 0.0
        self._play.label = 'Pause' if self._playing else 'Play'

    def _scrub(self, _: str, __: float, seconds: float) -> None:
        # Else it is `advance` that moved the slider.
        if seconds != self.now:
            self.now, self._begun = float(seconds), True

    def jump(self, event: Any) -> None:  # noqa: ANN401 - a Tap
        """Go to where a plot is clicked."""
        if event.x is not None and not self._live:
            self._slider.value = min(max(float(event.x), 0.0), float(self._slider.end))

    def advance(self, vehicle: Vehicle | None) -> None:
        """Go on to the present, or in a bag, from where estimates begin."""
        if self._live:
            self.now = self._scene.clock()
            return
        lasts_s = known_s = self._scene.duration_s or 0.0
        if lasts_s and self._slider.end != lasts_s:
            self._slider.end = self.whole.end = lasts_s
        if vehicle is not None and not self._begun and vehicle.count:
            first = vehicle.first_usable()
            self._begun = first is not None or not self._scene.note
            self.now = first or self.now
        if self._playing and lasts_s:
            # A filter may still be at work.
            if self._scene.note and vehicle is not None and (last := vehicle.at(math.inf)):
                known_s = last.seconds
            step_s = float(self._speed.value) * PERIOD_MS / 1000
            self.now = min(self.now + step_s, max(known_s, self.now))
        self._slider.value = self.now


class LivePage:
    """The page of one browser: fills its document and draws a scene until the browser is gone."""

    def __init__(self, document: Document, scene: Scene) -> None:
        self._document, self._scene = document, scene
        self._live = scene.duration_s is None
        self._pictures = 0
        self._shown: Vehicle | None = None
        self._loaded = (math.inf, -math.inf)
        self._drawn = -1
        self._routes: list[Floats] | None = None
        self._corners: Floats = np.full((2, 2), np.nan)
        names = 'banner', 'numbers', 'states_key', 'map_key'
        self._banner, self._numbers, self._states, self._map_key = map(text, names)
        self._controls = Controls(scene)
        plots = self._plots = LivePlots(self._controls.jump, self._controls.whole, live=self._live)
        wide: dict[str, Any] = {'sizing_mode': 'stretch_width'}
        halves = row(
            column(plots.map, self._map_key, css_classes=['wide'], **wide),
            column(self._numbers, *plots.traces, css_classes=['side'], **wide),
            stylesheets=[_HALVES_CSS],
            **wide,
        )
        document.add_root(
            column(
                self._banner, self._controls.bar, halves, self._states, plots.timeline,
                plots.curves, styles={'padding': '8px', 'box-sizing': 'border-box'},
                stylesheets=[GlobalInlineStyleSheet(css=drawing.SCREEN_CSS)], **wide,
            )
        )  # fmt: skip
        document.title = scene.title
        document.on_session_destroyed(self._leave)
        scene.looking[self] = ''
        self.draw()
        document.add_periodic_callback(self.draw, PERIOD_MS)

    def _leave(self, _: object) -> None:
        self._scene.looking.pop(self, None)

    def draw(self) -> None:
        """Draw what is new."""
        vehicle = self._controls.choose()
        self._document.hold('combine')
        if vehicle is not self._shown and vehicle is not None:
            self._shown, self._drawn, self._pictures = vehicle, -1, 0
            self._loaded = (math.inf, -math.inf)
            self._plots.sources['imu'].data = {'t': [], **{name: [] for name in IMU_CHANNELS}}
            self._scene.looking[self] = vehicle.name
        slow = self._pictures % _SLOW == 0
        self._pictures += 1
        self._controls.advance(vehicle)
        now = self._controls.now
        moment = vehicle.at(now) if vehicle is not None else None
        state, why = self._state(vehicle, moment, now)
        if vehicle is not None:
            self._draw_map(vehicle, moment, now)
            self._draw_traces(vehicle, now)
            if self._pictures % 3 == 1:
                self._draw_numbers(vehicle, moment or Moment(now, '', ''))
            if slow:
                self._draw_minutes(vehicle, now)
                self._draw_map_key(vehicle, _colour(state))
                self._fit()
        self._banner.text = (
            f'<div class="banner" role="status" style="--state: {_colour(state)}">'
            f'<b>{escape(state)}</b><span class="why">{escape(why)}</span>'
            f'<span class="note">{escape(self._scene.note)}</span></div>'
        )
        # Last of all, so that where they are the rest of the picture is of that time.
        for cursor in self._plots.cursors:
            cursor.location = now
        self._document.unhold()

    def _draw_map(self, vehicle: Vehicle, moment: Moment | None, now: float) -> None:
        put = self._plots.put
        if vehicle.routes is not self._routes:
            self._routes = vehicle.routes
            xs, ys = ([run[:, axis].tolist() for run in vehicle.routes] for axis in (0, 1))
            put('route', xs=xs, ys=ys)
        spot, places = _place(moment, now), np.zeros((0, 2))
        ring = trail = places
        path: Floats | None = _NO_PATH
        colours, alphas = list[str](), list[float]()
        if moment is not None and spot is not None and moment.covariance is not None:
            colours, alphas = [_colour(moment.status)], [1.0 if moment.usable else 0.25]
            self._plots.ellipse.fill_color = self._plots.ellipse.line_color = colours[0]
            places = spot[None]
            ring = drawing.outlines(places, moment.covariance[None])[0]
            trail = vehicle.trail(now - _TRAIL_S, now)
            if moment.usable:
                # A path comes right after its position: until then that of before stays.
                path = moment.path() if moment.path is not None else None
        put('ellipse', **_spots(places), colour=colours, alpha=alphas)
        put('outline', **_spots(ring))
        put('trail', **_spots(trail))
        if path is not None:
            self._draw_path(path)
        true_trail = vehicle.true_trail(now - _TRAIL_S, now)
        put('true_trail', **_spots(true_trail))
        put('truth', **_spots(true_trail[-1:]))
        others = [
            (each.name, there.status, spot)
            for each in list(self._scene.vehicles.values())
            if each is not vehicle and (there := each.at(now)) is not None
            if (spot := _place(there, now)) is not None
        ]
        names, colours = [each[0] for each in others], [_colour(each[1]) for each in others]
        places = np.array([each[2] for each in others]).reshape(-1, 2)
        put('others', **_spots(places), **self._inwards(places), name=names, colour=colours)

    def _draw_path(self, path: Floats) -> None:
        """Draw a path ahead as a line along the route, or as its points alone, with times."""
        spots, seconds = path[:, :2], path[:, 2]
        dense = is_dense(seconds)
        self._plots.put('path', **_spots(spots if dense else spots[:0]))
        if dense:
            times = _times(float(seconds[-1]))
            spots = np.column_stack([np.interp(times, seconds, each) for each in spots.T])
        else:
            times, spots = seconds[1:], spots[1:]
        names = [f'+{each:.3g} s' for each in times.tolist()]
        self._plots.put('ahead', **_spots(spots), **self._inwards(spots), ahead=names)

    def _inwards(self, places: Floats) -> dict[str, list[Any]]:
        """Return on which side of places their names are: where the edge of the map is not."""
        # Without any corners all are right of the middle.
        left = (places[:, 0] < self._corners[:, 0].mean()).tolist()
        return {
            'align': ['left' if each else 'right' for each in left],
            'offset': [10.0 if each else -10.0 for each in left],
        }

    def _draw_traces(self, vehicle: Vehicle, now: float) -> None:
        self._plots.recent.update(start=max(now - TRACES_S, 0.0), end=max(now, TRACES_S))
        first, last = self._loaded
        source = self._plots.sources['imu']
        for each in self._plots.traces:
            each.visible = each.visible or len(source.data['t']) > 0
        if self._live:
            seconds, rows = vehicle.imu(max(last, now - TRACES_S), now)
            if len(seconds):
                self._loaded = (0.0, float(seconds[-1]))
                span_s = max(float(seconds[-1] - seconds[0]), PERIOD_MS / 1000)
                new = _columns(seconds, rows, math.ceil(span_s * _TRACE_HZ))
                source.stream(new, rollover=round(1.5 * TRACES_S * _TRACE_HZ))
        elif not (first <= max(now - TRACES_S, 0.0) and now <= last):
            self._loaded = (max(now - _LOADED_S, 0.0), now + _LOADED_S)
            seconds, rows = vehicle.imu(self._loaded[0] - 1e-9, self._loaded[1])
            source.data = _columns(seconds, rows, round(2 * _LOADED_S * _TRACE_HZ))

    def _draw_minutes(self, vehicle: Vehicle, now: float) -> None:
        """Draw the states and curves of the bag, or of the last minutes."""
        start = now - _LIVE_S if self._live else -math.inf
        if self._live:
            self._controls.whole.update(start=max(start, 0.0), end=now)
        if vehicle.count == self._drawn:
            return
        self._drawn = vehicle.count
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
        keys = {'states': ''} | {each.status: _colour(each.status) for each in stretches}
        keys |= {'below': '', 'half the 95 % ellipse': drawing.BLUE}
        self._states.text = key(keys | ({'error': drawing.PINK} if len(vehicle.truth) else {}))
        seconds, ellipses, errors = vehicle.curves(start)
        at, both = drawing.envelope(seconds, np.stack([ellipses, errors], axis=1), _CURVE_POINTS)
        # No line joins what a gap parts.
        both[np.diff(at, prepend=at[:1]) > drawing.SILENT_S] = np.nan
        for name, values in zip(('ellipse_curve', 'error_curve'), both.T.tolist(), strict=True):
            self._plots.put(name, t=at.tolist(), m=values)
        known = np.concatenate([ellipses, errors])
        known = known[known > 0.0]
        if len(known):
            low, high = 0.5 * float(np.quantile(known, 0.05)), 1.5 * float(known.max())
            self._plots.curves.y_range.update(start=max(low, 1e-4), end=max(high, 1e-3))

    def _draw_map_key(self, vehicle: Vehicle, colour: str) -> None:
        """Name what is drawn: a real robot has no true position, a bare recording no estimate."""
        rows = (
            ('route of the model', drawing.GREY, vehicle.routes),
            ('path ahead (pale: the last 10 s)', drawing.BLUE, vehicle.count),
            ('true position', drawing.PINK, len(vehicle.truth)),
            ('position with its 95 % ellipse, colour of the state', colour, vehicle.count),
        )
        self._map_key.text = key({name: each for name, each, there in rows if there})

    def _fit(self) -> None:
        """Show the whole route when it is first known, and again where it has grown."""
        corners = np.array([each.corners() for each in list(self._scene.vehicles.values())])
        if np.isnan(corners).all():
            return
        low, high = np.nanmin(corners[:, 0], axis=0), np.nanmax(corners[:, 1], axis=0)
        room = 0.02 * max(float(np.max(high - low)), 1.0)
        # What is not known yet is near nothing.
        if not ((low >= self._corners[0] - room) & (high <= self._corners[1] + room)).all():
            self._corners = np.stack([low, high])
            drawing.fit_to(self._plots.map, low, high)

    def _state(
        self, vehicle: Vehicle | None, moment: Moment | None, now: float
    ) -> tuple[str, str]:
        """Return state, and cause with cure."""
        if vehicle is None:
            return ('no node', _NOBODY) if self._live else ('reading', '')
        if self._live and now - vehicle.heard_s > _GONE_S:
            return 'gone', f'{vehicle.name} was not heard for {now - vehicle.heard_s:.0f} s'
        if moment is None:
            return Status.WAITING.value, ''
        silent_s = now - moment.seconds
        if not self._live and silent_s > drawing.SILENT_S:
            why = f'No estimate for {silent_s:.1f} s: the recording has a gap, or ends'
            return Status.NO_DATA.value, why
        return moment.status, moment.sentence

    def _draw_numbers(self, vehicle: Vehicle, shown: Moment) -> None:
        numbers = shown.numbers
        chance = _number(100.0 * numbers.get('route_chance', math.nan), '%')
        route = escape(f'{shown.route}, {chance}') if shown.route else ''
        error = _number(shown.error_m, 'm') if len(vehicle.truth) else ''
        place = '' if shown.position is None else '{:.2f}, {:.2f}'.format(*shown.position)
        ellipse, passed = _number(shown.ellipse_m, 'm'), str(vehicle.passed_over or '')
        cells = [
            ('route', route, 'The most probable route, and its probability'),
            ('half 95 % ellipse', ellipse, 'Half the length of the ellipse'),
            ('error', error, 'Distance to the true position'),
            ('bad messages', passed, 'Messages that could not be read'),
            ('x, y (m)', place, 'Estimated position in the frame of the map'),
        ]
        cells += [
            (label, _number(factor * numbers[name], unit), tip)
            for name, (label, unit, factor, tip) in _TILES.items()
            if math.isfinite(numbers.get(name, math.nan))
            and not (name == 'stamp_age_s' and numbers[name] > _PLAYED_S)
        ]
        inner = ''.join(
            f'<div title="{tip}"><span>{label}</span><b>{value}</b></div>'
            for label, value, tip in cells
            if value
        )
        self._numbers.text = f'<div class="numbers">{inner}</div>'


def _colour(status: str) -> str:
    """Return the colour of a state by its word, also of a node that is not heard."""
    return _COLOURS.get(status, drawing.NOT_RUNNING)


def _place(moment: Moment | None, now: float) -> Floats | None:
    """Return the position (2,), if one is known at this time."""
    fresh = moment is not None and now - moment.seconds < drawing.SILENT_S
    return moment.position if moment is not None and fresh else None


def _times(last_s: float) -> Floats:
    """Return the round times up to a last one at which a path has a point: five at most."""
    step = 10.0 ** np.floor(np.log10(last_s / 5.0))
    step *= next(each for each in (1.0, 2.0, 5.0, 10.0) if 5.0 * step * each >= last_s * 0.999)
    times: Floats = step * np.arange(1.0, np.floor(last_s / step + 1e-3) + 1.0)
    return times


def _columns(seconds: Floats, rows: Floats, most: int) -> dict[str, Any]:
    seconds, rows = drawing.envelope(seconds, rows, most)
    return {'t': seconds, **dict(zip(IMU_CHANNELS, rows.T, strict=True))}


def _spots(places: Floats) -> dict[str, list[float]]:
    return {'x': places[:, 0].tolist(), 'y': places[:, 1].tolist()}


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return '-'
    digits = 2 if abs(value) < 10.0 else 1 if abs(value) < 100.0 else 0
    return f'{value:.{digits}f} {unit}'.rstrip()
