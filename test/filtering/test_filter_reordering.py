# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""With ``reorder_ns`` disorder changes no estimate, only when it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filter_runs import bits, feed, set_aside, stamps
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.route_model import RouteModel

SPAN = 250_000_000
SECOND = 10**9


def mixed(stream: Stream) -> Stream:
    """Let every sample arrive with a delay of its own, up to the span."""
    delays = np.random.default_rng(0).integers(0, SPAN, len(stream))
    order = np.argsort([stamp for stamp, _ in stream] + delays)
    return [stream[row] for row in order.tolist()]


@pytest.mark.long
def test_disorder_within_the_span_changes_no_bit(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model, reorder_ns=SPAN)
    disorder = mixed(stream)
    assert disorder != stream
    found = feed(live, disorder)
    wanted = feed(Filter(slot_car_model), stream)
    assert len(wanted) - 3 <= len(found) < len(wanted)
    assert bits(found) == bits(wanted[: len(found)])
    assert stamps(found) == stamps(wanted[: len(found)])
    assert set_aside(live.counters) == 0
    assert live.counters['received'] == live.counters['used'] + live.waiting
    without = Filter(slot_car_model)
    feed(without, disorder)
    assert without.counters['out_of_order'] > 50


def test_it_costs_the_span_and_nothing_ends_a_tick_before_it_is_said(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model, reorder_ns=SPAN)
    for stamp, sample in mixed(stream):
        ends = live.tick_ends
        for estimate in live.push(stamp, sample):
            assert stamp - estimate.stamp_ns >= SPAN
            assert ends <= stamp


def test_a_reset_leaves_nothing_waiting_and_nothing_uncounted(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model, reorder_ns=SPAN)
    feed(live, mixed(stream[:50]))
    live.push(stream[50][0] + 9 * SECOND, stream[50][1])
    assert live.waiting > 2
    live.reset('a test')
    assert live.waiting == 0
    assert live.counters['wild_stamp'] == 1
    assert live.counters['received'] == 51 == live.counters['used'] + 1
    anew = [(stamp - SECOND, sample) for stamp, sample in stream[:80]]
    found = feed(live, anew)
    assert bits(found) == bits(feed(Filter(slot_car_model), anew)[: len(found)])


def test_any_sample_may_end_a_tick_while_a_jump_waits(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model)
    feed(live, stream[:50])
    assert live.tick_ends > 0
    live.push(stream[50][0] - 9 * SECOND, stream[50][1])
    assert live.tick_ends == 0
