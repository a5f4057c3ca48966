# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The matrix of position faults, and docs/position_faults.md against its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from position_rows import POSITION_FAULTS
from position_trial import try_fault
from positions_page import HEAD, stated
import pytest

if TYPE_CHECKING:
    from position_fault import Outcome, PositionFault
    from position_trial import CleanDrive

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'position_faults.md'


@pytest.mark.parametrize('fault', POSITION_FAULTS, ids=lambda fault: fault.name)
def test_position_fault(
    fault: PositionFault, clean: CleanDrive, position_outcomes: dict[str, Outcome]
) -> None:
    outcome = try_fault(fault, clean)
    assert outcome.complaints == ()
    position_outcomes[fault.name] = outcome


def test_the_page_is_that_of_the_rows(request: pytest.FixtureRequest) -> None:
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
