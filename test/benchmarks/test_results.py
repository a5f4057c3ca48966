# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A section of the page of results is written in its place, and the others stay."""

from adaptation_tables import ADAPTATION
from bench_laps import LAPS
import bench_results
import pytest
from tables import table

PAGE = '# Results\n\nFirst.\n\n## Accuracy\n\nold\n\n### Part\n\nold\n\n## Lap times\n\nlaps\n'


@pytest.mark.parametrize(
    ('title', 'expected'),
    [
        ('Accuracy', '# Results\n\nFirst.\n\n## Accuracy\n\nnew\n\n## Lap times\n\nlaps\n'),
        ('Lap times', PAGE.replace('laps\n', 'new\n')),
        ('Other methods', f'{PAGE}\n## Other methods\n\nnew\n'),
    ],
)
def test_a_section_is_written_in_its_place(title, expected):
    page = bench_results.with_section(PAGE, title, 'new')
    assert page == expected
    assert bench_results.with_section(page, title, 'new') == page


def test_every_section_is_on_the_page_with_its_command_and_its_columns():
    page = bench_results.PAGE.read_text()
    for name, (title, _) in bench_results.SECTIONS.items():
        _, _, section = page.partition(f'\n## {title}\n')
        assert f'`./run bench results {name}`' in section.partition('\n## ')[0], name
    for head in (bench_results.ACCURACY, f'case, learner, {ADAPTATION}', LAPS):
        assert table(head, [], aligned=False) in page


def test_a_case_without_positions_or_horizons_is_a_row():
    horizon = {'ticks_ahead': 20, 'rmse_m': 0.51, 'in_95': None}
    accuracy = {'rmse_m': 0.0123, 'median_m': 12.34, 'published': 0.5, 'mean_m': 3.45}
    drive = {'drive': 'reverse', 'ticks': 9, 'published': 0.01}
    found = {'rate_hz': 10.0, 'accuracy': accuracy | {'horizons': [horizon]}, 'elsewhere': [drive]}
    rows = bench_results.accuracy_rows({'one': found, 'two': {'refused': 'nothing repeats'}})
    assert rows[0][1:] == ['0.012', '12', '0.51 in 2 s', '50 %', '-', '3.5', '1 % (reverse)']
    assert rows[1][1] == 'nothing repeats'
    assert len(rows[0]) == len(rows[1]) == len(bench_results.ACCURACY.split(', '))
