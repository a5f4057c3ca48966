# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The clean drive of the matrix of position faults, and the page about what became of its rows."""

from collections.abc import Iterator
from pathlib import Path

from position_fault import Outcome
from position_trial import CleanDrive, drive_clean
from positions_page import page
import pytest
from wrong_clocks import POSITION_FAULTS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--positions-page', metavar='FILE', help='write the page of position faults')


@pytest.fixture(scope='session')
def clean() -> CleanDrive:
    """Return a drive without a fault, and what comes of it."""
    return drive_clean()


@pytest.fixture(scope='session')
def position_outcomes(request: pytest.FixtureRequest) -> Iterator[dict[str, Outcome]]:
    """Outcomes of the rows that were run, by name; if complete the page is written."""
    outcomes: dict[str, Outcome] = {}
    yield outcomes
    path = request.config.getoption('--positions-page', default=None)
    if path and len(outcomes) == len(POSITION_FAULTS):
        text = page([outcomes[fault.name] for fault in POSITION_FAULTS])
        Path(path).write_text(text, encoding='utf-8')
