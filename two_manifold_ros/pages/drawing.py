# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Look of all pages: colours, plots, ellipses, and thinning of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, TYPE_CHECKING

from bokeh.models import (
    ColumnDataSource,
    HoverTool,
    LinearColorMapper,
    LogColorMapper,
    LogTicker,
    PrintfTickFormatter,
)
from bokeh.models.annotations import ColorBar
from bokeh.palettes import cividis
from bokeh.plotting import figure
import numpy as np

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from bokeh.models.renderers import GlyphRenderer


BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GREY = (
    '#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#8A8F98',
)  # fmt: skip
"""Colours of Okabe and Ito, which colour-blind people distinguish, on white and on black."""

CURVES = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)
"""Colours of curves in one plot, in this order."""

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
"""Colour of each status, none of which is that of the estimate, the truth or the route."""

NOT_RUNNING = '#434A55'
"""Colour of a node that is gone, or not active yet."""

SCREEN_CSS = """
:root { --paper: #ffffff; --ink: #1d2127; --faint: #5b6470;
  --line: #c3c8cf; --card: #f5f6f8; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
"""
"""Colours of a report, on the screen and on paper, and of a live page."""


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
    if settings.get('y_axis_type') == 'log':
        # Numbers, not powers of ten, and few of them: a label takes some 25 pixels.
        drawn.yaxis.formatter = PrintfTickFormatter(format='%.4g')
        drawn.yaxis.ticker = LogTicker(desired_num_ticks=max(2, (height - 50) // 40))
    return drawn


def map_plot(height: int = 520, **settings: Any) -> figure:  # noqa: ANN401 - of Bokeh
    """Return an empty plot of the plane, a metre as long in y as in x, around what is drawn."""
    defaults = {
        'tools': 'pan,wheel_zoom,reset,save',
        'active_drag': 'pan',
        'active_scroll': 'wheel_zoom',
        'match_aspect': True,
    }
    return plot('x (m)', 'y (m)', height, **{**defaults, **settings})


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
    # Without colours that are not seen on black or on white.
    seen = cividis(80)[12:-6]
    colours = kind(palette=seen, low=span[0], high=span[1], nan_color=GREY)
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
