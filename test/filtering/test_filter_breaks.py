# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaps, jumps back, resets: when the filter goes on, and when it starts again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from filter_runs import bits, feed, shifted, stamps
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import StateMachine, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from filter_runs import Stream

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import Model, RouteModel

    Fault = Callable[[Stream, Stream, Model], Stream]


PERIOD = 100_000_000


WINDOW = 20


CUT = 150


def statuses(estimates: list[Estimate]) -> list[Status]:
    return [estimate.status for estimate in estimates]


def with_gap(stream: Stream, ticks: int) -> tuple[Stream, Stream]:
    """Leave out samples so that the step from one to the next is so many ticks."""
    return stream[:CUT], stream[CUT + ticks - 1 :]


def test_nothing_is_valid_until_a_window_is_full(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    found = feed(Filter(slot_car_model), stream)
    wanted = [Status.FILLING] * (WINDOW - 1) + [Status.TRACKING] * (len(found) - WINDOW + 1)
    assert statuses(found) == wanted
    assert [each.valid for each in found] == [each is Status.TRACKING for each in wanted]
    assert [bool(np.isnan(each.novelty)) for each in found] == [
        each is Status.FILLING for each in wanted
    ]
    assert [each.tick for each in found] == list(range(len(found)))


@pytest.mark.parametrize('ticks', [4, 10, WINDOW])
def test_after_a_short_gap_the_belief_goes_on(
    ticks: int, slot_car_model: RouteModel, stream: Stream
) -> None:
    before, after = with_gap(stream, ticks)
    live = Filter(slot_car_model)
    tracked = feed(live, before)
    recovered = feed(live, after)
    unsure = WINDOW - 1 + StateMachine.steady - 1
    assert statuses(recovered[: unsure + 2]) == [
        *[Status.UNSURE] * unsure, Status.TRACKING, Status.TRACKING
    ]  # fmt: skip
    assert {each.cause for each in recovered[:unsure]} == {'gap'}
    assert all(each.valid for each in recovered)
    assert all(np.isnan(each.novelty) for each in recovered[: WINDOW - 1])
    assert recovered[0].stamp_ns == after[0][0] + PERIOD
    elapsed = recovered[0].stamp_ns - tracked[-1].stamp_ns
    assert recovered[0].tick - tracked[-1].tick == round(elapsed / PERIOD)
    assert live.counters['gaps'] == 1
    assert live.counters['resets'] == 0


def test_coasting_moves_on_along_the_track(slot_car_model: RouteModel, stream: Stream) -> None:
    """After the gap the filter is about where it would have been without one."""
    whole = {each.stamp_ns: each for each in feed(Filter(slot_car_model), stream)}
    before, after = with_gap(stream, 8)
    live = Filter(slot_car_model)
    last = feed(live, before)[-1]
    first = feed(live, after)[0]
    there = whole[first.stamp_ns].positions[0]
    assert np.linalg.norm(first.positions[0] - there) < 0.4
    assert np.linalg.norm(last.positions[0] - there) > 0.8


def test_a_gap_while_the_window_fills(slot_car_model: RouteModel, stream: Stream) -> None:
    live = Filter(slot_car_model)
    feed(live, stream[:10])
    found = feed(live, stream[15:50])
    assert statuses(found[:WINDOW]) == [Status.FILLING] * (WINDOW - 1) + [Status.TRACKING]


def test_a_clock_that_is_set_back_by_less_than_a_jump_is_a_gap_of_as_much(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    """The next position is right: where the vehicle is now, not where it was by the new clock."""
    step = 4 * PERIOD + PERIOD // 2
    dense = [(stamp + part * PERIOD // 4, sample) for stamp, sample in stream for part in range(4)]
    live, other = Filter(slot_car_model), Filter(slot_car_model)
    feed(live, dense[: 4 * CUT])
    found = feed(live, shifted(dense[4 * CUT :], -step))
    wanted = feed(other, dense)
    ends = np.array([each.stamp_ns for each in wanted])
    assert {each.cause for each in found[: WINDOW // 2]} == {'gap'}
    assert (live.counters['gaps'], live.counters['resets']) == (1, 0)
    assert live.counters['out_of_order'] + live.counters['duplicate_stamp'] == 18
    apart = [
        np.linalg.norm(
            each.positions[0] - wanted[np.abs(ends - each.stamp_ns - step).argmin()].positions[0]
        )
        for each in found[: WINDOW // 2]
    ]
    assert max(apart) < 0.2


@pytest.mark.parametrize(('ticks', 'resets'), [(4, 0), (WINDOW // 2 + 1, 1)])
def test_gaps_with_less_than_a_tick_between_them_are_one(
    ticks: int, resets: int, slot_car_model: RouteModel, stream: Stream
) -> None:
    before, after = with_gap(stream, ticks)
    live = Filter(slot_car_model)
    feed(live, before)
    feed(live, [after[0], *after[ticks:]])
    assert (live.counters['gaps'], live.counters['resets']) == (2, resets)


@pytest.mark.parametrize('ticks', [WINDOW + 1, 60])
def test_a_longer_gap_starts_again(ticks: int, slot_car_model: RouteModel, stream: Stream) -> None:
    before, after = with_gap(stream, ticks)
    live = Filter(slot_car_model)
    feed(live, before)
    found = feed(live, after)
    assert bits(found) == bits(feed(Filter(slot_car_model), after))
    assert found[0].tick == 0
    assert found[0].status is Status.FILLING
    assert live.counters['gaps'] == live.counters['resets'] == 1


def test_a_step_that_is_no_gap_holds_the_sample(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    assert slot_car_model.max_gap_ns == 3 * PERIOD
    before, after = with_gap(stream, 3)
    live = Filter(slot_car_model)
    found = feed(live, [*before, *after])
    ends = np.diff(stamps(found))
    assert set(ends.tolist()) == {PERIOD}
    assert live.counters['gaps'] == 0
    assert live.counters['ticks'] == len(stream) - 1


def test_a_bag_played_twice_resets_once(slot_car_model: RouteModel, stream: Stream) -> None:
    live = Filter(slot_car_model)
    first = feed(live, stream)
    second = feed(live, stream)
    assert bits(second) == bits(first)
    assert stamps(second) == stamps(first)
    assert live.counters['resets'] == 1
    assert live.counters['used'] == 2 * len(stream)


@pytest.mark.long
@pytest.mark.parametrize('shift', [0, -(10**9), 10**12])
def test_a_reset_forgets_everything_but_the_counters(
    shift: int, slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model)
    feed(live, stream[:77])
    before = live.counters.copy()
    live.reset('asked for')
    assert live.counters == before + Counter(resets=1)
    again = shifted(stream, shift)
    assert bits(feed(live, again)) == bits(feed(Filter(slot_car_model), again))
    assert live.counters['resets'] == 1


def test_why_in_plain_words(slot_car_model: RouteModel, stream: Stream) -> None:
    live = Filter(slot_car_model)
    assert live.why == 'waiting for the first IMU sample'
    feed(live, stream[:1])
    assert live.why == 'filling the window: 0 of 20 ticks'
    feed(live, stream[1:13])
    assert live.why == 'filling the window: 12 of 20 ticks'
    feed(live, stream[13:100])
    assert live.why == 'tracking'
    feed(live, stream[105:110])
    assert live.why == (
        'unsure: after a gap in the input, the window has 4 of 20 ticks; look for lost messages'
    )
    live.reset('the service was called')
    assert live.why == 'reset: the service was called'
    feed(live, stream[:5])
    assert live.why == 'filling the window: 4 of 20 ticks'
    feed(live, stream[200:210])
    assert live.why == 'filling the window: 9 of 20 ticks'


BEGIN, END = 100, 115


REFUSED_FOR = WINDOW + StateMachine.steady


"""Ticks after which samples that were refused are forgotten by the status: as after a gap."""


BELIEVED_FOR = 5 * WINDOW


"""Ticks after which nothing is left of wrong samples that were believed: memories and all."""


LEFT_M = 0.02


"""About what the position errs by anyway."""


def changed(part: Stream, change: Callable[[int, np.ndarray], np.ndarray]) -> Stream:
    return [(stamp, change(i, np.array(sample))) for i, (stamp, sample) in enumerate(part)]


REFUSED: dict[str, Fault] = {
    'no numbers': lambda part, *_: changed(part, lambda _, sample: sample * np.nan),
    'out of range': lambda part, *_: changed(part, lambda _, sample: sample * 1e9),
    'stamped with zero': lambda part, *_: [(0, sample) for _, sample in part],
    'nothing': lambda *_: [],
}


BELIEVED: dict[str, Fault] = {
    'from end to end': lambda part, _, model: changed(
        part,
        lambda i, __: (
            model.channels.mean + 0.99 * (-1.0) ** i * np.fmin(model.channels.limit, 1e3)
        ),
    ),
    'reversed': lambda part, *_: changed(part, lambda _, sample: sample * [1, 1, 1, -1, -1, -1]),
    'loud': lambda part, *_: changed(
        part, lambda i, sample: sample + 5.0 * np.random.default_rng(i).normal(size=6)
    ),
    'frozen': lambda part, *_: changed(part, lambda _, __: part[0][1]),
    'of another place': lambda part, all_of_it, _: changed(part, lambda i, _: all_of_it[i][1]),
    'played twice': lambda part, *_: [*part, *part],
}


def by_tick(estimates: list[Estimate]) -> dict[int, Estimate]:
    """Return estimates by tenths of a second; a gap may shift the grid a little."""
    return {round(each.stamp_ns / 1e8): each for each in estimates}


@pytest.mark.long
@pytest.mark.parametrize('kind', ['slot_car_model', 'spectral_model', 'tpsr_model'])
def test_a_fault_is_forgotten(kind: str, stream: Stream, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(kind)
    usual = by_tick(feed(Filter(model), stream))
    end = round(stream[END][0] / 1e8)
    for faults, ticks in ((REFUSED, REFUSED_FOR), (BELIEVED, BELIEVED_FOR)):
        for name, fault in faults.items():
            part = fault(stream[BEGIN:END], stream, model)
            found = by_tick(feed(Filter(model), [*stream[:BEGIN], *part, *stream[END:]]))
            assert max(found) == max(usual)
            for tick in range(end + 1, max(usual) + 1):
                one, other = found[tick], usual[tick]
                assert np.isfinite(one.positions).all(), name
                if tick > end + ticks:
                    assert one.status is other.status, name
                if tick > end + BELIEVED_FOR:
                    assert np.abs(one.positions[0] - other.positions[0]).max() < LEFT_M, name
                    assert one.ellipse_m == pytest.approx(other.ellipse_m, rel=0.05), name
