# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter publishes on the trained route and refuses where its input cannot be that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from filter_runs import bits, feed
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.ticks.novelty import UNFAMILIAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from filter_runs import Stream

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.typing import Floats

G = 9.81
WINDOW = 20
UNTOLD = {Status.LOST, Status.REFUSED}

FAULTS: dict[str, Callable[[Floats], Floats]] = {
    'accelerations in g': lambda samples: samples / [G, G, G, 1, 1, 1],
    'no gravity': lambda samples: samples - [0, 0, G, 0, 0, 0],
    'frozen at zero': np.zeros_like,
    'frozen at the mean': lambda samples: np.tile(samples.mean(axis=0), (len(samples), 1)),
    'rates in degrees': lambda samples: samples * [1, 1, 1, 57.3, 57.3, 57.3],
    'yaw the wrong way': lambda samples: samples * [1, 1, 1, 1, 1, -1],
    'driven backwards in time': lambda samples: samples[::-1],
}


def changed(stream: Stream, fault: Callable[[Floats], Floats]) -> Stream:
    samples = fault(np.array([sample for _, sample in stream]))
    return [(stamp, sample) for (stamp, _), sample in zip(stream, samples, strict=True)]


def after_two_windows(estimates: list[Estimate]) -> list[Estimate]:
    """Return the estimates from when the mean over the contrasts is full."""
    return estimates[2 * WINDOW :]


@pytest.mark.long
@pytest.mark.parametrize('fault', FAULTS)
def test_faults_are_refused(fault: str, slot_car_model: RouteModel, stream: Stream) -> None:
    found = after_two_windows(feed(Filter(slot_car_model), changed(stream, FAULTS[fault])))
    assert found
    assert not any(each.valid for each in found)


def test_the_trained_route_is_typical(slot_car_model: RouteModel, stream: Stream) -> None:
    found = after_two_windows(feed(Filter(slot_car_model), stream))
    familiarity = np.array([each.familiarity for each in found])
    assert 0.5 < float(np.median(familiarity)) < 1.3
    assert all(each.status is Status.TRACKING for each in found)


def test_a_fault_on_the_way_is_seen_within_two_windows(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    wrong = changed(stream, FAULTS['yaw the wrong way'])
    found = feed(Filter(slot_car_model), [*stream[:100], *wrong[100:]])
    assert all(each.valid for each in found[WINDOW:100])
    first = next(i for i, each in enumerate(found) if each.status in UNTOLD)
    assert 100 <= first < 100 + 2 * WINDOW
    assert all(each.status in UNTOLD for each in found[100 + 2 * WINDOW :])


@pytest.mark.long
def test_a_driver_that_repeats_its_message_is_refused_where_training_was_parked(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    """A window that is like training in everything but that it never changes."""
    parked = replace(slot_car_model, most_still=7)
    repeated = [(stamp, parked.channels.mean) for stamp, _ in stream]
    found = feed(Filter(parked), repeated)
    refused = [each.familiarity > UNFAMILIAR for each in found]
    assert refused.index(True) == WINDOW + 7 + 1
    assert all(refused[WINDOW + 8 :])
    assert all(each.status in UNTOLD for each in found[WINDOW + 8 :])
    noise = np.random.default_rng(0).normal(scale=1e-6, size=(len(stream), 6))
    alive = [(stamp, sample + each) for (stamp, sample), each in zip(repeated, noise, strict=True)]
    # Of familiarity alone: the map of this model knows no place where the car was parked.
    assert all(each.familiarity <= UNFAMILIAR for each in feed(Filter(parked), alive)[WINDOW:])


@pytest.mark.long
def test_a_short_gap_does_not_forgive(spectral_model: Model, stream: Stream) -> None:
    """After a gap the contrasts before it still count, after a reset they do not."""
    wrong = changed(stream, FAULTS['yaw the wrong way'])
    patched, fresh = Filter(spectral_model), Filter(spectral_model)
    feed(patched, wrong[:100])
    feed(fresh, wrong[:100])
    fresh.reset('a new start')
    later = stream[105:]
    assert feed(fresh, later)[WINDOW].familiarity < feed(patched, later)[WINDOW].familiarity


@pytest.mark.long
@pytest.mark.parametrize('fault', ['yaw the wrong way', 'frozen at the mean'])
def test_a_reset_leaves_no_trace(fault: str, slot_car_model: RouteModel, stream: Stream) -> None:
    wrong = changed(stream, FAULTS[fault])
    live = Filter(slot_car_model)
    feed(live, wrong[:101])
    live.reset('a new start')
    assert bits(feed(live, wrong)) == bits(feed(Filter(slot_car_model), wrong))
