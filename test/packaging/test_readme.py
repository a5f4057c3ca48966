# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""README.md: its length, and its tables against the figures and states that they are of."""

from __future__ import annotations

import json
import re
from typing import Any, TYPE_CHECKING

import pytest

from two_manifold_ros.filtering.status import Status, USABLE

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINES = 130

AHEAD = {
    'f1tenth_ipz10': (50, 20.0),
    'f1tenth_ipz20': (50, 25.0),
    'f1tenth_ipz8': (50, 25.0),
    'ridge_car': (10, 5.0),
    'frictionmaps_ds1': (50, 20.0),
}
"""Ticks ahead that are nearest to 2 s, and ticks per second of the trained model."""


@pytest.fixture(scope='module')
def readme(checkout: Path) -> str:
    return (checkout / 'README.md').read_text('utf-8')


@pytest.fixture(scope='module')
def cases(checkout: Path) -> dict[str, Any]:
    """Return what `./run bench gauntlet --json docs/gauntlet.json` wrote."""
    found: dict[str, Any] = json.loads((checkout / 'docs' / 'gauntlet.json').read_text())['cases']
    return found


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the rows of the table below a heading, without its head."""
    section = page.split(f'\n## {heading}\n')[1].split('\n## ', maxsplit=1)[0]
    lines = [line for line in section.splitlines() if line.startswith('|')]
    return [[cell.strip(' `') for cell in line.strip('|').split('|')] for line in lines[2:]]


def test_it_is_read_in_minutes(readme: str) -> None:
    assert len(readme.splitlines()) <= MOST_LINES


@pytest.mark.parametrize('name', AHEAD)
def test_the_accuracy_of_real_vehicles_is_that_of_the_gauntlet(
    name: str, readme: str, cases: dict[str, Any]
) -> None:
    table = {row[1]: row[2:] for row in rows(readme, 'What accuracy to expect')}
    assert set(table) == set(AHEAD)
    now, ahead, published, mean = table[name]
    ticks, rate_hz = AHEAD[name]
    accuracy = cases[name]['route']['accuracy']
    horizons = {row['ticks_ahead']: row['rmse_m'] for row in accuracy['horizons']}
    then, seconds = ahead.removesuffix(' s').split(' in ')
    assert float(seconds) == ticks / rate_hz
    for cell, value in ((now, horizons[0]), (then, horizons[ticks]), (mean, accuracy['mean_m'])):
        shown = cell.removesuffix(' m')
        assert f'{value:.{len(shown.partition(".")[2])}f}' == shown
    assert published == f'{accuracy["published"]:.0%}'.replace('%', ' %')


def test_positions_published_where_the_drive_is_unlike_training(
    readme: str, cases: dict[str, Any]
) -> None:
    error_m = cases['f1tenth_ipz8']['route']['accuracy']['published_rmse_m']
    assert f'row 3 have an RMSE of {error_m:.1f} m' in ' '.join(readme.split())


def test_every_state_is_named_with_whether_it_is_published(readme: str) -> None:
    table = {row[0]: row[1] for row in rows(readme, 'In operation')}
    assert table == {each.value: 'yes' if each in USABLE else 'no' for each in Status}


def test_the_cost_is_that_of_the_results(readme: str, checkout: Path) -> None:
    results = (checkout / 'docs' / 'results.md').read_text('utf-8')
    starts = dict(re.findall(r'^ +(\w+ +(?:cold|warm)) +([\d.]+) ', results, re.MULTILINE))
    starts = {' '.join(name.split()): value for name, value in starts.items()}
    memory = re.search(r'memory of filter_node without subscribers, warm: (\d+) MB', results)
    share = re.search(r'^ +filter_node +100 +\d+ +0 +([\d.]+) ', results, re.MULTILINE)
    assert memory is not None
    assert share is not None
    section = ' '.join(readme.split('**Cost**')[1].split('\n## ', maxsplit=1)[0].split())
    figures = [share[1], '100', memory[1], starts['filter_node warm'], starts['train warm'], '60']
    figures += [starts['filter_node cold'], starts['train cold']]
    assert re.findall(r'\d+(?:\.\d+)?', section) == figures
