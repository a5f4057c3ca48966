# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: real nodes over DDS are done every wrong that a driver can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rows import STREAM_FAULTS

if TYPE_CHECKING:
    from fault import Outcome, StreamFault


@pytest.mark.parametrize('fault', STREAM_FAULTS, ids=lambda fault: fault.name)
def test_fault(
    fault: StreamFault, stream_outcomes: dict[str, Outcome], outcomes: list[Outcome]
) -> None:
    outcome = stream_outcomes[fault.name]
    assert outcome.complaints == ()
    outcomes.append(outcome)


def test_names_are_unique() -> None:
    assert len({fault.name for fault in STREAM_FAULTS}) == len(STREAM_FAULTS)
