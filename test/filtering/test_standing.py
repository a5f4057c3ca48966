# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""While the vehicle stands the clock of the spectral filter does, and its estimate is held."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from filter_runs import feed, numbers
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tracker import Tracker
from two_manifold_ros.ticks.novelty import UNFAMILIAR
from two_manifold_ros.ticks.rest import RestRule

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.model import Model

TICKS = 5
DRIVEN = 120


@pytest.fixture(scope='module')
def standing_model(spectral_model: Model) -> Model:
    """Return a model that takes for rest what no slot car does while it drives."""
    return replace(spectral_model, rest=RestRule(TICKS, 1e-3))


def at_rest(model: Model, ticks: int, noise: float = 1e-5) -> np.ndarray:
    rng = np.random.default_rng(ticks)
    channels = model.channels
    return channels.mean + noise * channels.scale * rng.normal(size=(ticks, len(channels.mean)))


def with_a_stop(model: Model, stream: Stream, ticks: int, noise: float = 1e-5) -> Stream:
    """Let the vehicle stand for some ticks after it has driven."""
    period = model.period_ns
    begin = stream[DRIVEN - 1][0]
    stop = at_rest(model, ticks, noise)
    return [
        *stream[:DRIVEN],
        *((begin + (1 + tick) * period, sample) for tick, sample in enumerate(stop)),
        *((stamp + ticks * period, sample) for stamp, sample in stream[DRIVEN:]),
    ]


def test_how_long_it_stood_makes_no_difference(standing_model: Model, stream: Stream) -> None:
    values = np.array([sample for _, sample in stream])
    after = []
    for ticks in (TICKS + 1, 300):
        tracker = Tracker(standing_model)
        # The first ticks of a stop are no rest yet.
        stop = np.tile(at_rest(standing_model, 1), (ticks, 1))
        steps = [tracker.update(each) for each in np.concatenate([values[:DRIVEN], stop])]
        assert [step.standing for step in steps] == [False] * (DRIVEN + TICKS - 1) + [True] * (
            ticks - TICKS + 1
        )
        tracker.update(values[DRIVEN])
        after.append([tracker.belief.state.tobytes(), *(x.tobytes() for x in tracker.read())])
    assert after[0] == after[1]


def test_a_model_without_a_rule_never_stands(spectral_model: Model, stream: Stream) -> None:
    tracker = Tracker(replace(spectral_model, rest=None))
    for _, sample in stream[:DRIVEN]:
        tracker.update(sample)
    stop = [tracker.update(each) for each in at_rest(spectral_model, 20)]
    assert not any(step.standing for step in stop)
    assert tracker.window.count == DRIVEN + 20


def test_the_estimate_is_held_and_told(standing_model: Model, stream: Stream) -> None:
    live = Filter(standing_model)
    said = feed(live, with_a_stop(standing_model, stream, 100))
    ticks = [each for each in said if each.tick >= DRIVEN + TICKS]
    standing = ticks[: 100 - TICKS - 1]
    first = standing[0]
    for each in standing:
        np.testing.assert_array_equal(each.positions, first.positions)
        np.testing.assert_array_equal(each.covariances, first.covariances)
        assert not each.velocity.any()
        assert each.status == first.status
    assert standing[-1].tick - first.tick == len(standing) - 1
    assert np.linalg.norm(ticks[100].velocity) > 0.0
    held = numbers(first)[2]
    assert (np.linalg.eigvalsh(held) > 0.0).all()


def test_ticks_at_rest_are_neither_rejected_nor_restarts(
    standing_model: Model, stream: Stream
) -> None:
    tracker = Tracker(standing_model)
    live = Filter(standing_model, tick_filter=tracker)
    feed(live, stream[:DRIVEN])
    rest = with_a_stop(standing_model, stream, 40)[DRIVEN : DRIVEN + 40]
    feed(live, rest[:TICKS])
    # As if the last tick of driving had fitted nothing.
    tracker._driven = replace(tracker._driven, accepted=False, restarted=True)
    before = live.counters.copy()
    said = feed(live, rest[TICKS + 1 :])
    assert len(said) == live.counters['ticks'] - before['ticks'] > 30
    assert live.counters['rejected_observations'] == before['rejected_observations']
    assert live.counters['restarts'] == before['restarts']


def test_a_sensor_that_froze_does_not_pass_for_a_vehicle_at_rest(
    standing_model: Model, stream: Stream
) -> None:
    tracker = Tracker(standing_model)
    for _, sample in stream[:DRIVEN]:
        tracker.update(sample)
    frozen = standing_model.familiarity.still + standing_model.window
    steps = [tracker.update(stream[DRIVEN][1]) for _ in range(frozen + 3)]
    assert steps[TICKS + 1].standing
    assert steps[TICKS + 1].familiarity < UNFAMILIAR
    assert steps[-1].standing
    assert steps[-1].familiarity > UNFAMILIAR
    # As soon as it works again nothing is held against it.
    healthy = [tracker.update(each) for each in at_rest(standing_model, 9)]
    assert healthy[-1].standing
    assert healthy[-1].familiarity < UNFAMILIAR


def test_over_a_gap_who_stood_is_taken_for_one_who_still_does(
    standing_model: Model, stream: Stream
) -> None:
    tracker = Tracker(standing_model)
    for _, sample in stream[:DRIVEN]:
        tracker.update(sample)
    rest = at_rest(standing_model, 20)
    for each in rest[:10]:
        tracker.update(each)
    state, read = tracker.belief.state.copy(), tracker.read()
    tracker.coast(7)
    assert not tracker.window.full
    np.testing.assert_array_equal(tracker.belief.state, state)
    assert tracker.update(rest[10]).standing
    np.testing.assert_array_equal(tracker.read()[0], read[0])
    assert not tracker.update(stream[DRIVEN][1]).standing
    assert tracker.window.count == 1


def test_a_reset_forgets_that_it_stood(standing_model: Model, stream: Stream) -> None:
    tracker = Tracker(standing_model)
    values = np.concatenate(
        [[sample for _, sample in stream[:DRIVEN]], at_rest(standing_model, 9)]
    )
    for each in values:
        tracker.update(each)
    tracker.start()
    assert np.linalg.norm(tracker.read()[0][-1]) > 0.0
    assert not any(tracker.update(each).standing for each in values[-TICKS + 1 :])
    tracker.start()
    fresh = Tracker(standing_model)
    for each in values[:40]:
        assert tracker.update(each) == fresh.update(each) or not tracker.window.full
        np.testing.assert_array_equal(tracker.belief.state, fresh.belief.state)
    np.testing.assert_array_equal(tracker.read()[0], fresh.read()[0])
