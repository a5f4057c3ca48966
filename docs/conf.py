# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - Sphinx reads it by its path
"""
Settings of Sphinx: the Markdown pages of this folder as a site that loads nothing from elsewhere.

A forge shows the same pages, so they are plain Markdown: a link is a relative path with the anchor
of a heading, and the contents are lists of links, of which toctrees are made here. Run by
``./run docs``, and by rosdoc2 (`rosdoc2.yaml`).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent


def _text(name: str) -> str:
    """Return a file of the checkout, or nothing where only this folder is, as in rosdoc2."""
    path = CHECKOUT / name
    return path.read_text() if path.is_file() else ''


project = 'two_manifold_ros'
author = 'The two_manifold_ros developers'
copyright = f'2026 {author}'  # noqa: A001 - Sphinx calls it so
version = release = ''.join(re.findall('<version>(.*)</version>', _text('package.xml')))

extensions = ['myst_parser', 'sphinx.ext.mathjax']
root_doc = 'index'
# What rosdoc2 adds: its own first page, and those of sphinx-apidoc, which would import ROS.
exclude_patterns = ['__*', 'index.rst', 'modules.rst', 'standard*', 'two_manifold_ros*']
myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 4
# Indented blocks are commands beside what they print, which is no language.
highlight_language = 'none'
# Options in sentences keep their two dashes.
smartquotes = False

html_theme = 'furo' if find_spec('furo') else 'sphinx_rtd_theme'
html_title = f'{project} {version}'
html_static_path = ['static']
html_css_files = ['site.css']
html_copy_source = False

# One file of MathJax, which draws formulas as vectors and needs no font. Sphinx copies it with the
# other static files; where it is missing, as at rosdoc2, browsers load MathJax as Sphinx has it.
_mathjax = find_spec('sphinx-mathjax-offline')
if _mathjax and _mathjax.origin:
    html_static_path += [f'{Path(_mathjax.origin).parent}/static/mathjax/tex-svg.js']
    mathjax_path = 'tex-svg.js'
    # So that the longest formulas fit their column.
    mathjax3_config = {'svg': {'scale': 0.9}}

CONTENTS = ('index',)
"""Pages whose lists of links are contents: each link to a page in an item."""

COPIES = {'contributing': 'CONTRIBUTING.md', 'changelog': 'CHANGELOG.rst'}
"""Pages that the site shows in place of those that lead to them on a forge."""

ELSEWHERE = {'CONTRIBUTING.md': 'contributing.md', 'CHANGELOG.rst': 'changelog.rst'}
"""Pages of the site for files of the checkout that pages link to."""

FOR_DEVELOPERS = frozenset({'architecture', 'changelog', 'contributing', 'notebook'})
"""Pages with a word for everything, which a search would show before the page that answers."""

FILE = re.compile(r'\[([^\]]*)\]\(((?:\.\./|examples/)[\w./-]+\.\w+)\)')
"""A link to a file that may be no page."""

ENTRY = re.compile(r'\[([^\]]*)\]\(([\w/-]+)\.(?:md|rst)\)')


def _as_page(_app: Sphinx, name: str, source: list[str]) -> None:
    """Change the text of a page from what a forge shows to what the site shows."""
    page = source[0]
    if name in COPIES:
        page = _text(COPIES[name]).replace('](docs/', '](') or page
    for file, target in ELSEWHERE.items():
        page = page.replace(f'](../{file}', f']({target}')
    place = (HERE / name).parent
    page = FILE.sub(lambda each: _as_download(place, *each.groups()), page)
    if name in CONTENTS:
        page = _with_toctrees(page)
    source[0] = page


def _as_download(place: Path, words: str, target: str) -> str:
    """Return a link to a file that comes with the site, or to a page, which stays as it is."""
    path = (place / target).resolve()
    if HERE in path.parents and path.suffix != '.py':
        return f'[{words}]({target})'
    return f'{{download}}`{words} <{target}>`' if path.is_file() else words


def _with_toctrees(page: str) -> str:
    """Return a page with a toctree at its end for each heading that has pages below it."""
    toctrees = []
    title, *sections = re.split(r'^## (.*)\n', page, flags=re.MULTILINE)
    parts = [('', title), *zip(sections[::2], sections[1::2], strict=True)]
    for caption, text in parts:
        items = ' '.join(line for line in text.splitlines() if line.startswith('* '))
        found = ENTRY.findall(items)
        entries = [f'{words[:1].upper()}{words[1:]} <{target}>' for words, target in found]
        if entries:
            lines = [':hidden:', *([f':caption: {caption}'] if caption else []), '', *entries]
            toctrees.append('\n'.join(['```{toctree}', *lines, '```']))
    return '\n\n'.join([page, *toctrees]) + '\n'


def _without_words(app: Sphinx, _: object) -> None:
    """Keep pages for developers out of what a search finds."""
    if app.env.docname in FOR_DEVELOPERS:
        app.env.metadata[app.env.docname]['no-search'] = ''


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what changes pages when they are read."""
    app.connect('source-read', _as_page)
    app.connect('doctree-read', _without_words)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
