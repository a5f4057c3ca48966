# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The live page: map, state, numbers and traces of vehicles, now or at any time of a bag."""

from __future__ import annotations

from html import escape
import math
from typing import Any, TYPE_CHECKING

from bokeh.layouts import column, row
from bokeh.models import GlobalInlineStyleSheet
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


class LivePage:
    """The page of one browser: fills its document and draws a scene until the browser is gone."""

    def __init__(self, document: Document, scene: Scene) -> None:
        self._document, self._scene = document, scene
        self._live = scene.duration_s is None
        self._pictures = 0
        self._now, self._playing, self._begun = 0.0, not self._live, False
        self._loaded = (math.inf, -math.inf)
        self._drawn: tuple[object, ...] = ()
        self._routes: list[Floats] | None = None
        self._corners: Floats = np.full((2, 2), np.nan)
        names = 'banner', 'numbers', 'states_key', 'map_key'
        self._banner, self._numbers, self._states, self._map_key = map(text, names)
        self._bar = self._make_controls()
        plots = self._plots = LivePlots(live=self._live, jump=self._jump)
        halves = row(
            column(plots.map, self._map_key, css_classes=['wide'], sizing_mode='stretch_width'),
            column(
                self._numbers, *plots.traces, css_classes=['side'], sizing_mode='stretch_width'
            ),
            sizing_mode='stretch_width',
            stylesheets=[_HALVES_CSS],
        )
        document.add_root(
            column(
                self._banner,
                self._bar,
                halves,
                self._states,
                plots.timeline,
                plots.curves,
                sizing_mode='stretch_width',
                styles={'padding': '8px', 'box-sizing': 'border-box'},
                stylesheets=[GlobalInlineStyleSheet(css=drawing.SCREEN_CSS)],
            )
        )
        document.title = scene.title
        document.on_session_destroyed(self._leave)
        scene.looking[self] = ''
        self.draw()
        document.add_periodic_callback(self.draw, PERIOD_MS)

    def _leave(self, _: object) -> None:
        self._scene.looking.pop(self, None)

    def draw(self) -> None:
        """Draw what is new."""
        scene = self._scene
        vehicle = self._choose()
        slow = self._pictures % _SLOW == 0
        self._pictures += 1
        self._document.hold('combine')
        if self._live:
            self._now = scene.clock()
        else:
            self._advance(vehicle)
        if vehicle is not None:
            moment = vehicle.at(self._now)
            self._draw_map(vehicle, moment)
            self._draw_traces(vehicle)
            if self._pictures % 3 == 1:
                self._draw_numbers(vehicle, moment)
            if slow:
                self._draw_minutes(vehicle)
                self._draw_map_key(vehicle)
                self._fit()
        self._draw_banner(vehicle)
        # Last of all, so that where they are the rest of the picture is of that time.
        for cursor in self._plots.cursors:
            cursor.location = self._now
        self._document.unhold()

    def _choose(self) -> Vehicle | None:
        names: list[Any] = sorted(list(self._scene.vehicles))  # noqa: C414 - others may add
        if names != self._picker.options:
            self._picker.options = names
            self._picker.visible = len(names) > 1
            if names and self._picker.value not in names:
                self._picker.value = names[0]
        if not names:
            return None
        chosen: str = self._picker.value
        self._scene.looking[self] = chosen
        return self._scene.vehicles.get(chosen)

    def _make_controls(self) -> Any:  # noqa: ANN401 - Bokeh is not typed
        self._picker = Select(
            name='robot', title='robot', options=[], value='', width=170, visible=False
        )
        self._picker.on_change('value', self._pick)
        self._play = Button(name='play', label='Pause', width=80)
        self._play.on_click(self._toggle)
        speeds: list[Any] = ['0.25', '1', '2', '5', '20']
        self._speed = Select(name='speed', title='speed', options=speeds, value='1', width=80)
        self._slider = Slider(
            name='time', title='time (s)', start=0.0, end=1.0, step=0.05, value=0.0,
            css_classes=['long'], sizing_mode='stretch_width',
        )  # fmt: skip
        self._slider.on_change('value', self._scrub)
        self._sets_slider = False
        shown = [self._picker] if self._live else [
            self._picker, self._play, self._speed, self._slider
        ]  # fmt: skip
        return row(*shown, sizing_mode='stretch_width', stylesheets=[_BAR_CSS])

    def _pick(self, _: str, __: str, ___: str) -> None:
        self._loaded, self._drawn = (math.inf, -math.inf), ()
        self._plots.sources['imu'].data = {'t': [], **{name: [] for name in IMU_CHANNELS}}
        self._pictures = 0

    def _toggle(self) -> None:
        self._playing = not self._playing
        if self._playing and self._now >= (self._scene.duration_s or 0.0):
            self._now = 0.0
        self._play.label = 'Pause' if self._playing else 'Play'

    def _scrub(self, _: str, __: float, seconds: float) -> None:
        if not self._sets_slider:
            self._now, self._begun = float(seconds), True

    def _jump(self, event: Any) -> None:  # noqa: ANN401 - a Tap
        if event.x is not None and not self._live:
            self._now, self._begun = min(max(float(event.x), 0.0), float(self._slider.end)), True
            self._slider.value = self._now

    def _advance(self, vehicle: Vehicle | None) -> None:
        """Move on in a bag, from where estimates begin."""
        lasts_s = self._scene.duration_s or 0.0
        if lasts_s and self._slider.end != lasts_s:
            self._slider.end = self._plots.whole.end = lasts_s
        if vehicle is not None and not self._begun and vehicle.count:
            first = vehicle.first_usable()
            self._begun = first is not None or not self._scene.note
            self._now = first or self._now
        if self._playing and lasts_s:
            step_s = float(self._speed.value) * PERIOD_MS / 1000
            known_s = self._known_s(vehicle)
            self._now = min(self._now + step_s, max(known_s, self._now))
        if abs(self._slider.value - self._now) > 1e-6:
            self._sets_slider = True
            self._slider.value = self._now
            self._sets_slider = False

    def _known_s(self, vehicle: Vehicle | None) -> float:
        """Return up to when there is something to show: a filter may still be at work."""
        last = vehicle.at(math.inf) if vehicle is not None else None
        if not self._scene.note or last is None:
            return self._scene.duration_s or 0.0
        return last.seconds

    def _draw_map(self, vehicle: Vehicle, moment: Moment | None) -> None:
        now, spots = self._now, _spots
        routes = vehicle.routes
        if routes is not self._routes:
            self._routes = routes
            self._plots.put('route', **_lines(routes))
        fresh = moment is not None and now - moment.seconds < drawing.SILENT_S
        if moment is None or not fresh or moment.position is None or moment.covariance is None:
            self._plots.put('ellipse', x=[], y=[], colour=[], alpha=[])
            for name in ('outline', 'trail'):
                self._plots.put(name, x=[], y=[])
            self._draw_path(_NO_PATH)
        else:
            colour = _COLOURS.get(moment.status, drawing.NOT_RUNNING)
            place = spots(moment.position[None])
            self._plots.put(
                'ellipse', **place, colour=[colour], alpha=[1.0 if moment.usable else 0.25]
            )
            self._plots.ellipse.fill_color = self._plots.ellipse.line_color = colour
            shape = drawing.outlines(moment.position[None], moment.covariance[None])[0]
            self._plots.put('outline', **spots(shape))
            self._plots.put('trail', **spots(vehicle.trail(now - _TRAIL_S, now)))
            # A path comes right after its position: until then that of before stays.
            if moment.path is not None or not moment.usable:
                path = moment.path if moment.usable else None
                self._draw_path(_NO_PATH if path is None else path())
        trail = vehicle.true_trail(now - _TRAIL_S, now)
        self._plots.put('true_trail', **spots(trail))
        self._plots.put('truth', **spots(trail[-1:]))
        others = [
            (each.name, there)
            for each in list(self._scene.vehicles.values())
            if each is not vehicle
            and (there := each.at(now)) is not None
            and there.position is not None
            and now - there.seconds < drawing.SILENT_S
        ]
        places = np.array([there.position for _, there in others]).reshape(-1, 2)
        self._plots.put(
            'others',
            **spots(places),
            **self._inwards(places),
            name=[name for name, _ in others],
            colour=[_COLOURS.get(there.status, drawing.NOT_RUNNING) for _, there in others],
        )

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

    def _draw_traces(self, vehicle: Vehicle) -> None:
        now = self._now
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
                new = _columns(*drawing.envelope(seconds, rows, math.ceil(span_s * _TRACE_HZ)))
                source.stream(new, rollover=round(1.5 * TRACES_S * _TRACE_HZ))
        elif not (first <= max(now - TRACES_S, 0.0) and now <= last):
            self._loaded = (max(now - _LOADED_S, 0.0), now + _LOADED_S)
            seconds, rows = vehicle.imu(self._loaded[0] - 1e-9, self._loaded[1])
            source.data = _columns(
                *drawing.envelope(seconds, rows, round(2 * _LOADED_S * _TRACE_HZ))
            )

    def _draw_minutes(self, vehicle: Vehicle) -> None:
        """Draw the states and curves of the bag, or of the last minutes."""
        start = -math.inf
        if self._live:
            start = self._now - _LIVE_S
            self._plots.whole.start, self._plots.whole.end = max(start, 0.0), self._now
        state = vehicle.name, vehicle.count
        if state == self._drawn:
            return
        self._drawn = state
        stretches = vehicle.stretches(start)
        # One tick of a state has no length, and would not be seen.
        self._plots.put(
            'states',
            left=[each.start for each in stretches],
            right=[max(each.end, each.start + 0.05) for each in stretches],
            colour=[_COLOURS.get(each.status, drawing.NOT_RUNNING) for each in stretches],
            status=[each.status for each in stretches],
            why=[each.why for each in stretches],
        )
        seen = list(dict.fromkeys(each.status for each in stretches))
        keys = {status: _COLOURS.get(status, drawing.NOT_RUNNING) for status in seen}
        curves = {'below': '', 'half the 95 % ellipse': drawing.BLUE}
        if len(vehicle.truth):
            curves['error'] = drawing.PINK
        self._states.text = key({'states': ''} | keys | curves)
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

    def _draw_map_key(self, vehicle: Vehicle) -> None:
        """Name what is drawn: a real robot has no true position, a bare recording no estimate."""
        drawn = {'route of the model': drawing.GREY} if vehicle.routes else {}
        if vehicle.count:
            drawn |= {'path ahead (pale: the last 10 s)': drawing.BLUE}
        if len(vehicle.truth):
            drawn |= {'true position': drawing.PINK}
        if vehicle.count:
            colour = self._state(vehicle)[2]
            drawn |= {'position with its 95 % ellipse, colour of the state': colour}
        self._map_key.text = key(drawn)

    def _fit(self) -> None:
        """Show the whole route when it is first known, and again where it has grown."""
        corners = np.array([each.corners() for each in list(self._scene.vehicles.values())])
        if not corners.size or np.isnan(corners).all():
            return
        low, high = np.nanmin(corners[:, 0], axis=0), np.nanmax(corners[:, 1], axis=0)
        room = 0.02 * max(float(np.max(high - low)), 1.0)
        known = self._corners
        if (
            (low < known[0] - room).any()
            or (high > known[1] + room).any()
            or np.isnan(known).any()
        ):
            self._corners = np.stack([low, high])
            drawing.fit_to(self._plots.map, low, high)

    def _draw_banner(self, vehicle: Vehicle | None) -> None:
        status, why, colour = self._state(vehicle)
        note = escape(self._scene.note)
        self._banner.text = (
            f'<div class="banner" role="status" style="--state: {colour}"><b>{escape(status)}</b>'
            f'<span class="why">{escape(why)}</span><span class="note">{note}</span></div>'
        )

    def _state(self, vehicle: Vehicle | None) -> tuple[str, str, str]:
        """Return state, cause with cure, and colour."""
        moment = vehicle.at(self._now) if vehicle is not None else None
        silent_s = self._now - (moment.seconds if moment else 0.0)
        if vehicle is None:
            return (
                ('no node', _NOBODY, drawing.NOT_RUNNING)
                if self._live
                else ('reading', '', drawing.NOT_RUNNING)
            )
        if self._live and self._now - vehicle.heard_s > _GONE_S:
            silent_s = self._now - vehicle.heard_s
            return (
                'gone',
                f'{vehicle.name} was not heard for {silent_s:.0f} s',
                drawing.NOT_RUNNING,
            )
        if moment is None:
            return Status.WAITING.value, '', _COLOURS[Status.WAITING.value]
        if not self._live and silent_s > drawing.SILENT_S:
            why = f'No estimate for {silent_s:.1f} s: the recording has a gap, or ends'
            return Status.NO_DATA.value, why, _COLOURS[Status.NO_DATA.value]
        return moment.status, moment.sentence, _COLOURS.get(moment.status, drawing.NOT_RUNNING)

    def _draw_numbers(self, vehicle: Vehicle, moment: Moment | None) -> None:
        numbers = moment.numbers if moment is not None else {}
        shown = moment or Moment(self._now, '', '')
        cells = [
            ('half 95 % ellipse', _number(shown.ellipse_m, 'm'), 'Half the length of the ellipse')
        ]
        if shown.route:
            chance = _number(100.0 * numbers.get('route_chance', math.nan), '%')
            words = escape(f'{shown.route}, {chance}')
            cells.insert(0, ('route', words, 'The most probable route, and its probability'))
        if len(vehicle.truth):
            cells.append(('error', _number(shown.error_m, 'm'), 'Distance to the true position'))
        if vehicle.passed_over:
            passed = str(vehicle.passed_over)
            cells.append(('bad messages', passed, 'Messages that could not be read'))
        if shown.position is not None:
            place = '{:.2f}, {:.2f}'.format(*shown.position)
            cells.append(('x, y (m)', place, 'Estimated position in the frame of the map'))
        cells += [
            (label, _number(factor * numbers[name], unit), tip)
            for name, (label, unit, factor, tip) in _TILES.items()
            if math.isfinite(numbers.get(name, math.nan))
            and not (name == 'stamp_age_s' and numbers[name] > _PLAYED_S)
        ]
        inner = ''.join(
            f'<div title="{tip}"><span>{label}</span><b>{value}</b></div>'
            for label, value, tip in cells
        )
        self._numbers.text = f'<div class="numbers">{inner}</div>'


def _times(last_s: float) -> Floats:
    """Return the round times up to a last one at which a path has a point: five at most."""
    step = 10.0 ** np.floor(np.log10(last_s / 5.0))
    step *= next(each for each in (1.0, 2.0, 5.0, 10.0) if 5.0 * step * each >= last_s * 0.999)
    times: Floats = step * np.arange(1.0, np.floor(last_s / step + 1e-3) + 1.0)
    return times


def _columns(seconds: Floats, rows: Floats) -> dict[str, Any]:
    return {'t': seconds, **{name: rows[:, index] for index, name in enumerate(IMU_CHANNELS)}}


def _spots(places: Floats) -> dict[str, list[float]]:
    return {'x': places[:, 0].tolist(), 'y': places[:, 1].tolist()}


def _lines(runs: list[Floats]) -> dict[str, list[Any]]:
    return {'xs': [run[:, 0].tolist() for run in runs], 'ys': [run[:, 1].tolist() for run in runs]}


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return '-'
    digits = 2 if abs(value) < 10.0 else 1 if abs(value) < 100.0 else 0
    return f'{value:.{digits}f} {unit}'.rstrip()
