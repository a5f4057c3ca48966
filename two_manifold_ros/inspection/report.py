# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All that is known about a recording before training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import math
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.inspection.finding import Finding
    from two_manifold_ros.inspection.imu_report import ImuReport
    from two_manifold_ros.inspection.position_report import PositionReport


@dataclass(frozen=True)
class Report:
    """
    The report on one recording.

    Parameters
    ----------
    name
        The path as the user gave it.
    imu, positions
        Measurements; no positions if there are none.
    findings
        What they mean, warnings first.
    notes
        What had to be said about reading the bag.

    """

    name: str
    imu: ImuReport
    positions: PositionReport | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts, lists and numbers named like the fields; not finite is ``None``."""
        return {key: _plain(value) for key, value in asdict(self).items()}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
