# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What estimates are made of: where they lie, what is familiar, and what filters share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filter_runs import bits, feed, stamps
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.ticks.novelty import UNFAMILIAR
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.recordings.recording import Recording


WINDOW = 20


def observations(model: Model, stream: Stream) -> np.ndarray:
    """Return the standardised tick means of an even stream of one sample a tick: (T, d)."""
    return model.channels.standardise(np.array([sample for _, sample in stream[:-1]]))


def squared_distances(model: Model, window: np.ndarray) -> np.ndarray:
    """Return the squared distance of a (w, d) window to every training window."""
    width = model.window
    return np.array(
        [np.square(model.series[:, s : s + width].T - window).sum() for s in model.starts]
    )


@pytest.mark.parametrize(('kind', 'columns'), [('slot_car_model', 1), ('spectral_model', 3)])
def test_positions_lie_in_the_hull_of_the_training_positions(
    kind: str, columns: int, stream: Stream, request: pytest.FixtureRequest
) -> None:
    """A pace of its own may lead a prediction out of it, but never the position now."""
    model: Model = request.getfixturevalue(kind)
    known = model.track[np.isfinite(model.track).all(axis=1)]
    hull = ConvexHull(known).equations
    generator = np.random.default_rng(0)
    noisy = [
        (stamp, sample + generator.normal(scale=model.channels.scale)) for stamp, sample in stream
    ]
    for found in (feed(Filter(model), stream), feed(Filter(model), noisy)):
        points = np.concatenate([each.positions[:columns] for each in found])
        assert (points @ hull[:, :2].T + hull[:, 2] <= 1e-9).all()


def test_horizon_0_is_where_the_car_is_at_the_stamp(
    slot_car_model: RouteModel, stream: Stream, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """A tick earlier or later fits the truth worse."""
    found = [each for each in feed(Filter(slot_car_model), stream) if each.valid]
    positions = np.array([each.positions[0] for each in found])

    def error(ticks: int) -> float:
        moved = np.array(stamps(found)) + ticks * slot_car_model.period_ns
        truth = positions_at(slot_car_laps[1].positions, moved)
        distances = np.linalg.norm(positions - truth, axis=1)
        return float(np.median(distances[np.isfinite(distances)]))

    assert error(0) < 0.1
    assert error(0) < 0.5 * min(error(-1), error(1))


def test_the_velocity_is_that_of_the_car(
    slot_car_model: RouteModel, stream: Stream, slot_car_laps: tuple[Recording, Recording]
) -> None:
    found = [each for each in feed(Filter(slot_car_model), stream) if each.valid]
    step = slot_car_model.period_ns
    after, before = (
        positions_at(slot_car_laps[1].positions, np.array(stamps(found)) + sign * step)
        for sign in (1, -1)
    )
    truth = (after - before) / (2e-9 * step)
    errors = np.linalg.norm(np.array([each.velocity for each in found]) - truth, axis=1)
    assert float(np.nanmedian(errors)) < 0.1 * float(np.nanmedian(np.linalg.norm(truth, axis=1)))


def test_familiarity_is_the_mean_contrast_of_the_last_windows(
    spectral_model: Model, stream: Stream
) -> None:
    width, anchors = spectral_model.window, spectral_model.familiarity
    seen = observations(spectral_model, stream)
    found = feed(Filter(spectral_model), stream)
    contrasts = np.full(len(found), np.nan)
    for tick in range(width - 1, len(found)):
        squared = squared_distances(spectral_model, seen[tick - width + 1 : tick + 1])
        contrasts[tick] = np.log(squared.min() / squared.mean())
    for tick in (width - 1, width, width + 57, len(found) - 1):
        last = contrasts[max(tick - width + 1, width - 1) : tick + 1]
        wanted = 2.0 ** ((last.mean() - anchors.own) / (anchors.other - anchors.own))
        np.testing.assert_allclose(found[tick].familiarity, wanted, rtol=1e-9)


@pytest.mark.long
def test_garbage_is_less_familiar_than_the_track(spectral_model: Model, stream: Stream) -> None:
    order = np.random.default_rng(0).permutation(len(stream))
    garbage = [(stamp, stream[i][1]) for (stamp, _), i in zip(stream, order, strict=True)]
    usual, strange = (
        np.array([each.familiarity for each in feed(Filter(spectral_model), each_stream)
                  if np.isfinite(each.familiarity)])
        for each_stream in (stream, garbage)
    )  # fmt: skip
    assert usual.max() < strange.min()


@pytest.mark.long
def test_the_familiarity_of_a_route_tells_of_broken_input_alone(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    found = feed(Filter(slot_car_model), stream)[WINDOW:]
    assert {each.familiarity for each in found} == {1.0}
    levels = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 8.0])
    turning = [(stamp, sample + levels) for stamp, sample in stream]
    broken = feed(Filter(slot_car_model), turning)[WINDOW:]
    assert min(each.familiarity for each in broken) > UNFAMILIAR


@pytest.mark.long
def test_samples_in_another_order_are_hardly_ever_told(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    order = np.random.default_rng(0).permutation(len(stream))
    garbage = [(stamp, stream[i][1]) for (stamp, _), i in zip(stream, order, strict=True)]
    usual, strange = (feed(Filter(slot_car_model), each)[WINDOW:] for each in (stream, garbage))
    assert np.mean([each.off_route for each in usual]) < 0.1
    assert np.mean([each.off_route for each in strange]) > 0.5
    assert np.mean([each.valid for each in strange]) < 0.2


def test_estimates_never_look_ahead(slot_car_model: RouteModel, stream: Stream) -> None:
    usual = feed(Filter(slot_car_model), stream)
    changed = [*stream[:120], *[(stamp, -sample) for stamp, sample in stream[120:]]]
    other = feed(Filter(slot_car_model), changed)
    assert bits(other[:120]) == bits(usual[:120])
    assert bits(other[120:121]) != bits(usual[120:121])


def test_estimates_do_not_change_after_they_are_given(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model)
    early = feed(live, stream[:60])
    before = bits(early)
    feed(live, stream[60:])
    assert bits(early) == before


def test_warming_up_leaves_no_trace(slot_car_model: RouteModel, stream: Stream) -> None:
    live = Filter(slot_car_model)
    live.warm_up()
    assert not live.counters
    assert live.why == 'waiting for the first IMU sample'
    assert bits(feed(live, stream)) == bits(feed(Filter(slot_car_model), stream))


def test_warming_up_in_the_middle_leaves_no_trace(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    live = Filter(slot_car_model)
    found = feed(live, stream[:100])
    live.warm_up()
    found += feed(live, stream[100:])
    assert bits(found) == bits(feed(Filter(slot_car_model), stream))


@pytest.mark.long
def test_filters_that_share_a_model_do_not_disturb_each_other(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    first, second = Filter(slot_car_model), Filter(slot_car_model)
    found, other = [], []
    for stamp, sample in stream:
        found += first.push(stamp, sample)
        other += second.push(stamp, -sample)
    assert bits(found) == bits(feed(Filter(slot_car_model), stream))
    assert bits(other) != bits(found)
