# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two models filter the same samples, and the better one is told."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np
from other_models import displaced
import pytest

from two_manifold_ros.adapting.contest import Contest, ContestSettings, Side, Verdict
from two_manifold_ros.adapting.rivals import make_rival, Rivals

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.recordings.recording import Recording

    Laps = tuple[Recording, Recording]

SHORT = ContestSettings(block_s=2.0, fewest=4, most=8)


def begin(incumbent: ModelHead, candidate: ModelHead) -> Rivals:
    rivals = Rivals(make_rival(incumbent), SHORT)
    rivals.challenge(make_rival(candidate))
    return rivals


def drive(rivals: Rivals, recording: Recording, until: float = math.inf) -> None:
    """Show the samples and positions of a drive, in order of time."""
    imu, positions = recording.imu, recording.positions
    assert positions is not None
    events = [(stamp, 0, each) for stamp, each in zip(imu.stamps, imu.samples, strict=True)]
    events += [
        (stamp, 1, each) for stamp, each in zip(positions.stamps, positions.positions, strict=True)
    ]
    for stamp, kind, each in sorted(events, key=lambda event: event[:2]):
        if stamp - imu.stamps[0] > 1e9 * until:
            return
        if kind:
            rivals.reach(int(stamp), *each.tolist())
        else:
            rivals.take(int(stamp), each)


def test_the_better_one_is_to_be_handed_over_and_taken_back_when_it_gets_worse(
    slot_car_laps: Laps, tpsr_model: Model
) -> None:
    bad, good = displaced(tpsr_model, 1.5), displaced(tpsr_model, 0.0)
    rivals = begin(bad, good)
    drive(rivals, slot_car_laps[0], 30.0)
    assert rivals.verdict is Verdict.HAND_OVER
    assert not rivals.spent
    rivals.swap()
    assert rivals.incumbent.model is good
    assert (rivals.on_trial, rivals.verdict) == (True, Verdict.KEEP)
    rivals.swap()
    assert rivals.incumbent.model is bad
    assert not rivals.on_trial
    assert rivals.contest.needed == 2 * SHORT.fewest


def test_who_was_exchanged_is_measured_under_its_new_name(
    slot_car_laps: Laps, tpsr_model: Model
) -> None:
    rivals = begin(displaced(tpsr_model, 1.5), displaced(tpsr_model, 0.0))
    rivals.swap()
    drive(rivals, slot_car_laps[0], 30.0)
    contest = rivals.contest
    assert contest.score(Side.CANDIDATE) > 1.0 > contest.score(Side.INCUMBENT)
    assert rivals.verdict is Verdict.KEEP


def test_models_of_other_kinds_rates_and_horizons_are_compared_where_they_meet(
    slot_car_laps: Laps, slot_car_model: RouteModel, tpsr_model: Model
) -> None:
    """At 10 Hz 0, 0.5 and 2 s ahead; at 5 Hz 0, 2 and 3 s ahead: 0 and 2 s are in common."""
    slow = replace(
        displaced(tpsr_model, 1.5), rate_hz=5.0, period_ns=200_000_000, horizons=(0, 10, 15)
    )
    rivals = begin(slow, slot_car_model)
    drive(rivals, slot_car_laps[0], 30.0)
    assert rivals.contest.blocks >= SHORT.fewest
    assert rivals.verdict is Verdict.HAND_OVER
    assert rivals.contest.score(Side.CANDIDATE) == pytest.approx(0.1, abs=0.1)
    rivals.swap()
    drive(rivals, slot_car_laps[0].between(30.0, None), 20.0)
    assert rivals.contest.score(Side.INCUMBENT) == pytest.approx(0.1, abs=0.1)


def test_the_next_candidate_may_have_other_horizons_and_old_debts_stay(
    slot_car_laps: Laps, slot_car_model: RouteModel, tpsr_model: Model
) -> None:
    rivals = begin(displaced(tpsr_model, 1.5), replace(slot_car_model, horizons=(0, 7, 9)))
    rivals.contest.needed = 6
    drive(rivals, slot_car_laps[0], 10.0)
    rivals.challenge(make_rival(slot_car_model))
    assert rivals.contest.needed == 6
    assert rivals.contest.blocks == 0
    drive(rivals, slot_car_laps[0].between(10.0, None), 30.0)
    assert rivals.verdict is Verdict.HAND_OVER


@pytest.mark.parametrize('begins_s', [10.0, 10.5, 11.0, 11.5])
def test_a_candidate_is_not_blamed_for_beginning_late(
    begins_s: float, slot_car_laps: Laps, tpsr_model: Model
) -> None:
    """Both are the same model; the one has filtered for long, the other begins now."""
    model = displaced(tpsr_model, 0.0)
    rivals = begin(model, model)
    drive(rivals, slot_car_laps[0], begins_s)
    rivals.challenge(make_rival(model))
    drive(rivals, slot_car_laps[0].between(begins_s, None), 20.0)
    assert rivals.contest.blocks > SHORT.fewest
    errors = [rivals.contest.score(side) for side in Side]
    assert errors[1] == pytest.approx(errors[0], rel=0.02)


def test_a_candidate_that_looks_no_better_makes_room_soon_and_another_one_late(
    tpsr_model: Model,
) -> None:
    good = displaced(tpsr_model, 0.0)
    for error, patience in ((0.95, SHORT.fewest), (0.6, SHORT.most)):
        rivals = begin(good, good)
        noise = np.random.default_rng(0)
        for blocks in range(1, SHORT.most + 1):
            assert not rivals.spent
            rivals.contest.count(np.array([1.0, error + noise.choice([-0.5, 0.5])]))
            assert rivals.verdict is Verdict.KEEP
            if blocks == patience:
                break
        assert rivals.spent


def test_a_candidate_that_is_of_no_use_makes_room_soon(
    tpsr_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = displaced(tpsr_model, 0.0)
    rivals = begin(good, good)
    monkeypatch.setattr(Contest, 'mean_error', 1.0)
    for _ in range(SHORT.fewest):
        assert not rivals.spent
        rivals.contest.count(np.array([1.25, 0.7]))
    assert rivals.verdict is Verdict.KEEP
    assert rivals.spent


def test_on_trial_nobody_makes_room(tpsr_model: Model) -> None:
    good = displaced(tpsr_model, 0.0)
    rivals = begin(good, good)
    rivals.swap()
    for _ in range(SHORT.most):
        assert not rivals.spent
        rivals.contest.count(np.array([0.2, 0.2]))
    assert not rivals.on_trial
    assert rivals.spent


def test_after_a_trial_that_was_passed_there_is_room_again(tpsr_model: Model) -> None:
    good = displaced(tpsr_model, 0.0)
    rivals = begin(good, good)
    rivals.swap()
    for blocks in range(SHORT.fewest):
        assert not rivals.spent
        rivals.contest.count(np.array([0.1, 0.2 + 0.001 * blocks]))
    assert rivals.spent


def test_without_a_candidate_there_is_no_contest(slot_car_laps: Laps, tpsr_model: Model) -> None:
    rivals = begin(displaced(tpsr_model, 1.5), displaced(tpsr_model, 0.0))
    drive(rivals, slot_car_laps[0], 10.0)
    rivals.withdraw()
    assert rivals.spent
    drive(rivals, slot_car_laps[0].between(10.0, None), 10.0)
    assert rivals.contest.blocks == 0
    assert rivals.incumbent.filter.counters['ticks'] > 150


@pytest.mark.parametrize('sample', [[math.nan] * 6, [1e9] * 6])
def test_a_sample_that_cannot_be_used_harms_nobody(
    slot_car_laps: Laps, tpsr_model: Model, sample: list[float]
) -> None:
    verdicts = []
    for spoil in (False, True):
        rivals = begin(displaced(tpsr_model, 1.5), displaced(tpsr_model, 0.0))
        drive(rivals, slot_car_laps[0], 10.0)
        if spoil:
            rivals.take(int(slot_car_laps[0].imu.stamps[0]) + 10_000_000_001, sample)
        drive(rivals, slot_car_laps[0].between(10.0, None), 10.0)
        verdicts.append((rivals.verdict, rivals.contest.score(Side.CANDIDATE)))
    assert verdicts[0] == verdicts[1]
