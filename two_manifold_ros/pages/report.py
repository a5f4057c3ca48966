# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A report: sentences, tables and plots in one HTML file that opens without a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
import re
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

from bokeh.embed import components
from bokeh.models import ColumnDataSource
from bokeh.resources import Resources
import numpy as np

from two_manifold_ros import __version__
from two_manifold_ros.files import replace_text
from two_manifold_ros.pages.drawing import SCREEN_CSS
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from bokeh.models.ui import UIElement


_NUMBER = re.compile(r'[-+]?[\d.]|-$|$')


def title_of(paths: Sequence[str], what: str) -> str:
    """Return a title with the names of files first, so that the tabs of a browser differ."""
    more = f' and {len(paths) - 1} more' if len(paths) > 1 else ''
    return f'{Path(paths[0]).name or paths[0]}{more}: {what}'


class Heading(NamedTuple):
    """The heading of a section."""

    words: str


class Figure(NamedTuple):
    """A plot, or a layout of some, with its title above and how to read it below."""

    title: str
    drawn: UIElement
    how_to_read: str


Part: TypeAlias = 'str | Table | Heading | Figure'
"""What a page is put together from; sentences and tables are those of a terminal."""


def page_of(title: str, subtitle: str, parts: Iterable[Part]) -> str:
    """Return a page, whose subtitle names its sources; the same parts give the same bytes."""
    parts = list(parts)
    drawn = [each.drawn for each in parts if isinstance(each, Figure)]
    sources: Any = (each for plot in drawn for each in plot.select({'type': ColumnDataSource}))
    for source in sources:
        source.data = {name: _halved(each) for name, each in source.data.items()}
    script, divs = components(drawn) if drawn else ('', ())
    script, *divs = renumbered([script, *divs])
    waiting = iter(divs)
    below = f'<p class="faint">{escape(subtitle)}</p>' if subtitle else ''
    body = ''.join(_html(each, waiting) for each in parts)
    # Only what plots need: with buttons and formulas the page would be twice as large.
    library = Resources(mode='inline', components=['bokeh']).render() if drawn else ''
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="two_manifold_ros {__version__}">'
        f'<title>{escape(title)}</title><style>{SCREEN_CSS}{_CSS}</style>{library}'
        f'</head><body><main><h1>{escape(title)}</h1>{below}{body}</main>{script}'
        '<noscript><p>The plots of this page need JavaScript.</p></noscript></body></html>\n'
    )


def write_page(path: str | Path, title: str, subtitle: str, parts: Iterable[Part]) -> None:
    """Write a page into a file; raise ``InputError`` where that is not possible."""
    replace_text(path, [page_of(title, subtitle, parts)], 'report')


def _html(part: Part, divs: Iterator[str]) -> str:
    """Return a part; figures have the next of the ``divs``."""
    if isinstance(part, Heading):
        return f'<h2>{escape(part.words)}</h2>'
    if isinstance(part, Figure):
        return (
            f'<figure><figcaption><b>{escape(part.title)}</b></figcaption>{next(divs)}'
            f'<p class="faint">{escape(part.how_to_read)}</p></figure>'
        )
    if isinstance(part, str):
        return f'<p>{escape(part)}</p>'
    title, header, rows = part
    # Columns of numbers are aligned to the right.
    numeric = [all(_NUMBER.match(row[each]) for row in rows) for each in range(len(header))]
    lines = []
    for tag, row in (*((('th', header),) if any(header) else ()), *(('td', row) for row in rows)):
        cells = (
            f'<{tag}{" class=number" * right}>{escape(each)}</{tag}>'
            for right, each in zip(numeric, row, strict=False)
        )
        lines.append(f'<tr>{"".join(cells)}</tr>')
    return (
        f'<div class="wide"><table><caption>{escape(title)}</caption>{"".join(lines)}'
        '</table></div>'
    )


def _halved(column: Any) -> Any:  # noqa: ANN401 - whatever is drawn
    """Return a column in single precision: half of the bytes of a page."""
    if isinstance(column, list):
        return [_halved(each) for each in column]
    return column.astype(np.float32) if getattr(column, 'dtype', None) == np.float64 else column


def renumbered(parts: Sequence[str]) -> list[str]:
    """Return what Bokeh made with its names, which are random or counted, replaced by numbers."""
    uuid = r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
    named = re.findall(rf'id(?:":|=)"(p\d+|{uuid})"', ''.join(parts))
    short = {name: f'n{number}' for number, name in enumerate(dict.fromkeys(named), start=1)}
    if not short:
        return list(parts)
    quoted = re.compile(rf'"({"|".join(short)})"')
    return [quoted.sub(lambda each: f'"{short[each[1]]}"', part) for part in parts]


_CSS = """
main { max-width: 1080px; margin: 0 auto; padding: 0 1.5em 3em; }
h1, h2, p { overflow-wrap: anywhere; }
h1 { font-size: 1.6em; margin: .8em 0 0; } h2 { font-size: 1.3em; margin: 1.8em 0 .4em;
  border-bottom: 1px solid var(--line); }
.faint { color: var(--faint); } figure { margin: 1.2em 0; } figure p { margin: .2em 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .8em 0; }
caption { text-align: left; font-weight: bold; padding-bottom: .3em; }
th, td { padding: .2em .9em .2em 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line);  font-variant-numeric: tabular-nums; }
.number { text-align: right; white-space: nowrap; }
@media print { figure, tr { break-inside: avoid; }
  main { max-width: none; padding: 0; } }
"""
