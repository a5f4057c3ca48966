# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver can bring about."""

from collections.abc import Callable
from pathlib import Path

from checks import judge
from fault import HealthyDrive, Outcome, StreamFault
import pytest
from rows import STREAM_FAULTS
from session_node import SessionNode
from trial import play

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from served_node import run_all


@pytest.mark.parametrize(
    'fault', [each for each in STREAM_FAULTS if not each.lane], ids=lambda fault: fault.name
)
def test_fault(fault, trained, monkeypatch):
    path, drive = trained
    node = SessionNode(monkeypatch, path, input_timeout_s=60.0, reorder_s=fault.reorder_s)
    outcome = judge(play(fault, drive, node))
    assert outcome.complaints == ()


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
def test_fault_over_dds(fault, stream_outcomes):
    outcome = stream_outcomes[fault.name]
    assert outcome.complaints == ()
