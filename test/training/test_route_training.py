# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training the belief about the place on a route."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import (
    choose_stretches,
    MOST_TICKS,
    states_at_places,
    Stretch,
    train_model,
)

if TYPE_CHECKING:
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.merging import Places

SETTINGS = TrainingSettings(window=20, horizons=(0, 5, 20))


@pytest.mark.long
def test_the_map_is_as_long_as_the_route_and_not_as_the_recording(
    slot_car_model: RouteModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    half = train_model([slot_car_laps[0].between(None, 75.0)], SETTINGS)
    assert len(slot_car_model.route.noise) <= 1.1 * len(half.route.noise)


@pytest.mark.long
def test_the_file_does_not_grow_with_the_recording(
    monkeypatch: pytest.MonkeyPatch, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """What is kept of the drives is bounded, and still shows all of the route."""
    monkeypatch.setattr('two_manifold_ros.training.train.MOST_TICKS', 400)
    model = train_model([slot_car_laps[0]], SETTINGS)
    known = np.isfinite(model.track).all(axis=1)
    assert 300 < known.sum() <= 400
    apart = model.route.targets[:, 0, None] - model.track[known]
    assert np.linalg.norm(apart, axis=2).min(axis=1).max() < 0.2


@pytest.mark.long
def test_more_laps_of_another_recording_are_merged(
    slot_car_laps: tuple[Recording, Recording], slot_car_model: RouteModel
) -> None:
    first, second = slot_car_laps
    both = train_model([first, second], SETTINGS)
    assert both.summary['segments'] == 2
    assert len(both.route.noise) <= 1.1 * len(slot_car_model.route.noise)


def test_what_was_fitted_is_remembered(slot_car_model: RouteModel) -> None:
    summary = slot_car_model.summary
    assert summary['method'] == 'route'
    assert summary['places'] == len(slot_car_model.route.noise)
    compared = summary['validation']['compared']
    best = max(compared, key=lambda row: row['log_score'])
    assert {name: best[name] for name in ('sharpness', 'persistence')}.items() <= (
        summary['chosen'].items()
    )
    assert 0.0 < best['score_m'] < 0.2
    assert len(summary['covariance_factors']) == 4


def test_too_short_for_leaving_a_part_out(slot_car_laps: tuple[Recording, Recording]) -> None:
    model = train_model([slot_car_laps[0].between(None, 9.4)], SETTINGS)
    assert model.summary['validation'] is None
    assert any('not calibrated' in note for note in model.summary['notes'])


@pytest.mark.long
@pytest.mark.parametrize('change', [{'kernel': 'gaussian'}, {'coupling': 'gram-product'}], ids=str)
def test_learner_and_coupling_make_the_state_and_nothing_else(
    change: dict[str, Any], slot_car_laps: tuple[Recording, Recording], slot_car_model: RouteModel
) -> None:
    other = train_model([slot_car_laps[0]], replace(SETTINGS, **change))
    assert other.route.states.shape == slot_car_model.route.states.shape
    assert not np.allclose(other.route.states, slot_car_model.route.states, atol=1e-3)
    np.testing.assert_array_equal(other.route.means, slot_car_model.route.means)
    np.testing.assert_array_equal(other.route.targets, slot_car_model.route.targets)


def test_the_state_turns_with_the_laps(slot_car_model: RouteModel) -> None:
    """Places beside one another have states that are near, and those across the track have not."""
    states, targets = slot_car_model.route.states[:, 1:], slot_car_model.route.targets[:, 0]
    apart = np.linalg.norm(states[:, None] - states, axis=2)
    metres = np.linalg.norm(targets[:, None] - targets, axis=2)
    beside = (metres > 0.0) & (metres < 0.15)
    assert np.median(apart[beside]) < 0.5 * np.median(apart[metres > 1.0])


def test_given_numbers_are_not_fitted(slot_car_laps: tuple[Recording, Recording]) -> None:
    settings = replace(SETTINGS, sharpness=0.3, persistence=0.7)
    model = train_model([slot_car_laps[0].between(None, 40.0)], settings)
    assert (model.route.sharpness, model.route.persistence) == (0.3, 0.7)
    assert len(model.summary['validation']['compared']) == 1


def test_a_drive_that_is_there_twice_is_refused(
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    short = slot_car_laps[0].between(None, 30.0)
    with pytest.raises(InputError, match='most windows occur twice'):
        train_model([short, short], SETTINGS)


def test_a_vehicle_that_never_moves(slot_car_laps: tuple[Recording, Recording]) -> None:
    parked = slot_car_laps[0].between(None, 60.0)
    assert parked.positions is not None
    still = replace(parked.positions, positions=np.ones_like(parked.positions.positions))
    with pytest.raises(InputError, match='never moves'):
        train_model([replace(parked, positions=still)], SETTINGS)


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
