# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every figure on a page is held by something, and one that is not is found."""

import held_figures
import kept_outputs
import pytest
import write_pages

HELD = """\
# Page

<!-- begin of what ./run bench some prints -->

    RMSE   0.7391

<!-- end of what ./run bench some prints -->
"""


def test_every_figure_on_every_page_is_held():
    assert list(held_figures.complaints()) == []


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('The error is .739 m, 74 %, and follows (3.14) of section 7.39.', []),
        ('The error is .738 m.', ['.738']),
        ('It is 73.8 % of `0.738`.', ['73.8']),
        ('| row | 0.7391 |', ['0.7391']),
        ('    0.7391 m', ['0.7391']),
        (
            '## Once\n\n*History: at commit 1234abcd on 2026-11-25.*\n\n0.738\n\n### More\n\n.738',
            [],
        ),
        ('## Once\n\n*History: at commit 1234abcd on 2026-11-25.*\n\n## Now\n\n.738', ['.738']),
        ('## Once\n\n*History: some day.*\n\n.738', ['.738']),
    ],
)
def test_a_figure_that_nothing_prints_is_found(text, found):
    lines = list(held_figures.unheld(f'{HELD}\n{text}\n'))
    assert [line.split(' in ')[0] for line in lines] == found


def test_a_page_of_history_makes_no_claims():
    page = '# Page\n\n*History: at commit 1234abcd on 2026-11-25.*\n\n.738\n\n## More\n\n.738\n'
    assert list(held_figures.unheld(page)) == []


def test_settings_of_the_code_are_no_results():
    assert list(held_figures.unheld('A tolerance of 73.8219 % of 0.0271828.\n')) != []
    assert list(held_figures.unheld('Of ten sets of draws 90 % have to pass.\n')) == []


@pytest.mark.parametrize(
    ('now', 'same'),
    [
        ('linear   0.209   0.502   3.1', True),
        ('linear   0.210   0.502   1.9', True),
        ('linear   0.212   0.502   1.9', False),
        ('isomap   0.209   0.502   1.9', False),
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
