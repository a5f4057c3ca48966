# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The plots of the live page, and the sources of what they show."""

from __future__ import annotations

from html import escape
from typing import Any, TYPE_CHECKING

from bokeh.events import Tap
from bokeh.models import ColumnDataSource, Range1d
from bokeh.models.annotations.geometry import Span
from bokeh.models.widgets.markups import Div
import numpy as np

from two_manifold_ros.pages import drawing
from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bokeh.plotting import figure

TRACES_S = 20.0
"""Length of the traces: some laps of a model car, one bend of a full-size one."""
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
_NAMED = *_PLACES, 'align', 'offset'
_COLUMNS: dict[str, tuple[str, ...]] = {
    'route': ('xs', 'ys'),
    **dict.fromkeys(('true_trail', 'trail', 'outline', 'path', 'truth'), _PLACES),
    'ellipse': (*_PLACES, 'colour', 'alpha'),
    'ahead': (*_NAMED, 'ahead'),
    'others': (*_NAMED, 'name', 'colour'),
    'imu': ('t', *IMU_CHANNELS),
    'states': ('left', 'right', 'colour', 'status', 'why'),
    **dict.fromkeys(('ellipse_curve', 'error_curve'), ('t', 'm')),
}
"""Columns of each source."""

_TAG = {'x_offset': 'offset', 'text_align': 'align'}
_MAP: tuple[tuple[str, str, dict[str, Any], dict[str, str]], ...] = (
    ('route', 'multi_line', {'color': drawing.GREY, 'line_width': 5, 'alpha': 0.45}, {}),
    ('true_trail', 'line', {'color': drawing.PINK, 'line_width': 2, 'line_dash': 'dashed'}, {}),
    ('trail', 'line', {'color': drawing.BLUE, 'line_width': 5, 'line_alpha': 0.35}, {}),
    ('outline', 'patch', {'color': drawing.GREY, 'alpha': 0.25, 'line_width': 2}, {}),
    ('path', 'line', {'color': drawing.BLUE, 'line_width': 3}, {}),
    ('ahead', 'scatter', {'color': drawing.BLUE, 'size': 9},
     {'ahead': '@ahead', 'x, y (m)': '@x{0.00}, @y{0.00}'}),
    ('ahead', 'text', {'text': 'ahead', **_TAG, 'y_offset': -5, 'text_font_size': '12px',
                       'text_color': drawing.BLUE, 'text_font_style': 'bold'}, {}),
    ('others', 'scatter', {'size': 14, 'fill_color': 'colour', 'line_color': 'white',
                           'marker': 'square'}, {'robot': '@name'}),
    ('truth', 'scatter', {'marker': 'x', 'size': 14, 'color': drawing.PINK, 'line_width': 4}, {}),
    ('ellipse', 'scatter', {'size': 13, 'fill_color': 'colour', 'line_color': 'white',
                            'line_width': 2, 'fill_alpha': 'alpha'}, {}),
    ('others', 'text', {'text': 'name', **_TAG, 'y_offset': -6, 'text_font_size': '13px',
                        'text_color': 'colour'}, {}),
)  # fmt: skip
"""The map from the bottom up: a source, how it is drawn, and what the mouse shows of it."""


class LivePlots:
    """
    Map, traces, timeline and curves; what they show is put into ``sources`` by their names.

    Live there is neither a truth nor a time to go to; else ``jump`` gets a click on the timeline
    or the curves, whose range is ``whole``. The traces have the range ``recent``.
    """

    def __init__(self, jump: Callable[[Any], None], whole: Range1d, *, live: bool) -> None:
        self._live, self._jump, self._whole = live, jump, whole
        self.sources = {
            name: ColumnDataSource({each: [] for each in columns}, name=name)
            for name, columns in _COLUMNS.items()
        }
        self.cursors: list[Span] = []
        self.recent = Range1d(start=0.0, end=TRACES_S)
        self.map = drawing.map_plot(
            np.zeros((0, 2)), 375, name='map', css_classes=['map'], lod_threshold=None
        )
        for name, method, style, hover in _MAP:
            source = self.sources[name]
            made = getattr(self.map, method)(*_COLUMNS[name][:2], source=source, **style)
            if hover:
                drawing.add_hover(self.map, [made], hover)
            if method == 'patch':
                self.ellipse = made.glyph
        self.traces = [
            self._make_traces('acceleration', 'm/s²', IMU_CHANNELS[:3]),
            self._make_traces('turn rate', 'rad/s', IMU_CHANNELS[3:]),
        ]
        self.timeline, self.curves = self._make_timeline(), self._make_curves()

    def put(self, name: str, /, **columns: list[Any]) -> None:
        """Show other columns of a source, if they are others."""
        source = self.sources[name]
        if source.data != columns:
            source.data = columns

    def _make_traces(self, label: str, unit: str, names: tuple[str, ...]) -> figure:
        drawn = self._bare(
            f'{label} ({unit})', 165, name=label.replace(' ', '_'), x_range=self.recent,
            min_border_left=55, visible=False, lod_threshold=None,
        )  # fmt: skip
        for name, colour in zip(names, drawing.CURVES, strict=False):
            axis = name.rpartition('.')[2]
            drawn.line('t', name, source=self.sources['imu'], color=colour, legend_label=axis)
        drawing.dress_legend(drawn)
        return drawn

    @staticmethod
    def _bare(label: str, height: int, **settings: Any) -> figure:  # noqa: ANN401 - of Bokeh
        """Return a plot without tools."""
        bare = {'tools': '', 'active_drag': None, 'toolbar_location': None}
        return drawing.plot('', label, height, **bare, **settings)

    def _make_timeline(self) -> figure:
        drawn = self._bare(
            'state', 40, name='timeline', css_classes=['timeline'], x_range=self._whole,
            y_range=(0.0, 1.0),
        )  # fmt: skip
        drawn.yaxis.ticker = []
        # Its time is that of the plot below it.
        drawn.xaxis.visible = drawn.ygrid.visible = False
        bars = drawn.quad(
            left='left', right='right', bottom=0.0, top=1.0, color='colour',
            source=self.sources['states'],
        )  # fmt: skip
        shown = {'': '@status', 'why': '@why', 'from': '@left{0.0} s', 'to': '@right{0.0} s'}
        drawing.add_hover(drawn, [bars], shown)
        self._cross(drawn)
        return drawn

    def _make_curves(self) -> figure:
        drawn = drawing.plot(
            'time (s)', 'metres', 170, name='curves', x_range=self._whole,
            tools='xpan,xwheel_zoom,reset', active_drag=None, y_axis_type='log',
            y_range=Range1d(start=0.01, end=10.0),
        )  # fmt: skip
        for name, colour in (('ellipse_curve', drawing.BLUE), ('error_curve', drawing.PINK)):
            if name == 'ellipse_curve' or not self._live:
                drawn.line('t', 'm', source=self.sources[name], color=colour)
        self._cross(drawn)
        return drawn

    def _cross(self, drawn: figure) -> None:
        drawn.on_event(Tap, self._jump)
        if not self._live:
            cursor = Span(location=0.0, dimension='height', line_color=drawing.GREY, line_width=3)
            drawn.add_layout(cursor)
            self.cursors.append(cursor)


def text(name: str) -> Div:
    """Return an empty text as wide as its place."""
    return Div(name=name, text='', sizing_mode='stretch_width', stylesheets=[_TEXT_CSS])


def key(colours: dict[str, str]) -> str:
    """Return names with their colours; a name without one is a heading."""
    parts = [
        f'<span><i style="border-color: {colour}"></i>{escape(name)}</span>'
        if colour
        else f'<span>{escape(name)}:</span>'
        for name, colour in colours.items()
    ]
    return f'<div class="key">{"".join(parts)}</div>'
