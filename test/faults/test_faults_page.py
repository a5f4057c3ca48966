# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""docs/faults.md, against the rows of the fault matrix."""

from __future__ import annotations

from pathlib import Path

from faults_page import HEAD, stated
import pytest
from rows import FAULTS

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'faults.md').read_text()


def test_the_page_is_that_of_the_rows(request: pytest.FixtureRequest) -> None:
    if request.config.getoption('--faults-page', default=None):
        pytest.skip('it is being written')
    assert PAGE.startswith(HEAD)
    rows = [line.strip('| ').split(' | ') for line in PAGE[len(HEAD) :].splitlines()]
    rows = [cells for cells in rows if len(cells) == 7]
    assert [cells[0] for cells in rows] == [stated(fault)[0] for fault in FAULTS]
    for cells, fault in zip(rows, FAULTS, strict=True):
        _, rule, says, *limits = stated(fault)
        assert cells[1:3] == [rule, says]
        assert all(cell.endswith(limit) for cell, limit in zip(cells[3:6], limits, strict=True))
