# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver can bring about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checks import judge
import pytest
from rows import FAULTS, STREAM_FAULTS
from session_node import SessionNode
from trial import play

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from served_node import run_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fault import Outcome, StreamFault
    from healthy_drive import HealthyDrive


@pytest.mark.parametrize(
    'fault', [each for each in STREAM_FAULTS if not each.lane], ids=lambda fault: fault.name
)
def test_fault(
    fault: StreamFault,
    trained: tuple[Path, HealthyDrive],
    outcomes: list[Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, drive = trained
    node = SessionNode(monkeypatch, path, input_timeout_s=60.0, reorder_s=fault.reorder_s)
    outcome = judge(play(fault, drive, node))
    assert outcome.complaints == ()
    outcomes.append(outcome)


@pytest.fixture(scope='module')
def stream_outcomes(
    selected: Callable[[str, str], list[StreamFault]], trained: tuple[Path, HealthyDrive]
) -> dict[str, Outcome]:
    """Run all rows over DDS that a selected test asks for at once; by name."""
    path, drive = trained
    return run_all(selected('stream_outcomes', 'fault'), drive, path)


@pytest.mark.parametrize(
    'fault', [each for each in STREAM_FAULTS if each.lane], ids=lambda fault: fault.name
)
def test_fault_over_dds(
    fault: StreamFault, stream_outcomes: dict[str, Outcome], outcomes: list[Outcome]
) -> None:
    outcome = stream_outcomes[fault.name]
    assert outcome.complaints == ()
    outcomes.append(outcome)


def test_names_are_unique() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
