# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: real processes on a machine that does them every wrong it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fault import Outcome
import pytest
from rows import MACHINE_FAULTS

if TYPE_CHECKING:
    from fault import Fault
    from machine_trials import Result


@pytest.mark.parametrize('fault', MACHINE_FAULTS, ids=lambda fault: fault.name)
def test_machine_fault(
    fault: Fault, machine_results: dict[str, Result], outcomes: list[Outcome]
) -> None:
    result = machine_results[fault.name]
    if result.skipped:
        pytest.skip(result.skipped)
    assert not result.complaint, result.complaint
    assert result.seconds <= (fault.within_s or result.seconds)
    outcomes.append(Outcome(fault, detected_s=result.seconds if fault.within_s else None))
