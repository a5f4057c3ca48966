# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the rows of the fault matrix on several nodes at once, each in a domain of its own."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
import math
from typing import TYPE_CHECKING

from checks import judge
from fault import Outcome
from served_node import ServedNode
from trial import play

from two_manifold_ros.domains import free_domains, is_free

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fault import StreamFault
    from healthy_drive import HealthyDrive

LANES: dict[str, dict[str, object]] = {
    'plain': {'input_timeout_s': 60.0},
    'prompt': {'input_timeout_s': 1.0},
    'simulated time': {'input_timeout_s': 60.0, 'use_sim_time': 'true'},
}
"""Parameters of the nodes: trials are faster than real time, so that pauses are none."""

AT_ONCE = 4
"""Nodes that run at once: two cores are kept busy while others only wait."""

SPARE = 3
"""Domains that are looked for, for one that is needed later."""


def run_all(faults: Iterable[StreamFault], drive: HealthyDrive, model: Path) -> dict[str, Outcome]:
    """Return what became of each fault, by name."""
    by_lane: dict[str, list[StreamFault]] = defaultdict(list)
    # What a node says of its last second lingers on: whatever needs real time comes last.
    for fault in sorted(faults, key=lambda fault: -fault.pace_hz or -math.inf):
        by_lane[fault.lane].append(fault)
    domains = free_domains(SPARE * len(by_lane))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [
            pool.submit(_serve, domains[index :: len(by_lane)], rows, drive, model, LANES[lane])
            for index, (lane, rows) in enumerate(by_lane.items())
        ]
    return {name: outcome for future in futures for name, outcome in future.result().items()}


def _serve(
    domains: Sequence[int],
    faults: Sequence[StreamFault],
    drive: HealthyDrive,
    model: Path,
    parameters: dict[str, object],
) -> dict[str, Outcome]:
    """Let one node serve one fault after the other; the next stands on its recovery."""
    outcomes: dict[str, Outcome] = {}
    # Another process may have come since they were looked for.
    domain = next(filter(is_free, domains))
    node = ServedNode(domain, model, **parameters)
    try:
        node.connect()
        for index, fault in enumerate(faults):
            outcomes[fault.name] = judge(play(fault, drive, node, index))
    except AssertionError as error:
        failed = faults[len(outcomes)].name
        for fault in faults[len(outcomes) :]:
            outcomes[fault.name] = Outcome(fault, complaints=(f'in {failed!r} {error}',))
    finally:
        node.close()
    return outcomes
