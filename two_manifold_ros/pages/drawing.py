# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Look of all pages: colours, plots, ellipses, and thinning of data."""

from __future__ import annotations

from itertools import accumulate, groupby, pairwise
from typing import Any, TYPE_CHECKING

from bokeh.models import (
    CustomJS,
    CustomJSTicker,
    HoverTool,
    LinearColorMapper,
    LogColorMapper,
    PrintfTickFormatter,
    Range1d,
    WheelZoomTool,
)
from bokeh.models.annotations import ColorBar
from bokeh.palettes import cividis
from bokeh.plotting import figure
import numpy as np

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bokeh.models import ColumnDataSource
    from bokeh.models.renderers import GlyphRenderer

    from two_manifold_ros.typing import Floats, Ints

BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GREY = (
    '#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#8A8F98',
)  # fmt: skip
"""Colours of Okabe and Ito, which colour-blind people distinguish, on white and on black."""

CURVES = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)
"""Colours of curves in one plot, in this order."""

SCALE = cividis(80)[12:-6]
"""Colours of values, without the darkest and the brightest: these are not seen on black and on
white."""

SILENT_S = 2.0
"""Time without an estimate over which no line and no bar is drawn: some ticks of the slowest."""

STATUS_COLOURS = {
    Status.TRACKING: GREEN,
    Status.UNSURE: ORANGE,
    Status.LOST: VERMILION,
    Status.LOCALISING: SKY,
    Status.FILLING: '#A0764F',
    Status.REFUSED: '#8E44AD',
    Status.NO_DATA: '#757C88',
    Status.WAITING: '#BFC5CD',
}
"""
Colour of each status; its word stands beside it everywhere.

On the map and in curves blue is the estimate, pink the truth and grey the route: no status has
these.
"""

NOT_RUNNING = '#434A55'
"""Colour of a node that is gone, or not active yet."""

SCREEN_CSS = """
:root { --paper: #ffffff; --ink: #1d2127; --faint: #5b6470;
  --line: #c3c8cf; --grid: #e7e9ec; --card: #f5f6f8; --warn: #8a4b00; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
"""
"""Colours of a report, on the screen and on paper, and of a live page."""

_EQUAL_SCALES = """
const width = plot.inner_width, height = plot.inner_height;
if (!width || !height) return;
const [x, y] = [plot.x_range, plot.y_range];
const shape = (y.reset_end - y.reset_start) / (x.reset_end - x.reset_start);
const needed = Math.max(least, shape * width) + plot.outer_height - height;
const fitting = Math.round(Math.min(needed, most));
// The labels of an axis change its width by less, and what was zoomed has to stay.
if (shape > 0 && Math.abs(plot.height - fitting) > 0.1 * most) {
  for (const range of [x, y]) range.setv({start: range.reset_start, end: range.reset_end});
  plot.height = fitting;
  return;
}
const metres = Math.max((x.end - x.start) / width, (y.end - y.start) / height);
for (const [range, pixels] of [[x, width], [y, height]]) {
  const middle = (range.start + range.end) / 2, half = metres * pixels / 2;
  if (Math.abs(range.end - range.start - 2 * half) < 1e-9 * half) continue;
  range.start = middle - half;
  range.end = middle + half;
}
"""
"""
A metre is as long in y as in x, also after the window has another size.

A plot that is higher than its places need gets lower: on a phone it would be empty for the most.
"""

_LEAST_MAP = 160
"""Pixels of the height of a map, for the tools beside it."""


_LOG_TICKS = """
const [low, high] = [cb_data.start, cb_data.end].sort((a, b) => a - b);
if (!(low > 0 && isFinite(high))) return [];
const decades = Math.log10(high / low), every = Math.ceil(decades / most);
const digits = [[1, 2, 5], [1, 3], [1]].find(each => each.length * decades <= most) ?? [1];
const ticks = [];
for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
  if (digits.length > 1 || power % every === 0)
    ticks.push(...digits.map(each => Number(`${each}e${power}`)));
const seen = ticks.filter(each => low <= each && each <= high);
if (seen.length > 1) return seen;
const step = Number(`1e${Math.floor(Math.log10((high - low) / most))}`);
const wide = [1, 2, 5, 10].map(each => each * step).find(each => (high - low) / each <= most);
return Array.from({length: most + 1}, (_, each) => wide * (Math.ceil(low / wide) + each))
  .filter(each => each <= high);
"""
"""Bokeh has even steps on less than two decades: their labels lie on top of each other."""


def plot(
    x_label: str,
    y_label: str,
    height: int = 260,
    **settings: Any,  # noqa: ANN401 - of Bokeh
) -> figure:
    """Return an empty plot as wide as the page, with names and units of its axes."""
    defaults = {
        'tools': 'xpan,xwheel_zoom,box_zoom,reset,save',
        'active_drag': 'box_zoom',
        'sizing_mode': 'stretch_width',
        'x_axis_label': x_label,
        'y_axis_label': y_label,
        'min_border_left': 70,
        'height': height,
    }
    drawn = figure(**{**defaults, **settings})
    drawn.toolbar.logo = None
    # Numbers, not powers of ten.
    for kind, axes in (('x_axis_type', drawn.xaxis), ('y_axis_type', drawn.yaxis)):
        if settings.get(kind) == 'log':
            axes.formatter = PrintfTickFormatter(format='%.4g')
            # A label takes some 25 pixels of a height, and a third of the width of a phone.
            most = 4 if kind[0] == 'x' else max(2, (height - 50) // 25)
            axes.ticker = CustomJSTicker(args={'most': most}, major_code=_LOG_TICKS)
    return drawn


def map_plot(places: Floats, height: int = 520, **settings: Any) -> figure:  # noqa: ANN401
    """Return an empty plot of the plane, a metre as long in y as in x, around places (n, 2)."""
    known = places[np.isfinite(places).all(axis=1)]
    low, high = (known.min(axis=0), known.max(axis=0)) if len(known) else (-np.ones(2), np.ones(2))
    ranges = {'x_range': Range1d(), 'y_range': Range1d()}
    drawn = plot(
        'x (m)', 'y (m)', height, **{'tools': 'pan,box_zoom,reset,save', **ranges, **settings}
    )
    fit_to(drawn, low, high)
    zoom = WheelZoomTool()
    drawn.add_tools(zoom)
    drawn.toolbar.active_scroll = zoom
    sizes = {'least': _LEAST_MAP, 'most': height}
    keep = CustomJS(args={'plot': drawn, **sizes}, code=_EQUAL_SCALES)
    drawn.js_on_change('inner_width', keep)
    drawn.js_on_change('inner_height', keep)
    # Set by `fit_to` of a page that is open.
    drawn.y_range.js_on_change('reset_end', keep)
    return drawn


def fit_to(drawn: figure, low: Floats, high: Floats) -> None:
    """Show what lies between two corners (2,) of a map, now and after a reset."""
    # As much room at each side as shows that nothing is cut off.
    margin = 0.06 * float(np.max(high - low)) + 0.05
    for axis, first, last in zip((drawn.x_range, drawn.y_range), low, high, strict=True):
        start, end = float(first) - margin, float(last) + margin
        axis.update(start=start, end=end, reset_start=start, reset_end=end)


def dress_legend(drawn: figure) -> None:
    """Put the legend above the plot, where it leaves room on a phone; a click hides a curve."""
    for legend in drawn.legend:
        legend.update(orientation='horizontal', click_policy='hide', border_line_alpha=0.0)
        # As high as its words.
        legend.update(padding=0, margin=0, glyph_height=12, label_height=12)
        legend.label_text_font_size = '12px'
        drawn.add_layout(legend, 'above')


def add_hover(drawn: figure, renderers: list[Any], shown: Mapping[str, str]) -> None:
    """Show names and values of the point under the mouse."""
    drawn.add_tools(HoverTool(renderers=renderers, tooltips=list(shown.items())))


def dots_by_value(
    drawn: figure,
    source: ColumnDataSource,
    field: str,
    span: tuple[float, float],
    title: str,
    *,
    log: bool = False,
    **glyph: Any,  # noqa: ANN401 - of Bokeh
) -> GlyphRenderer[Any]:
    """Draw the points x, y of a source, coloured by a field from dark to bright over a span."""
    kind = LogColorMapper if log else LinearColorMapper
    colours = kind(palette=SCALE, low=span[0], high=span[1], nan_color=GREY)
    paint = {'field': field, 'transform': colours}
    dots = drawn.scatter('x', 'y', source=source, color=paint, **glyph)
    scale = ColorBar(
        color_mapper=colours, title=title, width=12, background_fill_color=None,
        formatter=PrintfTickFormatter(format='%.4g'),
    )  # fmt: skip
    drawn.add_layout(scale, 'right')
    return dots


def outlines(positions: Floats, covariances: Floats, points: int = 24) -> Floats:
    """Return 95 % ellipses (n, points, 2) around (n, 2); of no covariance (n, 2, 2) it is NaN."""
    turns = np.linspace(0.0, 2.0 * np.pi, points)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    found = np.full((len(positions), points, 2), np.nan)
    for index, covariance in enumerate(covariances):
        try:
            root = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            continue
        found[index] = positions[index] + (np.sqrt(CHI_SQUARE[1]) * root @ circle).T
    return found


def worst_of_bins(values: Floats, most: int) -> Ints:
    """Return the indices of the largest values of so many stretches, so that no peak is hidden."""
    if len(values) <= most:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), most + 1).astype(np.int64)
    ranked = np.where(np.isnan(values), -np.inf, values)
    found = [first + int(ranked[first:last].argmax()) for first, last in pairwise(edges.tolist())]
    return np.array(found, dtype=np.int64)


def envelope(seconds: Floats, rows: Floats, most: int) -> tuple[Floats, Floats]:
    """Return curves (n, c) in at most so many points: least and largest values of stretches."""
    if len(seconds) <= most:
        return seconds, rows
    firsts = np.linspace(0, len(seconds), max(most // 2, 1), endpoint=False).astype(np.int64)
    lasts = np.append(firsts[1:], len(seconds)) - 1
    low, high = np.fmin.reduceat(rows, firsts), np.fmax.reduceat(rows, firsts)
    times = np.stack([seconds[firsts], seconds[lasts]], axis=1).reshape(-1)
    return times, np.stack([low, high], axis=1).reshape(-1, rows.shape[1])


def evenly(count: int, most: int) -> Ints:
    """Return the indices of at most so many of ``count`` things, evenly spread."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most)).astype(np.int64))


def stretches(codes: Sequence[object]) -> list[tuple[int, int]]:
    """Return the first index and the one after the last of each run of equal codes."""
    lengths = (len(list(run)) for _, run in groupby(codes))
    return list(pairwise(accumulate(lengths, initial=0)))
