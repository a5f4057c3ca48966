# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A report: sentences, tables and plots in one HTML file that opens without a network."""

from __future__ import annotations

from html import escape
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

from bokeh.embed import components
from bokeh.models import ColumnDataSource
from bokeh.resources import Resources
import numpy as np

from two_manifold_ros import __version__
from two_manifold_ros.errors import InputError
from two_manifold_ros.files import replace_text
from two_manifold_ros.pages.drawing import SCREEN_CSS
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bokeh.models.ui import UIElement

SUFFIXES = ('.html', '.htm')

_NUMBER = re.compile(r'[-+]?[\d.]|-$|$')
"""Start of a cell that holds a number or nothing."""


def check_report_path(path: str | Path) -> None:
    """Raise ``InputError``, before anything is computed, if no report can be written there."""
    if Path(path).suffix.lower() not in SUFFIXES:
        msg = f'{path}: a report is a page for a browser; use a name that ends in {SUFFIXES[0]}'
        raise InputError(msg)
    if not Path(path).absolute().parent.is_dir():
        msg = f'The folder of {path} does not exist: make it before writing a report.'
        raise InputError(msg)


def title_of(paths: Sequence[str], what: str) -> str:
    """Return a title with the names of files first, so that the tabs of a browser differ."""
    more = f' and {len(paths) - 1} more' if len(paths) > 1 else ''
    return f'{Path(paths[0]).name or paths[0]}{more}: {what}'


class Report:
    """A page that is put together from the top to the bottom; the subtitle names its sources."""

    def __init__(self, title: str, subtitle: str = '') -> None:
        self._title = title
        self._parts: list[str | UIElement] = [f'<h1>{escape(title)}</h1>']
        if subtitle:
            self._parts.append(f'<p class="faint">{escape(subtitle)}</p>')
        self._sections: list[str] = []

    def section(self, heading: str) -> None:
        """Begin a section, which the list at the top of the page leads to."""
        self._sections.append(heading)
        self._parts.append(f'<h2 id="s{len(self._sections)}">{escape(heading)}</h2>')

    def say(self, *sentences: str) -> None:
        """Add a paragraph."""
        self._parts.append(f'<p>{escape(" ".join(sentences))}</p>')

    def findings(self, rows: Sequence[tuple[str, str]]) -> None:
        """Add findings: ``warning`` or ``info``, and a sentence with its cure."""
        lines = [
            f'<li class="{escape(kind)}"><b>{escape(kind)}</b> {escape(words)}</li>'
            for kind, words in rows
        ]
        if lines:
            self._parts.append(f'<ul class="findings">{"".join(lines)}</ul>')

    def table(self, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table of texts; columns of numbers are aligned to the right."""
        numeric = [
            all(_NUMBER.match(row[column]) for row in rows) for column in range(len(header))
        ]
        tags = [' class="number"' if each else '' for each in numeric]
        head = ''.join(
            f'<th scope="col"{tag}>{escape(name)}</th>'
            for tag, name in zip(tags, header, strict=True)
        )
        body = ''.join(
            '<tr>'
            + ''.join(
                f'<td{tag}>{escape(cell)}</td>' for tag, cell in zip(tags, row, strict=False)
            )
            + '</tr>'
            for row in rows
        )
        shown = f'<thead><tr>{head}</tr></thead>' if any(header) else ''
        self._parts.append(
            f'<div class="wide"><table><caption>{escape(caption)}</caption>{shown}'
            f'<tbody>{body}</tbody></table></div>'
        )

    def show(self, parts: Iterable[str | Table]) -> None:
        """Add sentences and tables as a terminal shows them."""
        for each in parts:
            if isinstance(each, Table):
                self.table(*each)
            else:
                self.say(each)

    def figure(self, title: str, drawn: UIElement, how_to_read: str) -> None:
        """Add a plot, or a layout of some, with its title above and how to read it below."""
        sources: Any = drawn.select({'type': ColumnDataSource})
        for source in sources:
            source.data = {name: _halved(each) for name, each in source.data.items()}
        self._parts += [
            f'<figure><figcaption><b>{escape(title)}</b></figcaption>',
            drawn,
            f'<p class="faint">{escape(how_to_read)}</p></figure>',
        ]

    def html(self) -> str:
        """Return the page; the same parts give the same bytes."""
        drawn = [part for part in self._parts if not isinstance(part, str)]
        script, divs = components(drawn) if drawn else ('', ())
        script, *divs = renumbered([script, *divs])
        waiting = iter(divs)
        body = ''.join(part if isinstance(part, str) else next(waiting) for part in self._parts)
        contents = ''.join(
            f'<a href="#s{number}">{escape(name)}</a>'
            for number, name in enumerate(self._sections, start=1)
        )
        # Only what plots need: with buttons and formulas the page would be twice as large.
        library = Resources(mode='inline', components=['bokeh']).render() if drawn else ''
        return (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="generator" content="two_manifold_ros {__version__}">'
            f'<title>{escape(self._title)}</title><style>{SCREEN_CSS}{_CSS}</style>{library}'
            f'</head><body><nav>{contents}</nav><main>{body}</main>{script}'
            '<noscript><p>The plots of this page need JavaScript.</p></noscript></body></html>\n'
        )

    def write(self, path: str | Path) -> None:
        """Write the page into a file; raise ``InputError`` where that is not possible."""
        replace_text(path, [self.html()], 'report')


def _halved(column: Any) -> Any:  # noqa: ANN401 - whatever is drawn
    """Return a column in single precision: half of the bytes of a page."""
    if isinstance(column, list):
        return [_halved(each) for each in column]
    return column.astype(np.float32) if getattr(column, 'dtype', None) == np.float64 else column


def renumbered(parts: Sequence[str]) -> list[str]:
    """
    Return what Bokeh made with its names of models, documents and places replaced by their order.

    Some of them are random and some are counted in the process.
    """
    uuid = r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
    named = re.findall(rf'id(?:":|=)"(p\d+|{uuid})"', ''.join(parts))
    short = {name: f'n{number}' for number, name in enumerate(dict.fromkeys(named), start=1)}
    if not short:
        return list(parts)
    quoted = re.compile(rf'"({"|".join(short)})"')
    return [quoted.sub(lambda each: f'"{short[each[1]]}"', part) for part in parts]


_CSS = """
nav { position: sticky; top: 0; z-index: 9; display: flex; flex-wrap: wrap; gap: 0 1.2em;
  padding: .5em 1.5em; background: var(--card); border-bottom: 1px solid var(--line); }
nav a { color: var(--ink); }
main { max-width: 1080px; margin: 0 auto; padding: 0 1.5em 3em; }
h1, h2, p, li { overflow-wrap: anywhere; }
h1 { font-size: 1.6em; margin: .8em 0 0; } h2 { font-size: 1.3em; margin: 1.8em 0 .4em;
  scroll-margin-top: 2.5em; border-bottom: 1px solid var(--line); } h3 { margin: 1.4em 0 .2em; }
.faint { color: var(--faint); } figure { margin: 1.2em 0; } figure p { margin: .2em 0; }
.findings { list-style: none; padding: 0; } .findings li { margin: .4em 0; padding: .5em .8em;
  background: var(--card); border-left: 5px solid var(--line); }
.findings .warning { border-color: #d55e00; } .findings .warning b { color: var(--warn); }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .8em 0; }
caption { text-align: left; font-weight: bold; padding-bottom: .3em; }
th, td { padding: .2em .9em .2em 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line);  font-variant-numeric: tabular-nums; }
.number { text-align: right; white-space: nowrap; }
@media print { nav { display: none; } figure, tr, li { break-inside: avoid; }
  main { max-width: none; padding: 0; } }
"""
