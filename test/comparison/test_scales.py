# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time scales: candidates, the parts that they are tried on, and predictions on common stamps."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rounds import on_circle, recording_of
from small_trains import recorded_train

from two_manifold_ros.comparison.comparing import choose_scale, compare
from two_manifold_ros.comparison.method import FittedMethod, Predictions, TrainSplit
from two_manifold_ros.comparison.own_filters import methods_named
from two_manifold_ros.comparison.protocol import plan_share
from two_manifold_ros.comparison.scales import at_scale, candidates, finer, on_stamps, Scale
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings

HORIZONS = (0, 5, 20)


def repeating(laps: int, noise: float = 0.05) -> Recording:
    """Drive laps of 40 s at 10 Hz: four alike bends of 8 s, and a fifth that differs."""
    ticks = np.arange(laps * 400)
    phase = 2.0 * np.pi * (ticks % 80) / 80
    fifth = (ticks % 400) >= 320
    signs = np.where(fifth, -1.0, 1.0)
    rng = np.random.default_rng(1)
    samples = np.zeros((len(ticks), 6))
    for column, wave in ((0, np.cos(phase)), (1, signs * np.sin(phase)), (5, np.sin(2 * phase))):
        samples[:, column] = wave + noise * rng.standard_normal(len(ticks))
    return recording_of(samples, on_circle(2.0 * np.pi * ticks / 400, 10.0), 10.0)


SCALED = TrainingSettings(horizons=HORIZONS)


@pytest.fixture(scope='module')
def plan():
    return plan_share(repeating(20), SCALED)


def test_all_candidates_fit_into_what_is_held_out_and_followed(plan):
    assert [each.window for each in plan.scales] == [60] * len(plan.scales)
    longest_s = max(each.window_s for each in plan.scales)
    assert plan.own_scale == Scale(10.0, 30)
    assert longest_s == 48.0
    dataset = plan.train.dataset
    assert candidates(dataset, [round(25.0 * 10.0)])[-1].window_s == 6.0
    assert candidates(dataset, [20]) == ()
    for test in (*plan.tests, *plan.held_out.tests):
        assert len(test.segment) > 2.0 * longest_s * 10.0
        # No method is scored before the window of any other has filled.
        assert int(np.argmax(test.scored)) == longest_s * 10.0 - 1


def test_a_finer_scale_has_the_same_window_in_more_ticks():
    assert finer(Scale(2.5, 60), 20.0) == Scale(5.0, 120)
    assert finer(Scale(10.0, 60), 10.0) == Scale(10.0, 60)
    # Between the two the rate of the IMU is taken.
    assert finer(Scale(5.0, 60), 12.0) == Scale(12.0, 144)


@pytest.mark.parametrize('given', [{'rate_hz': 10.0}, {'window': 40}])
def test_what_is_given_is_settled_for_all(given):
    plan = plan_share(repeating(12), replace(SCALED, **given))
    assert plan.scales == ()
    (result,) = compare(plan, methods_named(['nearest'])).results
    assert result.scale == plan.own_scale


def test_scales_are_tried_on_parts_of_the_training_alone(plan):
    whole = plan.train.recordings[0]
    known = {each.tobytes() for each in whole.imu.samples}
    fit = {e.tobytes() for each in plan.held_out.train.recordings for e in each.imu.samples}
    held = {e.tobytes() for each in plan.held_out.followed for e in each.imu.samples}
    assert not fit & held
    assert fit | held <= known
    assert not known & {each.tobytes() for each in plan.followed[0].imu.samples}
    assert 0.2 < len(held) / len(known) < 0.3


def test_nearest_windows_get_one_that_shows_the_place(plan):
    """Four places look alike for 3 s, and only from 12 s on no longer."""
    (nearest,) = methods_named(['nearest'])
    (chosen,) = compare(plan, [nearest]).results
    assert chosen.scale.window_s >= 12.0
    (usual,) = compare(replace(plan, scales=()), [nearest]).results
    for mine, its in zip(chosen.scores, usual.scores, strict=True):
        assert mine.all.rmse_m < 0.2 * its.all.rmse_m
    assert chosen.to_json()['window'] == chosen.scale.window


@dataclass
class Picky:
    """Off by the log of the ratio of its window to one that suits it; fails at some."""

    wanted_s: float
    fails_at: Sequence[float] = ()
    name: str = 'picky'
    title: str = 'picky'
    sees_positions: bool = True
    tried: list[float] = field(default_factory=list)

    def fit(self, train: TrainSplit) -> FittedMethod:
        window_s = train.dataset.window * train.period_s
        self.tried.append(window_s)
        if any(np.isclose(window_s, each) for each in self.fails_at):
            msg = 'too long'
            raise InputError(msg)
        return Off(train, abs(float(np.log(window_s / self.wanted_s))))


@dataclass
class Off:
    train: TrainSplit
    away_m: float
    chosen: dict[str, Any] = field(default_factory=dict)

    def predict(self, segment: Segment) -> Predictions:
        positions = self.train.targets_of(segment)
        positions[..., 0] += self.away_m
        return Predictions(positions)


@pytest.mark.parametrize(
    ('wanted_s', 'fails_at', 'found_s'),
    [(3.0, (), 3.0), (24.0, (), 24.0), (24.0, (24.0,), 12.0), (90.0, (), 48.0)],
)
def test_a_method_gets_the_scale_at_which_it_errs_least(plan, wanted_s, fails_at, found_s):
    method = Picky(wanted_s, fails_at)
    found = choose_scale(method, plan)
    assert found.window_s == pytest.approx(found_s)
    assert set(np.round(method.tried)) >= {3, *(round(each.window_s) for each in plan.scales)}


def test_where_all_scales_fail_the_usual_one_gives_the_reason(plan):
    every = [plan.own_scale.window_s, *(each.window_s for each in plan.scales)]
    (result,) = compare(plan, [Picky(3.0, every)]).results
    assert result.failure == 'too long'


def moving(stamps: np.ndarray, period_ns: int, horizons: Sequence[int]) -> np.ndarray:
    """Return exact predictions of a vehicle at 3 m/s along x, that bends nowhere."""
    seconds = (stamps[:, None] + np.array(horizons) * period_ns) * 1e-9
    return np.stack([3.0 * seconds, np.full_like(seconds, 7.0)], axis=-1)


@pytest.fixture(scope='module')
def slow_and_quick():
    quick = recorded_train(repeating(4), 30, HORIZONS)
    return at_scale(quick, Scale(1.25, 20)), quick


def test_predictions_at_a_lower_rate_are_put_on_the_stamps_of_a_higher_one(slow_and_quick):
    slow, quick = slow_and_quick
    stamps = 800_000_000 * np.arange(1, 50)
    wanted = 100_000_000 * np.arange(1, 400)
    given = Predictions(
        moving(stamps, slow.dataset.period_ns, slow.horizons),
        np.arange(49.0)[:, None],
        np.arange(49) % 2 == 0,
    )
    found = on_stamps(given, stamps, slow, wanted, quick)
    assert np.isnan(found.positions[:7]).all()
    assert_allclose(found.positions[7:], moving(wanted, 100_000_000, HORIZONS)[7:], atol=1e-9)
    # The state is the last one known by then, and nothing is known more than a tick later.
    assert found.states[7:24, 0].tolist() == [0.0] * 8 + [1.0] * 8 + [2.0]
    assert found.valid[7:24].tolist() == [True] * 8 + [False] * 8 + [True]
    late = on_stamps(given, stamps, slow, wanted + int(stamps[-1]), quick)
    assert np.isfinite(late.positions).all(axis=(1, 2)).tolist() == [True] * 8 + [False] * 391


def test_what_comes_later_changes_nothing(slow_and_quick):
    slow, quick = slow_and_quick
    stamps = 800_000_000 * np.arange(1, 50)
    wanted = 100_000_000 * np.arange(1, 400)
    positions = np.random.default_rng(0).normal(size=(49, len(slow.horizons), 2))
    before = on_stamps(Predictions(positions), stamps, slow, wanted, quick).positions
    changed = positions.copy()
    changed[20:] += 1.0
    after = on_stamps(Predictions(changed), stamps, slow, wanted, quick).positions
    same = wanted < stamps[20]
    np.testing.assert_array_equal(before[same], after[same])
    assert (before[~same] != after[~same]).all()


def test_the_horizons_of_another_scale_reach_as_far_in_seconds(slow_and_quick):
    slow, quick = slow_and_quick
    assert slow.horizons[0] == 0
    assert slow.horizons[-1] * slow.period_s >= quick.horizons[-1] * quick.period_s
    assert slow.dataset.window == 20
    assert build_dataset(slow.recordings, slow.settings).rate_hz == 1.25
