# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stretches of the drives are few however long these are, and visit every place."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from two_manifold_ros.training.driving_clock import choose_stretches, MOST_TICKS, Stretch
from two_manifold_ros.training.route_training import states_at_places

if TYPE_CHECKING:
    from two_manifold_ros.route.merging import Places


def places_of(lengths: list[int], lap: int) -> Places:
    """Return places that are visited one a tick, so many a lap, over all segments."""
    times = np.concatenate([np.arange(each) for each in lengths]).astype(float)
    angles = 2.0 * np.pi * np.arange(lap) / lap

    class Circle(SimpleNamespace):
        def __len__(self) -> int:
            return lap

    return Circle(
        segments=np.repeat(np.arange(len(lengths)), lengths),
        times=times,
        visited=np.arange(len(times)) % lap,
        positions=np.stack([np.cos(angles), np.sin(angles)], axis=1),
    )


@given(st.lists(st.integers(0, 4000), min_size=1, max_size=6), st.integers(10, 700))
def test_they_are_in_order_within_the_drives_and_not_too_long(
    extra: list[int], window: int
) -> None:
    lengths = [2 * window + 1 + each for each in extra]
    found = choose_stretches(lengths, places_of(lengths, 500), window)
    most = max(MOST_TICKS, 6 * window)
    assert 0 < sum(end - begin for _, begin, end in found) <= most
    assert found == sorted(found)
    for one, other in pairwise(found):
        assert one.segment < other.segment or one.end < other.begin
    for segment, begin, end in found:
        assert 0 <= begin < end <= lengths[segment]
        assert end - begin > 2 * window
    if sum(lengths) <= most:
        assert found == [Stretch(index, 0, length) for index, length in enumerate(lengths)]


def test_every_place_is_visited_where_they_suffice_for_that() -> None:
    lengths, window = [20_000, 30_000], 20
    places = places_of(lengths, 1300)
    seen = set()
    for segment, begin, end in choose_stretches(lengths, places, window):
        inside = (places.segments == segment) & (places.times >= begin + window)
        seen |= set(places.visited[inside & (places.times < end - window)].tolist())
    assert len(seen) == 1300


def test_states_are_means_over_visits_and_else_those_of_the_nearest_place() -> None:
    lengths, lap = [50, 60], 20
    places = places_of(lengths, lap)
    stretches = [Stretch(0, 0, 50), Stretch(1, 10, 40)]
    ticks = np.array([3, 4, 23, 52])
    states = np.column_stack([np.ones(4), [1.0, 2.0, 5.0, 7.0]])
    found = states_at_places(places, stretches, ticks, states)
    assert found.shape == (lap, 2)
    assert (found[:, 0] == 1.0).all()
    # Tick 3 and tick 23 are the same place; 52 is tick 12 of the second segment.
    assert found[3, 1] == 3.0
    assert found[4, 1] == 2.0
    assert found[(50 + 12) % lap, 1] == 7.0
    assert found[6, 1] == 2.0
    assert found[0, 1] in {3.0, 7.0}
