# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The status follows from the signs, is never better than they are, and does not flicker."""

from dataclasses import replace
from itertools import combinations, pairwise
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from two_manifold_ros.filtering.estimate import make_tick_filter
from two_manifold_ros.filtering.status import (
    CAUSES,
    EllipseLimits,
    Finding,
    MOST_STEADY,
    StateMachine,
    Status,
    TickDiagnostics,
    Verdict,
)

STEADY = MOST_STEADY
LIMITS = EllipseLimits(0.5, 1.0)
GOOD = TickDiagnostics(
    window_full=True, recovering=False, accepted=True, restarted=False, novelty=1.0,
    ellipse_m=0.1, seen=20,
)  # fmt: skip
FILLING = GOOD._replace(window_full=False, novelty=math.nan, seen=3)
GAP = FILLING._replace(recovering=True)
REFUSING = Finding('reversed', 'the gyro is turned round: turn it back', refuses=True)
DOUBTFUL = Finding('biased', 'the gyro has an offset: calibrate it', refuses=False)

signs = st.builds(
    TickDiagnostics,
    window_full=st.sampled_from([True, True, True, False]),
    recovering=st.booleans(),
    accepted=st.sampled_from([True, True, False]),
    restarted=st.sampled_from([False, False, True]),
    novelty=st.sampled_from([1.0, 1.0, 1.5, 1.7, math.inf, math.nan]),
    ellipse_m=st.sampled_from([0.1, 0.1, 0.5, 0.7, 1.2, math.inf, math.nan]),
    finding=st.sampled_from([None, None, None, DOUBTFUL, REFUSING]),
    seen=st.integers(0, 20),
    off_route=st.sampled_from([0.0, 0.0, 0.2, 0.6, math.nan]),
    unlike=st.sampled_from([0.0, 0.0, 0.6, math.nan]),
    standing=st.sampled_from([False, False, True]),
    stays_off=st.booleans(),
    unlikely=st.sampled_from([False, False, True]),
    outside=st.sampled_from([False, False, True]),
    located=st.booleans(),
    fix_agrees=st.sampled_from([math.nan, math.nan, math.nan, 0.2, 0.9]),
)
histories = st.lists(st.tuples(signs, st.integers(1, 14)), max_size=12).map(
    lambda runs: [each for each, times in runs for _ in range(times)]
)


def run(history: list[TickDiagnostics], machine: StateMachine | None = None) -> list[Verdict]:
    machine = machine or StateMachine(LIMITS, 20)
    return [machine.step(each) for each in history]


ORDER = [
    Status.TRACKING, Status.UNSURE, Status.LOCALISING, Status.LOST, Status.REFUSED, Status.FILLING,
]  # fmt: skip


@given(histories)
def test_nothing_is_better_before_it_lasted_and_all_but_tracking_is_explained(history):
    verdicts = run(history)
    said = [each.status for each in verdicts]
    for tick, (before, now) in enumerate(pairwise(said), 1):
        fixed = history[tick].fix_agrees > 0.5
        if before is not Status.FILLING and ORDER.index(now) < ORDER.index(before) and not fixed:
            # The tick that brought a status shows nothing better.
            assert said[max(tick - STEADY, 0) : tick] == [before] * STEADY
    for verdict in verdicts:
        tracking = verdict.status is Status.TRACKING
        assert verdict.cause in ({''} if tracking else {*CAUSES, 'reversed', 'biased'})
        assert verdict.why.startswith(verdict.status.value)
        assert '{' not in verdict.why


@given(histories, histories)
def test_a_reset_leaves_no_trace(first, second):
    machine = StateMachine(LIMITS, 20)
    run(first, machine)
    machine.reset()
    assert (machine.verdict.status, machine.verdict.cause) == (Status.FILLING, 'filling')
    assert run(second, machine) == run(second)


OFF = GOOD._replace(off_route=0.7)
WRONG, RIGHT = (GOOD._replace(fix_agrees=each) for each in (0.1, 0.9))
CASES = {
    'filling': ([FILLING], Status.FILLING, '3 of 20'),
    'converging': ([GOOD._replace(ellipse_m=1.2)], Status.LOCALISING, '1.20 m'),
    'numerics': ([GOOD, GOOD._replace(ellipse_m=math.nan)], Status.LOST, 'report'),
    'outside': ([GOOD, GOOD._replace(outside=True)], Status.LOST, 'outside the region'),
    'gap': ([GOOD, GAP], Status.UNSURE, '3 of 20'),
    'wide': ([GOOD, GOOD._replace(ellipse_m=0.5004)], Status.UNSURE, '0.5004 m, above 0.5000 m'),
    'novelty_warn': ([GOOD._replace(novelty=1.5)], Status.UNSURE, 'novelty 1.5'),
    'innovation_warn': ([GOOD, *[GOOD._replace(accepted=False)] * 3], Status.UNSURE, 'last 3'),
    'fix_contradicts': ([GOOD, WRONG], Status.UNSURE, 'covariances'),
    'unlikely': ([GOOD, GOOD._replace(unlikely=True)], Status.UNSURE, 'was moved'),
    'restarted': ([GOOD._replace(restarted=True)], Status.UNSURE, 'diverged'),
    'diverged': ([GOOD, GOOD._replace(ellipse_m=1.2)], Status.LOST, '1.20 m, above 1.00 m'),
    'novelty': ([GOOD._replace(novelty=1.7)], Status.LOST, 'novelty 1.7'),
    'innovation': ([GOOD._replace(accepted=False)] * 10, Status.LOST, '10 observations in a row'),
    'off_route_warn': ([GOOD._replace(off_route=0.2)], Status.UNSURE, 'probability of 20%'),
    'off_route': ([OFF], Status.LOST, 'probability of 70%'),
    'off_network': ([OFF._replace(stays_off=True)], Status.LOST, 'probability of 70%'),
    'disagrees': ([GOOD._replace(disagrees=True)], Status.LOST, 'newest bends'),
    'unmodelled_motion': ([GOOD._replace(unlike=0.7)], Status.UNSURE, 'probability of 70%'),
    'reversed': ([GOOD._replace(finding=REFUSING)], Status.REFUSED, 'turn it back'),
    'biased': ([GOOD._replace(finding=DOUBTFUL)], Status.UNSURE, 'calibrate it'),
}


@pytest.mark.parametrize('cause', CASES)
def test_each_cause(cause):
    history, status, part = CASES[cause]
    verdict = run(history)[-1]
    assert (verdict.status, verdict.cause) == (status, cause)
    assert part in verdict.why


SIGNS = [
    {'window_full': False, 'recovering': True},
    {'ellipse_m': math.nan}, {'ellipse_m': 0.7}, {'ellipse_m': 1.2}, {'outside': True},
    {'novelty': 1.5}, {'novelty': 1.7}, {'novelty': math.nan}, {'restarted': True},
    {'unlikely': True}, {'off_route': 0.2}, {'off_route': 0.6}, {'unlike': 0.6},
    {'finding': REFUSING},
]  # fmt: skip


def test_of_two_signs_the_graver_one_holds():
    def rank(**signs: object) -> int:
        return ORDER.index(run([GOOD, GOOD._replace(**signs)])[-1].status)

    for one, other in combinations(SIGNS, 2):
        if one.keys().isdisjoint(other) and ('window_full' not in one or 'novelty' not in other):
            assert rank(**one, **other) == max(rank(**one), rank(**other)), (one, other)


WIDE, DOUBTED = GOOD._replace(ellipse_m=1.2), GOOD._replace(accepted=False)


@pytest.mark.parametrize(
    ('history', 'status'),
    [
        # Where it was is not known any more, or still, after a window started to fill.
        ([GOOD, FILLING, WIDE], Status.LOCALISING),
        ([GOOD, GAP._replace(ellipse_m=1.2)], Status.LOST),
        ([FILLING, GAP._replace(finding=REFUSING)], Status.FILLING),
        ([GOOD, GOOD._replace(novelty=math.nan)], Status.LOST),
        # A vehicle that stands contradicts nothing, and confirms nothing.
        ([GOOD, *[DOUBTED._replace(standing=True)] * 9], Status.TRACKING),
        ([GOOD, *[DOUBTED, DOUBTED, GOOD._replace(standing=True)], DOUBTED], Status.UNSURE),
        # After a fix that is right nothing has to last, nor a window to be full.
        ([GOOD, OFF, RIGHT], Status.TRACKING),
        ([GOOD, OFF, WRONG], Status.LOST),
        ([GOOD, WRONG, *[GOOD] * 19], Status.UNSURE),
        ([GOOD, WRONG, RIGHT], Status.TRACKING),
        ([FILLING._replace(located=True)], Status.TRACKING),
        # Of those that are better for so long the worst is said.
        ([GOOD, OFF, *[GOOD] * 4, GOOD._replace(novelty=1.5), *[GOOD] * 5], Status.UNSURE),
    ],
)
def test_the_status_after(history, status):
    assert run(history)[-1].status is status


def test_every_cause_can_be_reached_and_a_finding_says_why_the_input_is_novel():
    assert set(CAUSES) - {'waiting', 'not_useful'} == set(CASES) - {'reversed', 'biased'}
    verdict = run([GOOD._replace(finding=DOUBTFUL, novelty=3.0)])[-1]
    assert (verdict.status, verdict.cause) == (Status.REFUSED, 'biased')


def test_from_a_gap_on_nothing_is_sure_nor_blamed_nor_made_better():
    """Contradictions are forgiven."""
    machine = StateMachine(LIMITS, 20)
    run([GOOD], machine)
    machine.pause()
    assert (machine.verdict.status, machine.verdict.cause) == (Status.UNSURE, 'gap')
    assert {each.status for each in run([GOOD] * (STEADY - 1), machine)} == {Status.UNSURE}
    assert machine.step(GOOD).status is Status.TRACKING
    assert machine.step(GOOD._replace(finding=REFUSING)).status is Status.REFUSED
    machine.pause()
    after = run([GAP] * STEADY, machine)
    assert [each.cause for each in after[-2:]] == ['reversed', 'gap']
    assert after[-1].status is Status.LOST
    assert run([GAP._replace(finding=REFUSING)] * STEADY, machine)[-1].cause == 'reversed'
    for wrong in ([GOOD._replace(novelty=3.0)], [GOOD._replace(accepted=False)] * 9):
        machine.reset()
        run([GOOD, *wrong], machine)
        machine.pause()
        if len(wrong) > 1:
            assert machine.step(GAP._replace(accepted=False)).cause == 'gap'
        else:
            assert {each.status for each in run([GAP] * 30, machine)} == {Status.LOST}


@pytest.mark.parametrize('steady', [1, 4])
def test_what_is_better_holds_after_so_many_ticks(steady):
    history = [GOOD, OFF, *[GOOD] * (steady + 1)]
    shown = [each.status for each in run(history, StateMachine(LIMITS, 20, steady))]
    assert shown == [Status.TRACKING, *[Status.LOST] * steady, *[Status.TRACKING] * 2]


def test_a_status_is_better_after_a_memory_of_ten_ticks_at_most(slot_car_model, spectral_model):
    def steady(persistence: float) -> int:
        likelihood = replace(slot_car_model.route.likelihood, persistence=persistence)
        route = replace(slot_car_model.route, likelihood=likelihood)
        return make_tick_filter(replace(slot_car_model, route=route)).steady

    assert [steady(each) for each in (0.01, 0.1, 0.2, 0.25, 1.0, 5.0)] == [10, 10, 5, 4, 3, 3]
    assert make_tick_filter(spectral_model).steady == 10
