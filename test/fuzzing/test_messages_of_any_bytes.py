# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of any bytes are counted, and no number published after them is not finite."""

import struct

from hypothesis import given, settings, strategies
import numpy as np
import pytest
from raw_imu import raw_imu

from two_manifold_ros.interface.assessment import REJECTIONS
from two_manifold_ros.interface.session import Session
from two_manifold_ros.model.model import RouteModel

NUMBERS = strategies.one_of(strategies.floats(-20.0, 20.0), strategies.floats())
HALF_A_TICK = 5 * 10**7


@strategies.composite
def imu_messages(draw: strategies.DrawFn) -> list[bytes]:
    """Return messages of a stream in which some have wild stamps, lengths and numbers."""
    messages = []
    stamp = 10**18
    for _ in range(draw(strategies.integers(1, 40))):
        stamp += draw(strategies.sampled_from([HALF_A_TICK] * 6 + [0, -1, 10**9, 10**17]))
        seconds, nanoseconds = divmod(stamp, 10**9)
        length = draw(strategies.sampled_from([1] * 6 + [0, 8, 2**32 - 1]))
        values = np.array(draw(strategies.tuples(*[NUMBERS] * 6)))
        # As seconds that do not fit are sent.
        whole = raw_imu(((seconds + 2**31) % 2**32 - 2**31) * 10**9 + nanoseconds, values)
        whole = whole[:12] + struct.pack('<I', length) + whole[16:]
        messages.append(whole[: draw(strategies.sampled_from([400] * 6 + [0, 3, 11, 100, 200]))])
    return messages


@pytest.fixture(scope='module')
def session(slot_car_model: RouteModel) -> Session:
    return Session(slot_car_model)


@settings(max_examples=25)
@given(messages=imu_messages())
def test_a_stream_of_any_messages(session, messages):
    session.reset('test')
    before = session.counts()
    published = []
    for message in messages:
        published += session.take(message) or []
    counts = session.counts()
    counts.subtract(before)
    assert all(estimate.valid for estimate in published)
    for name in ('state', 'positions', 'covariances', 'velocity', 'velocity_covariance'):
        assert all(np.isfinite(getattr(estimate, name)).all() for estimate in published)
    assert counts['received'] == len(messages)
    published = counts['used'] + sum(counts[cause] for cause in REJECTIONS)
    # The newest may wait for the next to say whether its stamp is wild.
    assert len(messages) - 1 <= published <= len(messages)
