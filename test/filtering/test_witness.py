# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was observed beside what was expected, and drives at other speeds and on other roads."""

from types import SimpleNamespace

from filter_runs import feed, Stream
import numpy as np

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.witness import MEMORIES, Witness
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.route.route import ON, ROWS, SLOW, STANDS


def believed(places: int, place: int, ratio: float, stands: float) -> SimpleNamespace:
    """Return a belief at one place, partly at the usual speed, partly at a ratio, or standing."""
    chances, ratios = np.zeros((places, ROWS)), np.ones((places, ROWS))
    chances[place, [ON, SLOW, STANDS]] = 0.5 * (1.0 - stands), 0.5 * (1.0 - stands), stands
    ratios[place, SLOW] = ratio
    return SimpleNamespace(chances=chances, ratios=ratios, support=np.array([place], np.uint32))


def retimed(stream: Stream, ratio: float) -> Stream:
    """Return a drive as if at this ratio of its speed, over the same road."""
    stamps, samples = np.array([each for each, _ in stream]), np.array([row for _, row in stream])
    rest = np.concatenate([np.median(samples[:, :3], axis=0), np.zeros(3)])
    scaled = rest + (samples - rest) * ratio ** np.array([2, 2, 2, 1, 1, 1])
    times = np.arange(0.0, len(stamps) - 1.0, ratio)
    seen = [np.interp(times, np.arange(len(stamps)), column) for column in scaled.T]
    step = int(stamps[1] - stamps[0])
    later = (stamps[0] + step * np.arange(len(times))).tolist()
    return list(zip(later, np.stack(seen, axis=1), strict=True))


def test_the_correlation_is_that_of_the_past(slot_car_model):
    """Older ticks count less, ticks at rest not at all, and before the first all was zero."""
    route, rng = slot_car_model.route, np.random.default_rng(5)
    likelihood, witness = route.likelihood, Witness(route)
    gain = likelihood.persistence / MEMORIES
    awaited, seen, weights = [], [], []
    for tick in range(200):
        place, ratio = int(rng.integers(route.places)), float(rng.uniform(0.5, 1.5))
        stands = 1.0 if 80 <= tick < 120 else 0.0
        observation = rng.normal(size=likelihood.channels)
        witness.follow(observation, believed(route.places, place, ratio, stands))
        if not stands:
            mean = likelihood.new_means[place]
            awaited.append(mean + 0.5 * (ratio - 1.0) * likelihood.new_slopes[place])
            seen.append(likelihood.new_whitening @ observation)
            weights = [(1.0 - gain) * each for each in weights] + [gain]
    shares = np.array([1.0 - sum(weights), *weights])[:, None]
    rows = [np.vstack([np.zeros_like(each[0]), *each]) for each in (awaited, seen)]
    apart = [each - (shares * each).sum(axis=0) for each in rows]
    unseen = 0.1 * likelihood.new_means.var(axis=0).sum()
    one, other, both = (
        (shares * a * b).sum() + unseen
        for a, b in ((apart[0], apart[0]), (apart[1], apart[1]), tuple(apart))
    )
    np.testing.assert_allclose(witness.correlation, both / np.sqrt(one * other), rtol=1e-9)


def test_another_speed_is_published_and_another_road_is_not(
    slot_car_model: RouteModel, stream: Stream
):
    """From the usual speed on at two thirds of it; and the same samples the other way round."""
    slower = retimed(stream[100:], 0.65)
    found = feed(Filter(slot_car_model), stream[:100] + slower)
    assert np.mean([each.valid for each in found[-len(slower) :]]) > 0.6
    back = [(stamp, row) for (stamp, _), (_, row) in zip(stream, stream[::-1], strict=True)]
    assert not any(each.valid for each in feed(Filter(slot_car_model), back))


def test_a_lane_begins_with_a_step_of_the_speed(slot_car_model):
    """Half of the speed is that of a slow lap, a third that of a lane."""
    route = slot_car_model.route
    for ratio, agrees in ((0.5, True), (0.33, False)):
        witness, told = Witness(route), []
        memory = round(MEMORIES / route.likelihood.persistence)
        for tick in range(4 * memory):
            place = tick % route.places
            at = believed(route.places, place, ratio if tick > 2 * memory else 1.0, 0.0)
            at.ratios[place, ON] = at.ratios[place, SLOW]
            mean = route.likelihood.new_means[place]
            slope = route.likelihood.new_slopes[place]
            expected = mean + (at.ratios[place, ON] - 1.0) * slope
            witness.follow(np.linalg.solve(route.likelihood.new_whitening, expected), at)
            told.append(witness.agrees)
        assert all(told) is agrees
        witness.start()
        assert witness.agrees
