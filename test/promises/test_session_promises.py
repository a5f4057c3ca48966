# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promises 2 and 7, of a session: nothing is published before it is valid, and memory is bounded.

Nor after it has ceased to be valid: a gap, a jump or a reset is such a start too.
"""

import gc
import sys
from types import FunctionType, ModuleType

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from raw_imu import raw_imu

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import USABLE
from two_manifold_ros.interface.assessment import COUNTS
from two_manifold_ros.interface.session import Session
from two_manifold_ros.recordings.recording import Recording

KEPT = 100
"""Samples kept, instead of so many that a test would take long."""

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
        session.take(raw_imu(stamp, sample))
        spoilt = [
            raw_imu(stamp, sample * np.nan),
            raw_imu(0, sample),
            raw_imu(stamp + 3600 * SECOND, sample),
            raw_imu(stamp - SECOND // 3, sample),
            generator.bytes(int(generator.integers(400))),
            raw_imu(stamp, 1e30 * sample),
        ]
        kind = generator.integers(60)
        if kind < len(spoilt):
            session.take(spoilt[kind])


@pytest.mark.parametrize('kind', ['slot_car_model', 'tpsr_model'])
def test_what_a_node_holds_does_not_grow(kind, request, slot_car_laps):
    session = Session(request.getfixturevalue(kind), kept=KEPT)
    held = []
    for rounds in (range(4), range(4, 8)):
        for each in rounds:
            drive_with_faults(session, slot_car_laps[1], each)
        counts = session.counts()
        held.append(bytes_held(session))
    # An integer or a sentence may differ.
    assert held[1] < held[0] + 1024
    # No input adds the name of another counter.
    assert set(counts) <= {*COUNTS, *FURTHER}
    refused = sum(counts[cause] for cause in COUNTS[COUNTS.index('restarts') + 1 :])
    assert counts['received'] == counts['used'] + counts['waiting'] + refused


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 60),
            st.sampled_from([SECOND // 2, 9 * SECOND, -SECOND, -9 * SECOND, 0]),
            st.sampled_from([1.0, 1.0, 1.0, 9.81]),
        ),
        min_size=1, max_size=6,
    )
)  # fmt: skip
def test_whatever_comes_only_what_is_valid_is_published(slot_car_model, slot_car_laps, parts):
    """Parts of a drive, some in wrong units, with gaps and jumps before them; 0 is a reset."""
    imu = slot_car_laps[1].imu
    session = Session(slot_car_model)
    published: list[Estimate] = []
    row, moved = 0, 0
    for samples, jump, factor in parts:
        if not jump:
            session.reset('a test')
        moved += jump
        for _ in range(samples):
            raw = raw_imu(int(imu.stamps[row]) + moved, factor * imu.samples[row])
            published += session.take(raw) or []
            row += 1
    assert all(each.status in USABLE and each.valid for each in published)
    # Ticks count from the last reset, and a window has to be seen first.
    assert all(each.tick >= slot_car_model.window - 1 for each in published)
    assert session.counts()['published'] == len(published)
