# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The matrix of position faults, and docs/position_faults.md against its rows."""

from collections.abc import Iterator
import math
from pathlib import Path

from position_fault import Outcome, PositionFault
from position_trial import CleanDrive, drive_clean, try_fault
from positions_page import HEAD, page, stated
import pytest
from wrong_clocks import POSITION_FAULTS, unstamped

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'position_faults.md'


@pytest.fixture(scope='module')
def clean() -> CleanDrive:
    """Return a drive without a fault, and what comes of it."""
    return drive_clean()


@pytest.fixture(scope='module')
def position_outcomes(request: pytest.FixtureRequest) -> Iterator[dict[str, Outcome]]:
    """Outcomes of the rows that were run, by name; if complete the page is written."""
    outcomes: dict[str, Outcome] = {}
    yield outcomes
    path = request.config.getoption('--positions-page', default=None)
    if path and len(outcomes) == len(POSITION_FAULTS):
        text = page([outcomes[fault.name] for fault in POSITION_FAULTS])
        Path(path).write_text(text, encoding='utf-8')


@pytest.mark.parametrize('fault', POSITION_FAULTS, ids=lambda fault: fault.name)
def test_position_fault(fault, clean, position_outcomes):
    outcome = try_fault(fault, clean)
    assert outcome.complaints == ()
    position_outcomes[fault.name] = outcome


@pytest.mark.parametrize(
    ('says', 'complaints'),
    [
        (('position_zero',), ()),
        ((), ('inspect warns of position_zero',)),
        (('position_zero', 'no_laps'), ('inspect does not give no_laps',)),
    ],
)
def test_a_row_names_what_inspect_warns_of(says, complaints, clean):
    fault = PositionFault(
        name='one position stamped 0',
        rule='',
        change=unstamped(slice(500, 501)),
        says=says,
        wrong=math.inf,
        trained=None,
        evaluated=None,
        updater=None,
    )
    assert try_fault(fault, clean).complaints == complaints


def test_the_page_is_that_of_the_rows(request):
    if request.config.getoption('--positions-page', default=None):
        pytest.skip('it is being written')
    text = PAGE.read_text()
    assert text.startswith(HEAD)
    rows = [line.strip('| ').split(' | ') for line in text[len(HEAD) :].splitlines()]
    assert [row[0] for row in rows] == [fault.name for fault in POSITION_FAULTS]
    for row, fault in zip(rows, POSITION_FAULTS, strict=True):
        cells = stated(fault)
        assert row[1:3] == cells[1:3]
        assert all(cell.endswith(end) for cell, end in zip(row, cells, strict=True))
