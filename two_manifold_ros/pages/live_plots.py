# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The plots of the live page, and the sources of what they show."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, DataRange1d
from bokeh.models.annotations.geometry import Span
from bokeh.models.widgets.markups import Div

from two_manifold_ros.pages import drawing

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
