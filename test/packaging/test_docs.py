# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The documentation can be built, leads everywhere, loads nothing, and shows what is true."""

import ast
from pathlib import Path
import re
import runpy
import shlex
import subprocess
import sys

import pytest

from two_manifold_ros.__main__ import main
from two_manifold_ros.experiments.experiment import EXPERIMENTS

LOADED = re.compile(
    r'<(?:script|img|iframe|source|embed)\b[^>]*\bsrc="((?:https?:)?//[^"]*)"'
    r'|<link\b[^>]*\bhref="((?:https?:)?//[^"]*)"'
)
"""What a browser would load from elsewhere; links that a reader may follow are none."""

IMPORTED = re.compile(r'@import[^;]*//|url\(["\']?(?:https?:)?//')
"""The same in a style sheet."""

NUMBER = r'(-?\d+(?:\.\d+)?)'

LIVE = ('view', 'status', 'place')
"""Commands that run until Ctrl-C, or listen to nodes."""


@pytest.fixture(scope='module')
def site(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; any warning is an error."""
    for name in ('sphinx', 'myst_parser', 'furo'):
        pytest.importorskip(name, reason=f'{name} is not installed: ./run docs does it')
    folder = tmp_path_factory.mktemp('site')
    options = ['-q', '-W', '--keep-going', '-j', '2', '-d', str(folder / 'read')]
    command = [sys.executable, '-m', 'sphinx', *options, str(checkout / 'docs')]
    command += [str(folder / 'html')]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / 'html'


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site, checkout):
    sources = [path.relative_to(checkout / 'docs') for path in (checkout / 'docs').rglob('*.md')]
    assert [path for path in sources if not (site / path).with_suffix('.html').is_file()] == []
    # A search finds no page that has a word for everything.
    found = (site / 'searchindex.js').read_text()
    assert '"Lap times"' in found
    assert '"Architecture"' not in found
    files = [path for path in site.rglob('*') if path.is_file()]
    for suffix, pattern in (('.html', LOADED), ('.css', IMPORTED)):
        read = [path for path in files if path.suffix == suffix]
        assert [path for path in read if pattern.search(path.read_text())] == []
    # A robot may hold it.
    assert sum(path.stat().st_size for path in files) < 20e6
    # Formulas are drawn by a program of the site.
    page = (site / 'mathematics.html').read_text()
    assert page.count('class="math') > 300
    assert '$$' not in re.sub('<div class="math.*?</div>', '', page, flags=re.DOTALL)
    (program,) = re.findall(r'<script[^>]*src="(_static/tex-svg\.js)', page)
    assert (site / program).stat().st_size > 1e6


def test_the_contents_lead_to_every_page_and_links_to_headings_to_one(checkout):
    docs = checkout / 'docs'
    # Without their programs, which have comments like headings.
    pages = {
        path: re.sub('```.*?```', '', path.read_text(), flags=re.DOTALL)
        for path in docs.rglob('*.md')
    }
    items = re.findall(r'^\* .*', pages[docs / 'index.md'], re.MULTILINE)
    listed = {'index', *re.findall(r'\]\(([\w/-]+)\.', ' '.join(items))}
    assert {str(path.relative_to(docs).with_suffix('')) for path in pages} <= listed
    # Anchors as forges and MyST make them.
    headings = {
        path: {
            re.sub(r'[^\w -]', '', each.lower()).replace(' ', '-')
            for each in re.findall(r'^#+ (.*)$', text, re.MULTILINE)
        }
        for path, text in pages.items()
    }
    links = [
        (path, (path.parent / target).resolve() if target else path, anchor)
        for path, text in pages.items()
        for target, anchor in re.findall(r'\]\(([\w./-]*)#([^)]+)\)', text)
    ]
    assert len(links) > 50
    assert [each for each in links if each[2] not in headings.get(each[1], each[2:])] == []


def exists(checkout: Path, reference: str) -> bool:
    """Return whether there is ``path``, and what ``path:name`` names in it."""
    path, _, name = reference.partition(':')
    inside = path.split('/')[0] in {'test', 'benchmarks'}
    file = (checkout if inside else checkout / 'two_manifold_ros') / path
    text = file.read_text() if file.is_file() else ''
    definition = r'^ *(?:(?:def|class) {0}\b|{0}(?::| =))'
    parts = name.split('.') if name else []
    return bool(text) and all(
        re.search(definition.format(part), text, re.MULTILINE) for part in parts
    )


def test_the_page_about_the_papers_names_what_exists_and_every_experiment(checkout):
    pytest.importorskip('rich')
    page = (checkout / 'docs' / 'papers.md').read_text()
    references = re.findall(r'`([\w/]+\.py(?::[\w.]+)?)`', page)
    assert len(references) > 60
    assert [each for each in references if not exists(checkout, each)] == []
    rows = re.findall(r'\| `([\w-]+)` \| `(experiments/[^`]+)`', page)
    assert dict(rows) == {
        each.name: 'experiments/' + each.function.replace(':', '.py:') for each in EXPERIMENTS
    }


def same(shown: str, printed: str) -> bool:
    """Return whether words agree, and numbers within a tenth or a unit of their last digit."""
    # Processors round differently, and a filter makes that larger: some per cent were seen.
    one, other = (re.split(NUMBER, ' '.join(each.split())) for each in (shown, printed))
    return one[::2] == other[::2] and all(
        abs(float(left) - float(right))
        <= 0.1 * abs(float(left)) + 1.001 * 10.0 ** -len(left.partition('.')[2])
        for left, right in zip(one[1::2], other[1::2], strict=True)
    )


@pytest.mark.slow
def test_the_tutorial_and_examples_print_what_they_show(checkout, tmp_path, monkeypatch, capsys):
    """All of it in one process: a second of imports each would be half of the time."""
    for name in ('matplotlib', 'rich', 'rosbags', 'sklearn'):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    tutorial = (checkout / 'docs' / 'tutorial.md').read_text()
    commands = re.split(r'^ *two-manifold ', tutorial, flags=re.MULTILINE)[1:]
    lost = []
    for line, _, below in (each.partition('\n') for each in commands):
        if line.split()[0] in LIVE:
            continue
        assert main(shlex.split(line, comments=True)) == 0, line
        printed = capsys.readouterr().out.splitlines()
        shown = re.search(r'^```text\n(.*?)^```', below, re.DOTALL | re.MULTILINE)
        lines = shown[1].splitlines() if shown else []
        lost += [(line, each) for each in lines if not any(same(each, one) for one in printed)]
    for path in sorted((checkout / 'docs' / 'examples').glob('*.py')):
        runpy.run_path(str(path), run_name='__main__')
        printed = capsys.readouterr().out
        _, _, shown = (ast.get_docstring(ast.parse(path.read_text())) or '').partition('prints::')
        if not printed or (shown and not same(shown, printed)):
            lost.append((path.name, printed))
    assert lost == []
