# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter on a frozen TPSR."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

from filter_runs import bits, feed, shifted
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.step import REJECTED_BEFORE_RESTART
from two_manifold_ros.filtering.tpsr_tracker import TpsrTracker
from two_manifold_ros.tpsr.belief import TpsrBelief

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.tpsr_model import TpsrModel
    from two_manifold_ros.recordings.recording import Recording


@pytest.fixture(scope='session')
def contrary_tpsr(tpsr_model: TpsrModel) -> TpsrModel:
    """Return a TPSR to which every observation is less likely than nothing."""
    tpsr = replace(tpsr_model.tpsr, operators=-tpsr_model.tpsr.operators)
    return replace(tpsr_model, tpsr=tpsr)


def test_it_knows_where_the_car_is(
    tpsr_model: TpsrModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    scores = evaluate(tpsr_model, [slot_car_laps[1]]).scores
    for score in scores:
        assert score.model.rmse_m < 0.6 * score.mean.rmse_m
        assert 0.85 < score.model.coverage95 <= 1.0


def test_the_same_samples_give_the_same_bits_at_any_time(
    tpsr_model: TpsrModel, stream: Stream
) -> None:
    live = Filter(tpsr_model)
    live.warm_up()
    once = bits(feed(live, stream))
    assert once == bits(feed(Filter(tpsr_model), shifted(stream, 7_777_777_777)))


def test_every_number_by_the_book(tpsr_model: TpsrModel, stream: Stream) -> None:
    tracker, belief = TpsrTracker(tpsr_model), TpsrBelief(tpsr_model.tpsr)
    assert tracker.places() is None
    for _, sample in stream[:50]:
        step = tracker.update(sample)
        observation = tpsr_model.channels.standardise(sample[None])
        features = tpsr_model.observation_features.transform(observation)[0]
        assert step.evidence == pytest.approx(belief.update(features), abs=1e-9)
    means, covariances = tracker.read()
    wanted = tpsr_model.coefficients @ np.append(belief.state, 1.0)
    np.testing.assert_allclose(means, wanted, atol=1e-9)
    np.testing.assert_array_equal(covariances, tpsr_model.covariances)


def test_it_is_less_sure_until_it_has_seen_a_window(tpsr_model: TpsrModel, stream: Stream) -> None:
    tracker = TpsrTracker(tpsr_model)
    sizes = [np.trace(tracker.read()[1][0])]
    for _, sample in stream[:30]:
        tracker.update(sample)
        sizes.append(np.trace(tracker.read()[1][0]))
    known = tpsr_model.track[np.isfinite(tpsr_model.track).all(axis=1)]
    spread = ((known - tpsr_model.mean_position) ** 2).sum(axis=1).mean()
    own = np.trace(tpsr_model.covariances[0])
    assert sizes[0] == pytest.approx(own + spread)
    assert (np.diff(sizes[:21]) < 0.0).all()
    assert sizes[20:] == pytest.approx([own] * 11)
    # What it passes over tells it nothing, and ages what it knew.
    tracker.update(np.full(6, 1e200))
    assert np.trace(tracker.read()[1][0]) == pytest.approx(own + spread / 20)
    state = tracker.belief.state.copy()
    tracker.coast(4)
    covariances = tracker.read()[1]
    assert np.trace(covariances[0]) == pytest.approx(own + spread / 4)
    velocity = np.trace(tpsr_model.covariances[-1])
    assert np.trace(covariances[-1]) == pytest.approx(velocity * (1.0 + spread / own / 4))
    assert tracker.window.count == 0
    alone = TpsrBelief(tpsr_model.tpsr)
    alone.state = state
    alone.skip(4)
    np.testing.assert_array_equal(tracker.belief.state, alone.state)


def test_observations_that_contradict_it_start_it_anew(
    contrary_tpsr: TpsrModel, stream: Stream
) -> None:
    live = Filter(contrary_tpsr)
    found = feed(live, stream[: 1 + 3 * REJECTED_BEFORE_RESTART])
    assert live.counters['restarts'] == 3
    assert live.counters['rejected_observations'] == len(found) == 30
    assert {each.status for each in found[20:]} == {Status.LOST}
    assert all(each.evidence < 0.0 for each in found)
    # It knows nothing, and says so.
    assert np.trace(found[-1].covariances[0]) > np.trace(contrary_tpsr.covariances[0]) + 1.0


def test_a_gap_and_a_start_begin_to_count_anew(
    contrary_tpsr: TpsrModel, tpsr_model: TpsrModel, stream: Stream
) -> None:
    contrary = TpsrTracker(contrary_tpsr)
    for gap in range(3):
        contrary.coast(gap)
        steps = [contrary.update(sample) for _, sample in stream[: REJECTED_BEFORE_RESTART - 1]]
        assert not any(step.accepted or step.restarted for step in steps)
    # Standing still is forgotten as well.
    stood, fresh = TpsrTracker(tpsr_model), TpsrTracker(tpsr_model)
    for _ in range(50):
        stood.update(stream[0][1])
    stood.start()
    for tracker in (stood, fresh):
        found = [tracker.update(stream[0][1]).familiarity for _ in range(30)]
        assert np.isfinite(found[19:]).all()
    # Field by field: from Python 3.13 on a dataclass with NaN in it equals no other.
    found, wanted = (astuple(tracker.update(stream[0][1])) for tracker in (stood, fresh))
    np.testing.assert_equal(found, wanted)


def test_what_has_no_features_is_passed_over(tpsr_model: TpsrModel, stream: Stream) -> None:
    tracker, alone = TpsrTracker(tpsr_model), TpsrTracker(tpsr_model)
    for _, sample in stream[:30]:
        tracker.update(sample)
        alone.update(sample)
    step = tracker.update(np.full(6, 1e200))
    alone.belief.skip(1)
    assert not step.accepted
    assert step.familiarity == np.inf
    np.testing.assert_array_equal(tracker.belief.state, alone.belief.state)
    for _, sample in stream[30:60]:
        step = tracker.update(sample)
    assert step.accepted
    assert step.familiarity < 2.0


@pytest.mark.parametrize('fault', ['reversed', 'frozen'])
def test_faults_are_unfamiliar(fault: str, tpsr_model: TpsrModel, stream: Stream) -> None:
    live = Filter(tpsr_model)
    familiar = feed(live, stream[:60])
    assert familiar[-1].status is Status.TRACKING
    assert np.median([each.familiarity for each in familiar[19:]]) == pytest.approx(1.0, abs=0.4)
    assert np.isnan(familiar[18].familiarity)
    spoil = {
        'reversed': lambda sample: sample * [1, -1, 1, 1, 1, -1],
        'frozen': lambda _: stream[59][1],
    }[fault]
    spoilt = feed(live, [(stamp, spoil(sample)) for stamp, sample in stream[60:120]])
    assert spoilt[-1].status in {Status.LOST, Status.REFUSED}
    live.reset('a test')
    assert bits(feed(live, stream[120:180])) == bits(feed(Filter(tpsr_model), stream[120:180]))
