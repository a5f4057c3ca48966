# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Promise 7: memory is bounded, and the time of a callback is measured and published."""

from __future__ import annotations

import gc
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest
from raw_imu import raw_imu

from two_manifold_ros.interface.session import Session
from two_manifold_ros.interface.status import COUNTS

if TYPE_CHECKING:
    from conftest import Played

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording

KEPT = 100
"""Samples kept, instead of so many that a test would take long."""

SLACK = 1024
"""Bytes by which an integer or a sentence may differ."""

FURTHER = {'ticks', 'rejected_observations', 'estimates_not_finite'}
SECOND = 10**9


def bytes_held(root: object) -> int:
    """Return the memory of all that can be reached from an object, code left out."""
    seen: set[int] = set()
    waiting, held = [root], 0
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, (type, ModuleType, FunctionType)):
            continue
        seen.add(id(each))
        held += sys.getsizeof(each)
        waiting += gc.get_referents(each)
    return held


def drive_with_faults(session: Session, recording: Recording, seed: int) -> None:
    """Feed a quarter of a minute, of which every tenth message is spoilt in some way."""
    generator = np.random.default_rng(seed)
    imu = recording.imu
    for stamp, sample in zip(imu.stamps[:150].tolist(), imu.samples[:150], strict=True):
        kind = generator.integers(60)
        raw = raw_imu(stamp, sample)
        spoilt = {
            0: raw_imu(stamp, sample * np.nan),
            1: raw_imu(0, sample),
            2: raw_imu(stamp + 3600 * SECOND, sample),
            3: raw_imu(stamp - SECOND // 3, sample),
            4: generator.bytes(int(generator.integers(400))),
            5: raw_imu(stamp, 1e30 * sample),
        }
        for each in (raw, spoilt.get(int(kind), b'')):
            if each:
                session.take(each)


@pytest.mark.parametrize('kind', ['slot_car_model', 'tpsr_model'])
def test_what_a_node_holds_does_not_grow(
    kind: str,
    request: pytest.FixtureRequest,
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    model: ModelHead = request.getfixturevalue(kind)
    session = Session(model, kept=KEPT)
    held = []
    for round_number in range(8):
        drive_with_faults(session, slot_car_laps[1], round_number)
        if round_number in {3, 7}:
            counts = session.counts()
            held.append(bytes_held(session))
    assert held[1] < held[0] + SLACK
    # No input adds the name of another counter.
    assert set(counts) <= {*COUNTS, *FURTHER}
    refused = sum(counts[cause] for cause in COUNTS[COUNTS.index('restarts') + 1 :])
    assert counts['received'] == counts['used'] + counts['waiting'] + refused


@pytest.mark.parametrize('node', ['one', 'two'])
def test_the_time_of_a_callback_is_published(played: Played, node: str) -> None:
    numbers = played.passes[1][node].after
    times = [numbers[f'processing_{name}_us'] for name in ('p50', 'p99', 'max')]
    assert 0.0 < times[0] <= times[1] <= times[2]
