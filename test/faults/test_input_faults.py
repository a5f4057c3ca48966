# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver can bring about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checks import judge
import pytest
from rows import STREAM_FAULTS
from session_node import SessionNode
from trial import play

if TYPE_CHECKING:
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
    assert len({fault.name for fault in STREAM_FAULTS}) == len(STREAM_FAULTS)
