# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The documentation: it can be built, leads everywhere, loads nothing, and shows what is true."""

from pathlib import Path
import re
import subprocess
import sys

import code_pages
import gallery
import pytest

LOADED = re.compile(
    r'<(?:script|img|iframe|source|embed)\b[^>]*\bsrc="((?:https?:)?//[^"]*)"'
    r'|<link\b[^>]*\bhref="((?:https?:)?//[^"]*)"'
)
"""What a browser would load from elsewhere; links that a reader may follow are none."""

IMPORTED = re.compile(r'@import[^;]*//|url\(["\']?(?:https?:)?//')
"""The same in a style sheet."""

MOST_MB = 20.0
"""Of the whole site: a browser loads a page of it, and a robot may hold it."""


def slug(heading: str) -> str:
    """Return the anchor of a heading, as forges and MyST make it."""
    return re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-')


@pytest.fixture(scope='module')
def pages(checkout: Path) -> dict[Path, str]:
    """All pages without their programs, which have comments like headings."""
    return {
        path: re.sub('```.*?```', '', path.read_text(), flags=re.DOTALL)
        for path in (checkout / 'docs').rglob('*.md')
    }


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
    # A search finds pages for users first, and pages for developers not at all.
    found = (site / 'searchindex.js').read_text()
    assert '"Lap times"' in found
    assert '"Architecture"' not in found
    assert 'named.filter' in (site / '_static' / 'language_data.js').read_text()
    loaded = {
        (path.name, *each.groups())
        for path in site.rglob('*.html')
        for each in LOADED.finditer(path.read_text())
    }
    assert loaded == set()
    assert not [path for path in site.rglob('*.css') if IMPORTED.search(path.read_text())]
    size = sum(path.stat().st_size for path in site.rglob('*') if path.is_file())
    assert size < 1e6 * MOST_MB


def test_formulas_are_drawn_by_a_program_of_the_site(site):
    page = (site / 'mathematics.html').read_text()
    assert page.count('class="math') > 300
    assert '$$' not in re.sub('<div class="math.*?</div>', '', page, flags=re.DOTALL)
    (program,) = re.findall(r'<script[^>]*src="(_static/tex-svg\.js)', page)
    assert (site / program).stat().st_size > 1e6


def test_the_contents_lead_to_every_page(pages, checkout):
    docs = checkout / 'docs'
    listed = {'index'}
    for page in ('index.md', 'reproduce.md'):
        listed |= set(
            re.findall(r'^(?:\*|\|) \[[^\]]*\]\(([\w/-]+)\.', pages[docs / page], re.MULTILINE)
        )
    assert {str(path.relative_to(docs).with_suffix('')) for path in pages} <= listed


def test_links_to_headings_lead_to_one(pages):
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


def test_every_program_of_the_gallery_is_short_and_has_its_place(pages):
    names = gallery.programs()
    assert len(names) >= 6
    for name, path in names.items():
        assert 15 <= len(path.read_text().splitlines()) <= 60, name
    page = gallery.PAGE.read_text()
    assert gallery.with_programs(page) == page
    named = set(re.findall(r'\(images/gallery/([\w.]+)\)', ' '.join(pages.values())))
    assert named == {path.name for path in gallery.PICTURES.glob('*')}


def test_the_tutorial_and_the_gallery_print_what_the_pages_show(tmp_path):
    """All of it in one process: a second of imports each would be half of the time."""
    for name in ('matplotlib', 'rich', 'rosbags', 'sklearn'):
        pytest.importorskip(name)
    learned, printed = gallery.run(tmp_path)
    wrong = {}
    for (words, shown), output in zip(gallery.steps(), learned, strict=True):
        assert shown, words
        wrong[words[0]] = gallery.missing(shown, output)
    shown = gallery.outputs_of(gallery.PAGE.read_text())
    assert shown.keys() == printed.keys()
    for name, output in printed.items():
        wrong[name] = gallery.differences(shown[name], output)
    assert {name: lines for name, lines in wrong.items() if lines} == {}
    drawn = {path.name for path in tmp_path.glob('*.png')}
    assert drawn == {path.name for path in gallery.PICTURES.glob('*')}
    assert all((tmp_path / name).stat().st_size > 5000 for name in drawn)


@pytest.mark.parametrize(
    ('printed', 'same'),
    [
        ('RMSE 0.171 m, 98 %', True),
        ('RMSE  0.160 m, 97 %', True),
        ('RMSE 0.250 m, 98 %', False),
        ('RMSE 0.170 m, 80 %', False),
        ('RMSE 0.170 s, 98 %', False),
        ('RMSE 0.170 m', False),
    ],
)
def test_an_output_may_differ_by_rounding_alone(printed, same):
    assert (gallery.differences('RMSE 0.170 m, 98 %', printed) == []) is same
    assert (gallery.missing('RMSE 0.170 m, 98 %', f'title\n  {printed}\n') == []) is same


def test_a_docstring_becomes_paragraphs_and_lists():
    text = 'Do ``this``.\n\nParameters\n----------\na, b : (n,)\n    What\n    it is.\nc\n'
    page = code_pages.numpydoc_to_markdown(text)
    assert page.split('\n\n') == [
        'Do `this`.',
        '**Parameters**',
        '* `a, b : (n,)`: What it is.\n* `c`\n',
    ]


def test_the_page_of_commands_has_every_option_of_each():
    pytest.importorskip('rich')
    page = code_pages.commands()
    assert '## train\n' in page
    assert '| `-o`, `--output MODEL` | file to write |' in page
    assert 'SUPPRESS' not in page
