# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""docs/faults.md, against the rows of the fault matrix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from faults_page import HEAD, stated
import pytest
from rows import FAULTS

if TYPE_CHECKING:
    from fault import Fault

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'faults.md').read_text()
ROWS = [line.strip('| ').split(' | ') for line in PAGE.split('| --- |\n')[1].splitlines()]
CELLS = {cells[0]: cells for cells in ROWS if len(cells) == 7}


@pytest.fixture(autouse=True)
def _written_before(request: pytest.FixtureRequest) -> None:
    if request.config.getoption('--faults-page', default=None):
        pytest.skip('it is being written')


def test_the_head_is_that_of_the_code() -> None:
    assert PAGE.startswith(HEAD)


def test_every_row_is_there_once_and_no_other() -> None:
    assert list(CELLS) == [stated(fault)[0] for fault in FAULTS]
    assert len(CELLS) == len(FAULTS)


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_rules_and_limits_are_those_of_the_row(fault: Fault) -> None:
    name, rule, says, *limits = stated(fault)
    cells = CELLS[name]
    assert cells[1:3] == [rule, says]
    assert all(cell.endswith(limit) for cell, limit in zip(cells[3:6], limits, strict=True))
