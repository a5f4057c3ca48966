# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train and test splits, and sanity checks."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from other_recordings import with_positions, without_imu
import pytest

from two_manifold_ros.comparison.protocol import (
    check_places,
    cut_tests,
    Fitted,
    held_out_error,
    plan_bags,
    plan_share,
    plan_slot_car,
    Predictions,
    TrainSplit,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Floats

Drive: TypeAlias = Callable[..., Recording]


SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def train(drive: Drive) -> TrainSplit:
    """Return a train of 30 s."""
    learned = drive(30.0)
    return TrainSplit((learned,), build_dataset([learned], SETTINGS), SETTINGS)


def test_a_missing_prediction_counts_with_the_spread_and_an_unknown_truth_does_not(train):
    (segment,) = train.dataset.segments
    spread_m = float(np.sqrt(np.nanvar(train.positions, axis=0).sum()))

    def error_m(wrong: slice, away_m: float, unknown: slice) -> float:
        def predict(_: Segment) -> Floats:
            found = train.targets_of(segment)
            found[wrong, :, 0] += away_m
            return found

        places = segment.positions.copy()
        places[unknown] = np.nan
        seen = replace(segment, positions=places)
        fitted = Fitted(lambda each: Predictions(predict(each)), {})
        return held_out_error(fitted, [seen], train)

    everywhere, none = slice(None), slice(0)
    assert error_m(everywhere, 0.3, none) == pytest.approx(0.3)
    assert error_m(everywhere, np.nan, none) == pytest.approx(spread_m)
    # The first window does not count, nor does where the truth is unknown.
    assert error_m(slice(20), 9.0, none) == 0.0
    assert error_m(slice(100, 120), np.nan, slice(90, 150)) == 0.0
    assert error_m(everywhere, 0.3, everywhere) == spread_m


def test_a_gap_makes_two_segments_and_positions_reach_across_it(train, drive):
    first, second = cut_tests(without_imu(drive(20.0), 8.0, 9.0), train)
    assert (len(first.segment), len(second.segment)) == (79, 109)
    assert not second.scored[:19].any()
    assert second.scored[19:].all()
    # The camera saw what the IMU missed.
    assert np.isfinite(first.truth[-1]).all()


@pytest.fixture(scope='session')
def slot_car() -> Recording:
    """Return 310 s at 10 Hz."""
    return run_to_recording(simulate(SlotCarSettings(seed=3, rate_hz=10.0), samples=3100))


def test_the_last_share_is_followed(drive):
    plan = plan_share(drive(48.0), SETTINGS, 0.25)
    (learned,) = plan.train.recordings
    (test,) = plan.tests
    whole_ns = 48.0e9 - 1e7
    cut = drive(48.0).imu.stamps[0] + round(0.75 * whole_ns)
    assert learned.imu.stamps[-1] < cut <= test.segment.stamps[0] - 100_000_000
    assert learned.positions.stamps[-1] < cut
    assert len(test.segment) == round(0.25 * 480) - 1
    assert plan.protocol == 'share'


@pytest.mark.parametrize(
    ('share', 'end_s', 'words'),
    [
        *((share, 48.0, 'between 0 and 1') for share in (0.0, 1.0, -0.1, float('nan'))),
        (0.03, 48.0, r'no stretch longer than a window of 2\.0 s'),
        (0.95, 48.0, 'training needs more than two windows'),
        (0.25, 0.01, 'no two IMU samples'),
    ],
)
def test_no_share_or_too_short(share, end_s, words, drive):
    with pytest.raises(InputError, match=words):
        plan_share(drive(48.0).between(0, end_s), SETTINGS, share)


def test_bags_are_followed_one_by_one(drive):
    lengths_s = {'a': 20.0, 'b': 24.0, 'c': 16.0, 'd': 12.0}
    drives = [replace(drive(seconds), name=name) for name, seconds in lengths_s.items()]
    learned, followed = drives[:2], drives[2:]
    plan = plan_bags(learned, followed, SETTINGS)
    assert [each.name for each in plan.train.recordings] == ['a', 'b']
    assert [(test.recording, len(test.segment)) for test in plan.tests] == [('c', 159), ('d', 119)]
    assert plan.protocol == 'bags'
    with pytest.raises(InputError, match='a: learned from and followed'):
        plan_bags(learned, learned[:1], SETTINGS)


@pytest.mark.parametrize(
    ('move', 'known'),
    [
        (lambda places: places, True),
        (lambda places: places + np.array([0.12, 0.0]), True),
        (lambda places: places + np.array([0.5, 0.0]), False),
        (lambda places: 1.3 * places, False),
        (lambda places: places[:, ::-1], False),
        # One in five positions may be elsewhere, one in three may not.
        (lambda places: places + 9.0 * first(places, 0.2), True),
        (lambda places: places + 9.0 * first(places, 0.35), False),
    ],
)
def test_another_route_is_reported(move, known, drive):
    """The positions of the ellipse have a spread of 1.58 m."""
    followed = drive(24.0)
    moved = with_positions(followed, positions=move(followed.positions.positions))
    notes = list(check_places(plan_bags([drive(60.0)], [replace(moved, name='moved')], SETTINGS)))
    assert len(notes) == (not known)
    words = 'of the positions to follow are more than 0.16 m from all that are learned from, as on'
    assert all(words in note for note in notes)


def first(places: Floats, share: float) -> Floats:
    """Return 1 for the rows in the first share, else 0, shape (n, 1)."""
    return (np.arange(len(places)) < share * len(places)).astype(np.float64)[:, None]


def test_the_slot_car_is_cut_as_in_the_paper(slot_car):
    plan = plan_slot_car(slot_car)
    train, (test,) = plan.train, plan.tests
    assert plan.protocol == 'slot-car'
    assert train.dataset.period_ns == 100_000_000
    assert sum(map(len, train.dataset.segments)) == 1_999  # between 2,000 samples
    assert len(test.segment) == 499
    assert test.segment.stamps[0] - slot_car.imu.stamps[0] == 250_100_000_000
    assert train.horizons == tuple(range(101))
    settings = train.settings
    assert (settings.window, settings.states, settings.neighbours) == (150, 20, 50)
    # Filtered: 100 ticks, 101, ... 350, and each predicts 1 to 100 ticks further.
    assert test.scored.sum() == 251
    assert np.flatnonzero(test.scored)[[0, -1]].tolist() == [99, 349]
    assert np.isfinite(test.truth[test.scored]).all()


@pytest.mark.parametrize(('start_s', 'end_s'), [(252.0, 290.0), (249.0, 320.0), (290.0, 320.0)])
def test_a_slot_car_with_a_gap_or_too_short(start_s, end_s, slot_car):
    with pytest.raises(InputError, match='needs 300 s, 45 s without a gap among the last 50 s'):
        plan_slot_car(without_imu(slot_car, start_s, end_s))
