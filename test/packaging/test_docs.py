# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The documentation can be built, leads everywhere, loads nothing, and shows what is true."""

import argparse
import ast
from collections.abc import Iterator
import itertools
from pathlib import Path
import re
import runpy
import shlex
import subprocess
import sys

import pytest

from two_manifold_ros.__main__ import command_named, COMMANDS, main
from two_manifold_ros.experiments.experiment import EXPERIMENTS

LOADED = re.compile(
    r'<(?:script|img|iframe|source|embed)\b[^>]*\bsrc="((?:https?:)?//[^"]*)"'
    r'|<link\b[^>]*\bhref="((?:https?:)?//[^"]*)"'
)
"""What a browser would load from elsewhere; links that a reader may follow are none."""

IMPORTED = re.compile(r'@import[^;]*//|url\(["\']?(?:https?:)?//')
"""The same in a style sheet."""

NUMBER = r'(-?\d+(?:\.\d+)?)'

LIVE = ('view', 'status')
"""Commands that run until Ctrl-C, or listen to nodes."""

MOST_MB = 20.0
"""Of the whole site: a browser loads a page of it, and a robot may hold it."""


def slug(heading: str) -> str:
    """Return the anchor of a heading, as forges and MyST make it."""
    return re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-')


@pytest.fixture(scope='module')
def site(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; any warning is an error."""
    for name in ('sphinx', 'myst_parser', 'furo'):
        pytest.importorskip(name, reason=f'{name} is not installed: ./run docs does it')
    folder = tmp_path_factory.mktemp('site')
    options = ['-q', '-W', '--keep-going', '-j', '2', '-d', str(folder / 'read')]
    built = subprocess.run(
        [sys.executable, '-m', 'sphinx', *options, str(checkout / 'docs'), str(folder / 'html')],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / 'html'


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site, checkout):
    sources = [path.relative_to(checkout / 'docs') for path in (checkout / 'docs').rglob('*.md')]
    assert [path for path in sources if not (site / path).with_suffix('.html').is_file()] == []
    # A search finds no page that has a word for everything.
    found = (site / 'searchindex.js').read_text()
    assert '"Lap times"' in found
    assert '"Architecture"' not in found
    loaded = {
        (path.name, *each.groups())
        for path in site.rglob('*.html')
        for each in LOADED.finditer(path.read_text())
    }
    assert loaded == set()
    assert not [path for path in site.rglob('*.css') if IMPORTED.search(path.read_text())]
    size = sum(path.stat().st_size for path in site.rglob('*') if path.is_file())
    assert size < 1e6 * MOST_MB
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
    lost, found = [], 0
    for path, text in pages.items():
        for target, anchor in re.findall(r'\]\(([\w./-]*)#([^)]+)\)', text):
            found += 1
            other = (path.parent / target).resolve() if target else path
            headings = re.findall(r'^#+ (.*)$', pages.get(other, ''), re.MULTILINE)
            if other in pages and anchor not in map(slug, headings):
                lost.append((path.name, target, anchor))
    assert lost == []
    assert found > 50


def defined(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module or a class defines, members with the name of their class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
            if isinstance(node, ast.ClassDef):
                yield from (f'{node.name}.{each}' for each in defined(node))
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, 'target', None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def missing(checkout: Path, reference: str) -> str:
    """Return what is wrong with ``path:name`` or ``path``, or nothing."""
    path, _, name = reference.partition(':')
    inside = path.split('/')[0] in {'test', 'benchmarks'}
    folder = checkout if inside else checkout / 'two_manifold_ros'
    if not (folder / path).is_file():
        return f'there is no file {path}'
    if name and name not in defined(ast.parse((folder / path).read_text())):
        return f'{path} does not define {name}'
    return ''


def test_the_page_about_the_papers_names_what_exists_and_every_experiment(checkout):
    pytest.importorskip('rich')
    page = (checkout / 'docs' / 'papers.md').read_text()
    references = re.findall(r'`([\w/]+\.py(?::[\w.]+)?)`', page)
    assert len(references) > 60
    assert list(filter(None, (missing(checkout, each) for each in references))) == []
    rows = re.findall(r'\| `([\w-]+)` \| `(experiments/[^`]+)`', page)
    assert dict(rows) == {
        each.name: 'experiments/' + each.function.replace(':', '.py:') for each in EXPERIMENTS
    }
    # Commands as far as the page writes them: bags and files to write are left out there.
    commands = sorted(set(re.findall(r'`two-manifold ([^`]*)`', page)))
    assert commands
    for command in commands:
        name, *words = shlex.split(command)
        assert name in COMMANDS
        parser = argparse.ArgumentParser()
        command_named(name).add_arguments(parser)
        options = {option: each for each in parser._actions for option in each.option_strings}
        for word, value in itertools.pairwise([*words, '']):
            if word.startswith('--'):
                choices = options[word].choices
                assert choices is None or value in choices, f'{command}: {word} {value}'
        if name == 'reproduce' and words[0] != 'NAME' and not words[0].startswith('--'):
            assert words[0] in {each.name for each in EXPERIMENTS}


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
def test_the_tutorial_and_the_examples_print_what_they_show(
    checkout, tmp_path, monkeypatch, capsys
):
    """All of it in one process: a second of imports each would be half of the time."""
    for name in ('matplotlib', 'rich', 'rosbags', 'sklearn'):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    tutorial = (checkout / 'docs' / 'tutorial.md').read_text()
    commands = re.split(r'^ *two-manifold ', tutorial, flags=re.MULTILINE)[1:]
    assert commands[0].startswith('simulate')
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
