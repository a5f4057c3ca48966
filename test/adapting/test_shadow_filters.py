# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The better filter runs, equal ones do not take turns, and a wrong hand-over is taken back."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np
from other_models import displaced
import pytest
from scipy.signal import lfilter

from two_manifold_ros.adapting.shadow_filters import (
    BaselineError,
    ErrorPair,
    FilterOptions,
    HandOverSettings,
    LOST_COST,
    make_shadow,
    PairedErrors,
    SequentialTest,
    ShadowFilters,
    Side,
    SILENCE_COST,
    Verdict,
)
from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead, TrainedModel
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

    Laps = tuple[Recording, Recording]

SLOT_NS = 100_000_000
"""A tenth of a second."""


START = 1_700_000_000 * 10**9


def said(*x: float) -> Floats:
    """Return positions at two horizons on the x axis."""
    return np.array([[each, 0.0] for each in x])


@pytest.fixture
def errors() -> PairedErrors:
    return PairedErrors((0, 3 * SLOT_NS), SLOT_NS, 5 * SLOT_NS)


def pass_by(errors: PairedErrors, slots: range, start: int = START) -> list[ErrorPair]:
    """Add references of a vehicle that drives one metre in a slot along the x axis."""
    found = []
    for slot in slots:
        found += errors.add_reference(start + slot * SLOT_NS, float(slot), 0.0)
    return found


def predict(errors: PairedErrors, slot: int, first: Floats | None, second: Floats | None) -> None:
    errors.predict(0, START + slot * SLOT_NS, first)
    errors.predict(1, START + slot * SLOT_NS, second)


def test_each_horizon_when_its_truth_comes(errors: PairedErrors) -> None:
    predict(errors, 2, said(2.5, 5.0), said(2.0, 9.0))
    assert pass_by(errors, range(2)) == []
    assert pass_by(errors, range(2, 5)) == [ErrorPair(START + 2 * SLOT_NS, 0, (0.5, 0.0))]
    assert pass_by(errors, range(5, 7)) == [ErrorPair(START + 5 * SLOT_NS, 1, (0.0, 4.0))]


def test_filters_that_tick_at_other_instants_and_rates(errors: PairedErrors) -> None:
    """Each is compared with the truth at its own time; the faster one counts once in a slot."""
    for stamp, x in ((10_000_000, 1.1), (60_000_000, 99.0)):
        errors.predict(1, START + SLOT_NS + stamp, said(x, x + 3.0))
    errors.predict(0, START + SLOT_NS + 70_000_000, said(1.7, 4.7))
    found = pass_by(errors, range(10))
    assert [pair.horizon for pair in found] == [0, 1]
    for pair in found:
        assert pair.errors == pytest.approx((0.0, 0.0), abs=1e-12)


def test_what_is_known_at_once_comes_in_order_of_time(errors: PairedErrors) -> None:
    for slot in (0, 1, 4):
        predict(errors, slot, said(slot, slot + 3), said(slot, slot + 3))
    errors.add_reference(START, 0.0, 0.0)
    found = errors.add_reference(START + 5 * SLOT_NS, 5.0, 0.0)
    assert [(pair.stamp_ns - START) // SLOT_NS for pair in found] == [1, 3, 4, 4]


def test_silence_counts_only_beside_a_filter_that_publishes(errors: PairedErrors) -> None:
    predict(errors, 0, None, said(0.0, 3.0))
    predict(errors, 1, None, None)
    predict(errors, 2, said(2.0, 5.0), said(math.nan, 5.0))
    errors.predict(0, START + 3 * SLOT_NS, said(3.0, 6.0))
    found = pass_by(errors, range(20))
    assert sorted((pair.horizon, pair.errors) for pair in found) == [
        (0, (0.0, math.inf)),
        (0, (math.inf, 0.0)),
        (1, (0.0, math.inf)),
        (1, (math.inf, 0.0)),
    ]


def test_no_truth_across_a_gap(errors: PairedErrors) -> None:
    for slot in (1, 4, 12):
        predict(errors, slot, said(slot, slot + 3), said(slot, slot + 3))
    found = pass_by(errors, range(3)) + pass_by(errors, range(11, 20))
    assert [(pair.stamp_ns - START) // SLOT_NS for pair in found] == [1, 12, 15]


def test_both_or_none(errors: PairedErrors) -> None:
    """The truth is known where the one ticks, but not a little later, where the other does."""
    errors.predict(0, START + SLOT_NS, said(1.0, 4.0))
    errors.predict(1, START + SLOT_NS + SLOT_NS // 2, said(1.5, 4.5))
    assert pass_by(errors, range(2)) + pass_by(errors, range(11, 20)) == []


@pytest.mark.parametrize('first', ['truth', 'prediction'])
def test_a_jump_back_in_time_starts_again(first: str, errors: PairedErrors) -> None:
    pass_by(errors, range(105))
    predict(errors, 100, said(0.0, 0.0), said(0.0, 0.0))
    if first == 'truth':
        assert pass_by(errors, range(2)) == []
        predict(errors, 1, said(1.0, 4.0), said(1.0, 4.0))
        found = pass_by(errors, range(2, 120))
    else:
        predict(errors, 1, said(1.0, 4.0), said(1.0, 4.0))
        found = pass_by(errors, range(120))
    assert [pair.errors for pair in found] == [(0.0, 0.0), (0.0, 0.0)]


def test_memory_is_bounded_whichever_filter_is_silent(errors: PairedErrors) -> None:
    """No truth, then no second filter: what waits is a few hundred predictions."""
    for slot in range(2000):
        predict(errors, slot, said(slot, slot + 3), said(slot, slot + 3))
    assert len(errors) < 500
    for slot in range(2000, 4000):
        errors.predict(1, START + slot * SLOT_NS, said(slot, slot + 3))
    assert len(errors) < 700
    predict(errors, 4000, said(4000, 4003), said(4000, 4003))
    assert len(errors) < 500


PLACES = np.random.default_rng(0).normal(size=(60, 2)) * [3.0, 0.1] + [5e6, -4e5]


def spread_of(places: np.ndarray) -> BaselineError:
    spread = BaselineError()
    for x, y in places.tolist():
        spread.add(x, y)
    return spread


def naive(places: np.ndarray, weights: np.ndarray) -> float:
    mean = np.average(places, axis=0, weights=weights)
    return float(np.sqrt(np.average(((places - mean) ** 2).sum(axis=1), weights=weights)))


def test_old_ones_fade_when_others_are_taken() -> None:
    spread = BaselineError()
    for part in np.split(PLACES, 3):
        spread.merge(spread_of(part), 0.5)
    weights = np.repeat([0.25, 0.5, 1.0], 20)
    assert spread.rmse_m == pytest.approx(naive(PLACES, weights), rel=1e-9)


RATE_HZ = 20
PERIOD = 10**9 // RATE_HZ
HORIZONS = (0, 20)
TICKS_PER_BLOCK = 100
BLOCKS_PER_LAP = 1.6
LAP_TICKS = 160


def make_test(**settings: float) -> SequentialTest:
    horizons_ns = [horizon * PERIOD for horizon in HORIZONS]
    return SequentialTest(horizons_ns, PERIOD, 10 * PERIOD, HandOverSettings(**settings))


def errors_of(scale: float, ticks: int, rng: np.random.Generator) -> Floats:
    """Return errors (ticks, 2) that last for a second or so and differ over the lap."""
    same = math.exp(-1.0 / RATE_HZ)
    noise = rng.normal(size=(ticks, 2)) * math.sqrt(1.0 - same**2)
    lasting = lfilter([1.0], [1.0, -same], noise, axis=0)
    lap = np.arange(ticks) * 2.0 * math.pi / LAP_TICKS + rng.uniform(0.0, 6.0)
    return np.asarray(scale * lasting * (1.0 + 0.5 * np.sin(lap))[:, None])


def blocks_of(scales: tuple[float, float], ticks: int, seed: int) -> Floats:
    """Return the mean errors (n, 2) of two filters in blocks."""
    rng = np.random.default_rng(seed)
    errors = [np.hypot(*errors_of(scale, ticks, rng).T) for scale in scales]
    return np.transpose([each.reshape(-1, TICKS_PER_BLOCK).mean(axis=1) for each in errors])


def swaps(test: SequentialTest, blocks: Floats) -> list[tuple[int, str]]:
    """Do what the test says; return after which block it said what."""
    said = []
    for number, block in enumerate(blocks):
        test.count(block[::-1] if len(said) % 2 else block)
        if test.verdict is not Verdict.KEEP:
            said.append((number + 1, test.verdict.value))
            test.swap()
    return said


@pytest.mark.parametrize('error', [0.2, 0.19])
def test_equal_filters_never_swap(error: float) -> None:
    for seed in range(20):
        assert swaps(make_test(), blocks_of((0.2, error), 10_000, seed)) == []


@pytest.mark.parametrize(('ratio', 'laps'), [(0.7, 30), (0.5, 12), (0.25, 8)])
def test_a_better_one_comes_in_soon_and_stays(ratio: float, laps: int) -> None:
    needed = []
    for seed in range(10):
        said = swaps(make_test(), blocks_of((0.2, 0.2 * ratio), 10_000, seed))
        assert [what for _, what in said] == ['hand over']
        needed.append(said[0][0] / BLOCKS_PER_LAP)
    assert max(needed) <= laps
    assert min(needed) >= 8 / BLOCKS_PER_LAP


def test_a_filter_that_got_worse_is_taken_back_and_then_has_to_convince_for_longer() -> None:
    test = make_test()
    rng = np.random.default_rng(0)
    better, worse = ([0.2, 0.1], [0.2, 0.4])
    course = np.array([better] * 8 + [worse] * 8 + [better] * 16 + [worse] * 8 + [better] * 40)
    said = swaps(test, course * rng.uniform(0.99, 1.01, size=course.shape))
    assert said == [
        (8, 'hand over'),
        (16, 'take back'),
        (32, 'hand over'),
        (40, 'take back'),
        (72, 'hand over'),
    ]


@pytest.mark.parametrize(('error', 'most'), [(0.1, False), (0.2, True)])
def test_a_trial_ends_after_its_time_or_when_the_new_one_has_shown_it_again(
    error: float, most: bool
) -> None:
    test = make_test()
    test.needed = 32
    test.swap()
    for blocks in range(1, (test.settings.most if most else test.settings.fewest) + 1):
        assert test.on_trial
        test.count(np.array([error, 0.2 if most else 0.2 + 0.001 * blocks]))
    assert not test.on_trial
    assert test.needed == (test.settings.fewest if most else 16)


@pytest.mark.parametrize(('error', 'verdict'), [(0.19, Verdict.KEEP), (0.17, Verdict.HAND_OVER)])
def test_what_is_sure_must_be_worth_it_too(error: float, verdict: Verdict) -> None:
    test = make_test()
    for _ in range(20):
        test.count(np.array([0.2, error]))
    assert test.verdict is verdict


@pytest.mark.parametrize(('error', 'verdict'), [(0.8, Verdict.KEEP), (0.3, Verdict.HAND_OVER)])
def test_a_filter_near_the_mean_does_not_take_over(error: float, verdict: Verdict) -> None:
    """The incumbent is silent, and the mean position errs by one metre."""
    test = make_test()
    for tick in range(20 * TICKS_PER_BLOCK):
        x, y = math.cos(0.05 * tick), math.sin(0.05 * tick)
        predicted = np.array(
            [[math.cos(0.05 * (tick + h)) + error, math.sin(0.05 * (tick + h))] for h in HORIZONS]
        )
        test.observe(Side.INCUMBENT, tick * PERIOD, None)
        test.observe(Side.CANDIDATE, tick * PERIOD, predicted)
        test.add_reference(tick * PERIOD, x, y)
    assert test.blocks > 10
    assert test.score(Side.CANDIDATE) < 0.9 * test.score(Side.INCUMBENT)
    assert test.verdict is verdict


def test_most_blocks_have_to_be_won() -> None:
    """One great success is worth nothing, however great."""
    test = make_test(sure=0.5)
    for number in range(16):
        test.count(np.array([9.0, 0.1] if number % 4 == 0 else [0.1, 0.11]))
    assert test.score(Side.CANDIDATE) < 0.5 * test.score(Side.INCUMBENT)
    assert test.verdict is Verdict.KEEP


def test_gains_that_last_are_fewer_than_they_seem() -> None:
    gains = np.repeat([0.2, 0.01, 0.19, 0.02], 8)
    alternating = gains.reshape(2, 2, 8).transpose(2, 0, 1).ravel()
    for course, verdict in ((gains, Verdict.KEEP), (alternating, Verdict.HAND_OVER)):
        test = make_test(fewest=32)
        for gain in course:
            test.count(np.array([0.4, 0.4 - gain]))
        assert test.verdict is verdict


def track(ticks: int) -> Floats:
    lap = np.arange(ticks) * 2.0 * math.pi / LAP_TICKS
    return np.column_stack([1e5 + 1.5 * np.cos(lap), np.sin(lap)])


def drive(
    test: SequentialTest, truth: Floats, said: tuple[Floats | None, Floats | None], first: int = 1
) -> None:
    """Let two filters estimate the truth and an error (ticks, 2) each, or nothing."""
    ahead = np.array(HORIZONS)
    for tick in range(len(truth) - max(HORIZONS)):
        stamp = (first + tick) * PERIOD
        for side, errors in zip(Side, said, strict=True):
            positions = None if errors is None else truth[tick + ahead] + errors[tick]
            test.observe(side, stamp, positions)
        test.add_reference(stamp, *truth[tick].tolist())


def test_from_positions_to_the_verdict() -> None:
    test = make_test()
    truth = track(1520)
    still = [np.tile([error, 0.0], (1520, 1)) for error in (0.2, 0.1)]
    drive(test, truth, (still[0], still[1]))
    assert test.verdict is Verdict.HAND_OVER
    assert test.score(Side.INCUMBENT) == pytest.approx(0.2)
    assert test.score(Side.CANDIDATE) == pytest.approx(0.1)
    # The block in which it is learned what the mean position errs, and the last one, do not count.
    assert test.blocks == 1500 // TICKS_PER_BLOCK - 1
    assert test.mean_error == pytest.approx(math.sqrt((1.5**2 + 1.0) / 2), rel=0.05)


def test_a_slow_reference_is_interpolated_where_it_is_known_to_be_slow() -> None:
    truth, ahead = track(1520), np.array(HORIZONS)
    blocks = []
    for gap_ns in (0, 3 * 10**9):
        test = make_test()
        for tick in range(1500):
            for side, error in zip(Side, (0.2, 0.1), strict=True):
                test.observe(side, (1 + tick) * PERIOD, truth[tick + ahead] + [error, 0.0])
            if tick % RATE_HZ == 0:
                test.add_reference((1 + tick) * PERIOD, *truth[tick].tolist(), gap_ns)
        blocks.append(test.blocks)
    assert blocks[0] == 0
    assert blocks[1] > 0.8 * 1500 / TICKS_PER_BLOCK


def test_predictions_that_come_after_the_truth_are_counted_as_well() -> None:
    """Even if they come so late that most of them belong to the block before."""
    test = make_test(block_s=2.0)
    truth, ahead, late = track(1520), np.array(HORIZONS), 24
    for tick in range(late, 1500):
        test.add_reference((1 + tick) * PERIOD, *truth[tick].tolist())
        for side, error in zip(Side, (0.2, 0.1), strict=True):
            positions = truth[tick - late + ahead] + [error, 0.0]
            test.observe(side, (1 + tick - late) * PERIOD, positions)
    assert test.blocks > 0.9 * 1500 / (2 * RATE_HZ)
    assert test.score(Side.INCUMBENT) == pytest.approx(0.2)


def test_silence_is_worse_than_the_mean_and_nothing_worse_than_lost() -> None:
    test = make_test()
    truth = track(1520)
    drive(test, truth, (None, truth.mean(axis=0) - truth))
    assert test.score(Side.INCUMBENT) == pytest.approx(SILENCE_COST * test.mean_error, rel=0.05)
    # Read at a horizon, the mean position is that of a second before: about as wrong.
    assert test.score(Side.CANDIDATE) < 1.1 * test.mean_error
    test.renew()
    assert math.isnan(test.score(Side.INCUMBENT))
    drive(test, truth, (None, np.full((1520, 2), 1e9)), first=2001)
    assert test.score(Side.CANDIDATE) == pytest.approx(LOST_COST * test.mean_error, rel=0.05)


def test_standing_still_is_no_evidence() -> None:
    test = make_test()
    truth = np.vstack([track(520), np.repeat(track(520)[-1:], 2000, axis=0)])
    known = test.blocks
    drive(test, truth, (np.full((2520, 2), 0.2), np.full((2520, 2), 0.1)))
    assert test.blocks - known <= 5
    assert test.mean_error > 1.0
    assert test.verdict is Verdict.KEEP


def test_half_of_a_block_has_to_be_seen() -> None:
    test = make_test()
    truth = track(1520)
    errors = np.full((1520, 2), 0.1)
    ahead = np.array(HORIZONS)
    for tick in range(1500):
        stamp = (1 + tick) * PERIOD
        for side in Side:
            if tick % TICKS_PER_BLOCK < 40:
                test.observe(side, stamp, truth[tick + ahead] + errors[tick])
        test.add_reference(stamp, *truth[tick].tolist())
    assert test.blocks == 0


SHORT = HandOverSettings(block_s=2.0, fewest=4, most=8)


@pytest.fixture(scope='module')
def route_model(slot_car_laps: Laps) -> TrainedModel:
    """A map of the first five laps."""
    settings = TrainingSettings(window=20, horizons=(0, 5, 20))
    return train_model([slot_car_laps[0].between(None, 46.0)], settings)


def begin(incumbent: ModelHead, candidate: ModelHead) -> ShadowFilters:
    shadows = ShadowFilters(make_shadow(incumbent), SHORT)
    shadows.challenge(make_shadow(candidate))
    return shadows


def test_a_shadow_filters_as_the_node_does(route_model: TrainedModel) -> None:
    limits = make_shadow(route_model).filter.limits
    assert limits == limits_of(route_model)
    shadow = make_shadow(route_model, FilterOptions(0.2, 1.5, 2.5))
    assert (shadow.filter.limits.warn_m, shadow.filter.limits.error_m) == (1.5, 2.5)
    for stamp in (10**9, 11 * 10**8, 105 * 10**7, 13 * 10**8):
        shadow.filter.push(stamp, np.ones(6))
    assert shadow.filter.counters['out_of_order'] == 0
    assert shadow.filter.waiting


def follow(shadows: ShadowFilters, recording: Recording, until: float = math.inf) -> None:
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
            shadows.add_reference(int(stamp), *each.tolist())
        else:
            shadows.take(int(stamp), each)


def test_the_better_one_is_to_be_handed_over_and_taken_back_when_it_gets_worse(
    slot_car_laps: Laps, tpsr_model: Model
) -> None:
    bad, good = displaced(tpsr_model, 1.5), displaced(tpsr_model, 0.0)
    shadows = begin(bad, good)
    follow(shadows, slot_car_laps[0], 30.0)
    assert shadows.test.verdict is Verdict.HAND_OVER
    assert not shadows.spent
    shadows.swap()
    assert shadows.incumbent.model is good
    assert (shadows.test.on_trial, shadows.test.verdict) == (True, Verdict.KEEP)
    shadows.swap()
    assert shadows.incumbent.model is bad
    assert not shadows.test.on_trial
    assert shadows.test.needed == 2 * SHORT.fewest


def test_models_of_other_kinds_rates_and_horizons_are_compared_where_they_meet(
    slot_car_laps: Laps, route_model: TrainedModel, tpsr_model: Model
) -> None:
    """At 10 Hz 0, 0.5 and 2 s ahead; at 5 Hz 0, 2 and 3 s ahead: 0 and 2 s are in common."""
    slow = replace(
        displaced(tpsr_model, 1.5), rate_hz=5.0, period_ns=200_000_000, horizons=(0, 10, 15)
    )
    shadows = begin(slow, route_model)
    follow(shadows, slot_car_laps[0], 30.0)
    assert shadows.test.blocks >= SHORT.fewest
    assert shadows.test.verdict is Verdict.HAND_OVER
    assert shadows.test.score(Side.CANDIDATE) == pytest.approx(0.1, abs=0.1)
    shadows.swap()
    follow(shadows, slot_car_laps[0].between(30.0, None), 20.0)
    assert shadows.test.score(Side.INCUMBENT) == pytest.approx(0.1, abs=0.1)


def test_the_next_candidate_may_have_other_horizons_and_old_debts_stay(
    slot_car_laps: Laps, route_model: TrainedModel, tpsr_model: Model
) -> None:
    shadows = begin(displaced(tpsr_model, 1.5), replace(route_model, horizons=(0, 7, 9)))
    shadows.test.needed = 6
    follow(shadows, slot_car_laps[0], 10.0)
    shadows.challenge(make_shadow(route_model))
    assert shadows.test.needed == 6
    assert shadows.test.blocks == 0
    follow(shadows, slot_car_laps[0].between(10.0, None), 30.0)
    assert shadows.test.verdict is Verdict.HAND_OVER


@pytest.mark.parametrize('begins_s', [10.0, 11.5])
def test_a_candidate_is_not_blamed_for_starting_late(
    begins_s: float, slot_car_laps: Laps, tpsr_model: Model
) -> None:
    """Both are the same model; the one has filtered for long, the other starts now."""
    model = displaced(tpsr_model, 0.0)
    shadows = begin(model, model)
    follow(shadows, slot_car_laps[0], begins_s)
    shadows.challenge(make_shadow(model))
    follow(shadows, slot_car_laps[0].between(begins_s, None), 20.0)
    assert shadows.test.blocks > SHORT.fewest
    errors = [shadows.test.score(side) for side in Side]
    assert errors[1] == pytest.approx(errors[0], rel=0.02)


def test_a_candidate_that_looks_no_better_makes_room_soon_and_another_one_late(
    tpsr_model: Model,
) -> None:
    good = displaced(tpsr_model, 0.0)
    for error, patience in ((0.95, SHORT.fewest), (0.6, SHORT.most)):
        shadows = begin(good, good)
        noise = np.random.default_rng(0)
        for blocks in range(1, SHORT.most + 1):
            assert not shadows.spent
            shadows.test.count(np.array([1.0, error + noise.choice([-0.5, 0.5])]))
            assert shadows.test.verdict is Verdict.KEEP
            if blocks == patience:
                break
        assert shadows.spent


def test_on_trial_no_candidate_makes_room(tpsr_model: Model) -> None:
    good = displaced(tpsr_model, 0.0)
    shadows = begin(good, good)
    shadows.swap()
    for _ in range(SHORT.most):
        assert not shadows.spent
        shadows.test.count(np.array([0.2, 0.2]))
    assert not shadows.test.on_trial
    assert shadows.spent


def test_without_a_candidate_there_is_no_contest(slot_car_laps: Laps, tpsr_model: Model) -> None:
    shadows = begin(displaced(tpsr_model, 1.5), displaced(tpsr_model, 0.0))
    follow(shadows, slot_car_laps[0], 10.0)
    shadows.withdraw()
    assert shadows.spent
    follow(shadows, slot_car_laps[0].between(10.0, None), 10.0)
    assert shadows.test.blocks == 0
    assert shadows.incumbent.filter.counters['ticks'] > 150


@pytest.mark.parametrize('sample', [[math.nan] * 6, [1e9] * 6])
def test_an_unusable_sample_harms_no_filter(
    slot_car_laps: Laps, tpsr_model: Model, sample: list[float]
) -> None:
    verdicts = []
    for spoil in (False, True):
        shadows = begin(displaced(tpsr_model, 1.5), displaced(tpsr_model, 0.0))
        follow(shadows, slot_car_laps[0], 10.0)
        if spoil:
            shadows.take(int(slot_car_laps[0].imu.stamps[0]) + 10_000_000_001, sample)
        follow(shadows, slot_car_laps[0].between(10.0, None), 10.0)
        verdicts.append((shadows.test.verdict, shadows.test.score(Side.CANDIDATE)))
    assert verdicts[0] == verdicts[1]
