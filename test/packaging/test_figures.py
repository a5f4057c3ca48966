# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every figure on a page is held by something, and one that is not is found."""

import re

import held_figures
import kept_outputs
import numpy as np
import pytest
import write_pages

HELD = """\
# Page

<!-- begin of what ./run bench some prints -->

    RMSE   0.7391
    seen   12.0 s

<!-- end of what ./run bench some prints -->
"""

RMSE = '<!-- held by here: `RMSE 0.7391` -->'
NOTICED = 0.8
"""Share of random changes of a page's figures that has to be noticed, on every page."""
DRAWS = 40
"""Changes of a page, one at a time."""


def found_in(text: str) -> list[str]:
    """Return the figures that nothing holds in a text below the output."""
    return [line.split(' in ')[0] for line in held_figures.unheld(f'{HELD}\n{text}\n')]


def test_every_figure_on_every_page_is_held():
    assert list(held_figures.complaints()) == []


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        (f'The error is .739 m, 74 %, and follows (3.14) of section 7.39.\n\n{RMSE}', []),
        (f'The error is .738 m.\n\n{RMSE}', ['.738']),
        (f'It is 73.8 % of `0.738`.\n\n{RMSE}', ['73.8']),
        # Output of the page is not enough: a paragraph says which of it is meant.
        ('The error is .739 m.', ['.739']),
        (f'{RMSE}\n\nThe error is .739 m.', ['.739']),
        (f'The error is .739 m.\n\n## Another section\n\n{RMSE}', ['.739']),
        (f'The error is .739 m.\n\n<!-- held by here: `seen 12.0` -->\n{RMSE}', []),
        (f'It is .739.\n\n<!-- held by here: `seen 12.0` -->\n\nIt is.\n\n{RMSE}', ['.739']),
        ('| row | 0.7391 |', ['0.7391']),
        ('    0.7391 m', ['0.7391']),
        ('Twelve laps, 13 laps, 13 of them.', ['13']),
        ('After 13 s, 5 m or 7 seconds.', ['13', '5']),
        ('```python\n# A program\nx = 0.738\n```\n\n    two-manifold train --until 70%', []),
        (
            '## Once\n\n*History: at commit 1234abcd on 2026-11-25.*\n\n0.738\n\n### More\n\n.738',
            [],
        ),
        ('## Once\n\n*History: at commit 1234abcd on 2026-11-25.*\n\n## Now\n\n.738', ['.738']),
        ('## Once\n\n*History: some day.*\n\n.738', ['.738']),
    ],
)
def test_a_figure_that_nothing_holds_is_found(text, found):
    assert found_in(text) == found


def test_a_page_of_history_makes_no_claims():
    page = '# Page\n\n*History: at commit 1234abcd on 2026-11-25.*\n\n.738\n\n## More\n\n.738\n'
    assert list(held_figures.unheld(page)) == []


@pytest.mark.parametrize(
    ('words', 'why'),
    [
        ('`RMSE 0.7392`', 'is not in here'),
        ('`RMSE 0.739`', 'is not in here'),
        ('`0.7391`', 'could hold anything'),
        ('`RMSE 0.7391 seen 12.0 s`', ''),
    ],
)
def test_a_text_has_to_be_there_and_to_say_what_it_is(words, why):
    lines = list(held_figures.unheld(f'{HELD}\n.739\n\n<!-- held by here: {words} -->\n'))
    assert any(why in line for line in lines) if why else not lines


def test_settings_hold_a_figure_where_a_page_names_them():
    path = 'two_manifold_ros/comparison/protocol.py'
    assert found_in('The first 70 % are learned from.') == ['70']
    assert found_in(f'The first 70 %.\n\n<!-- held by {path}: `SHARE = 0.3` -->') == []
    assert found_in(f'The first 60 %.\n\n<!-- held by {path}: `SHARE = 0.3` -->') == ['60']


def test_most_changes_of_a_figure_are_noticed():
    for path in held_figures.HERE.rglob('*.md'):
        # Of each page its own: figures that another one gets change nothing here.
        random = np.random.default_rng(0)
        page = path.read_text()
        figures = list(held_figures.figures(page))
        if str(path.relative_to(held_figures.CHECKOUT)) in held_figures.WHOLE or not figures:
            continue
        noticed = []
        for begin, end, *_ in (figures[i] for i in random.integers(0, len(figures), DRAWS)):
            before = page[begin:end]
            digits = iter(random.integers(0, 10, len(before)))
            after = re.sub(r'\d', lambda _, digits=digits: str(next(digits)), before)
            if float(after) != float(before):
                lines = held_figures.unheld(page[:begin] + after + page[end:])
                noticed.append(any(True for _ in lines))
        assert np.mean(noticed) >= NOTICED, path


@pytest.mark.parametrize(
    ('now', 'same'),
    [
        ('linear   0.209   0.502   3.1', True),
        ('linear   0.210   0.502   1.9', True),
        ('linear   0.212   0.502   1.9', False),
        ('others   0.209   0.502   1.9', False),
    ],
)
def test_outputs_are_compared_but_for_seconds(now, same):
    before = 'linear   0.209   0.502   1.9'
    assert (list(kept_outputs.differences('kernels', [before], [now])) == []) is same
    assert list(kept_outputs.differences('kernels', [before], [now, now])) != []
    assert list(kept_outputs.differences('start', [before], [now])) == []


def test_pages_have_the_kept_outputs():
    page = (held_figures.HERE / 'results.md').read_text()
    assert kept_outputs.on_page(page) == page
    assert all(kept_outputs.begin(name) in page for name in kept_outputs.read())
    changed = page.replace(' quickest of 3', ' quickest of 4')
    assert kept_outputs.on_page(changed) == page


def test_a_block_has_one_place_on_its_page():
    page = write_pages.between('<!-- a -->\nold\n<!-- b -->\n', '<!-- a -->', '<!-- b -->', 'new')
    assert page == '<!-- a -->\n\nnew\n\n<!-- b -->\n'
    with pytest.raises(write_pages.PageError):
        write_pages.between('<!-- a -->\n' + page, '<!-- a -->', '<!-- b -->', 'new')


def test_contents_lead_to_the_sections():
    page = '# Page\n\n## One & two: `./run x --json docs/a.json`\n\n### Part\n'
    line = '* [One & two: `./run x --json docs/a.json`](#one--two-run-x---json-docsajson)'
    assert write_pages.contents(page) == line
