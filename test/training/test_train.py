# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training: what it refuses, what it says, and that everything on offer learns the track."""

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
from two_manifold_ros.evaluation.evaluate import evaluate, run_filter
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.training.route import choose_stretches, MOST_TICKS, states_at_places, Stretch
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.merging import Places

QUICK = TrainingSettings(window=20, states=40, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[0]


@pytest.fixture(scope='session')
def half(laps: Recording) -> Recording:
    """Return eight of the laps, which take half as long to learn."""
    return laps.between(None, 75.0)


def seconds(recording: Recording) -> float:
    return float(np.ptp(recording.imu.stamps)) / 1e9


def with_positions(recording: Recording, **changes: Any) -> Recording:  # noqa: ANN401 - passed on
    assert recording.positions is not None
    return replace(recording, positions=replace(recording.positions, **changes))


def refusal(recordings: list[Recording], settings: TrainingSettings = QUICK) -> str:
    with pytest.raises(InputError) as caught:
        train_model(recordings, settings)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_two_trainings_give_the_same_file(
    laps: Recording, slot_car_model: RouteModel, tmp_path: Path
) -> None:
    again = train_model([laps], TrainingSettings(window=20, horizons=(0, 5, 20)))
    save_model(slot_car_model, tmp_path / 'one')
    save_model(again, tmp_path / 'two')
    assert (tmp_path / 'one').read_bytes() == (tmp_path / 'two').read_bytes()


def test_what_the_model_says_of_its_training(slot_car_model: RouteModel, laps: Recording) -> None:
    model, summary = slot_car_model, slot_car_model.summary
    assert model.rate_hz == 10.0
    assert model.window == 20
    assert model.horizons == (0, 5, 20)
    assert model.states == summary['states'] == summary['chosen']['states']
    assert (model.imu_topic, model.position_topic) == ('/imu', '/reference')
    assert model.frame_id == 'map'
    assert summary['recordings'] == [laps.name]
    assert summary['samples']['received'] == len(laps.imu.stamps)
    assert summary['seconds'] == pytest.approx(seconds(laps), abs=0.11)
    assert summary['training_ticks'] == len(model.track) - 2 * model.window
    assert summary['singular_values'][0] == 1.0
    assert set(summary['covariance_factors']) == {
        'horizon 0', 'horizon 5', 'horizon 20', 'velocity'
    }  # fmt: skip
    np.testing.assert_allclose(model.mean_position, np.nanmean(model.track, axis=0))


@pytest.fixture(scope='module')
def unchanged(half: Recording, slot_car_laps: tuple[Recording, Recording]) -> Evaluation:
    """Return an evaluation of the spectral filter with nothing else asked for."""
    return evaluate(train_model([half], replace(QUICK, method='spectral')), [slot_car_laps[1]])


@pytest.mark.parametrize(
    'change',
    [
        {'readout': 'ridge'},
        {'observation': 'ridge'},
        pytest.param({'coupling': 'gram-product'}, marks=pytest.mark.long),
        pytest.param({'kernel': 'gaussian'}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_every_spectral_filter_is_far_ahead_of_the_mean(
    change: dict[str, Any],
    half: Recording,
    slot_car_laps: tuple[Recording, Recording],
    unchanged: Evaluation,
) -> None:
    model = train_model([half], replace(QUICK, method='spectral', **change))
    own = evaluate(model, [slot_car_laps[1]])
    assert not np.allclose(own.runs[0].positions, unchanged.runs[0].positions, atol=1e-6)
    for each in own.scores:
        assert each.model.rmse_m is not None
        assert each.mean.rmse_m is not None
        assert each.model.rmse_m < 0.3 * each.mean.rmse_m


@pytest.mark.long
def test_two_recordings_in_either_order(
    half: Recording, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """The same drive in two bags is as good as in one, whatever the order."""
    middle = 0.5 * seconds(half)
    first, second = half.between(None, middle), half.between(middle, None)
    second = replace(second, name='second half')
    for bags in ([first, second], [second, first]):
        model = train_model(bags, QUICK)
        assert model.summary['recordings'] == [bag.name for bag in bags]
        assert model.summary['segments'] == 2
        assert np.isnan(model.track).all(axis=1).sum() == 1
        now = evaluate(model, [slot_car_laps[1]]).scores[0]
        assert now.model.rmse_m is not None
        assert now.model.rmse_m < 0.3


def test_a_drive_that_is_held_out_and_trained_on_is_refused(laps: Recording) -> None:
    """A model to which everything but its own training is novel is useless."""
    part = laps.between(None, 15.0)
    message = refusal([part, replace(part, name='copy')])
    assert message.startswith('most windows occur twice with the same samples')


def test_recordings_without_what_a_training_needs_are_refused(laps: Recording) -> None:
    assert refusal([]) == 'there is no recording to train on'
    message = refusal([laps, with_positions(laps, frame_id='odom')])
    assert 'the positions are in different frames (map, odom)' in message
    origin = GeodeticOrigin(48.0, 11.0, 0.0)
    there = replace(with_positions(laps, origin=origin), name='there')
    message = refusal([laps, there])
    assert message.startswith('there: the positions on ')
    assert 'metres from 48.0000000, 11.0000000 deg' in message
    assert 'metres without a geodetic origin' in message
    assert 'there: ' in refusal(
        [with_positions(laps, origin=replace(origin, altitude_m=1)), there]
    )
    bare = replace(laps, name='bare', positions=None)
    assert refusal([laps, bare]).startswith('bare: training needs positions, but there are none')
    assert 'no IMU sample in the part asked for; check --until' in refusal([laps.between(0, 0)])


def test_a_horizon_beyond_all_positions_is_refused(laps: Recording) -> None:
    message = refusal([laps.between(None, 30.0)], replace(QUICK, horizons=(0, 5000)))
    assert message.startswith('no position is known 5000 ticks after any training tick; shorten')


def test_progress_goes_from_0_to_1_in_words(laps: Recording) -> None:
    reported: list[tuple[str, float]] = []
    train_model([laps.between(None, 30.0)], QUICK, lambda *each: reported.append(each))
    shares = [share for _, share in reported]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {stage for stage, _ in reported} == {
        'averaging samples over ticks', 'merging the passes into places', 'embedding windows',
        'following each part of the drives on the map of the others',
    }  # fmt: skip


SETTINGS = TrainingSettings(window=20, horizons=(0, 5, 20))


@pytest.mark.long
def test_the_file_does_not_grow_with_the_recording(
    monkeypatch: pytest.MonkeyPatch, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """The kept part of the drives is bounded, and still shows all of the route."""
    monkeypatch.setattr('two_manifold_ros.training.route.MOST_TICKS', 400)
    model = train_model([slot_car_laps[0]], SETTINGS)
    known = np.isfinite(model.track).all(axis=1)
    assert 300 < known.sum() <= 400
    apart = model.route.readout.targets[:, 0, None] - model.track[known]
    assert np.linalg.norm(apart, axis=2).min(axis=1).max() < 0.2


def test_without_states_the_positions_are_the_same(
    slot_car_laps: tuple[Recording, Recording], tmp_path: Path
) -> None:
    whole = train_model([slot_car_laps[0]], SETTINGS)
    without = train_model([slot_car_laps[0]], replace(SETTINGS, states=0))
    assert (whole.states, without.states) == (20, 1)
    assert without.summary['singular_values'] == []
    save_model(without, tmp_path / 'model.npz')
    mine, its = (
        run_filter(model, slot_car_laps[1], lambda *_: None)
        for model in (load_model(tmp_path / 'model.npz'), whole)
    )
    assert mine.positions.tobytes() == its.positions.tobytes()
    assert mine.withheld == its.withheld
    with pytest.raises(InputError, match='states is 0'):
        replace(SETTINGS, method='spectral', states=0)


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


def test_what_lessens_a_model_is_said_aloud(laps: Recording) -> None:
    """Dead channels, few states, and positions that say nothing of where it drove."""
    part = laps.between(None, 60.0)
    assert part.positions is not None
    samples = part.imu.samples.copy()
    samples[:, 2:5] = 0.0
    order = np.random.default_rng(0).permutation(len(part.positions.positions))
    scrambled = with_positions(part, positions=part.positions.positions[order])
    worse = replace(scrambled, imu=replace(part.imu, samples=samples), notes=('a note',))
    model = train_model([worse], replace(QUICK, dimension=10))
    notes = model.summary['notes']
    assert 'a note' in notes
    assert any('linear_acceleration.z, angular_velocity.x, angular' in note for note in notes)
    assert any('share only 11 of the 40 states' in note for note in notes)
    assert any('the filter was lost most of the time' in note for note in notes)


@pytest.mark.long
def test_the_map_is_as_long_as_the_route_and_not_as_the_recording(
    slot_car_model: RouteModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    half = train_model([slot_car_laps[0].between(None, 75.0)], SETTINGS)
    assert slot_car_model.route.places <= 1.1 * half.route.places


@pytest.mark.long
def test_more_laps_of_another_recording_are_merged(
    slot_car_laps: tuple[Recording, Recording], slot_car_model: RouteModel
) -> None:
    first, second = slot_car_laps
    both = train_model([first, second], SETTINGS)
    assert both.summary['segments'] == 2
    assert both.route.places <= 1.1 * slot_car_model.route.places


@pytest.mark.long
@pytest.mark.parametrize('change', [{'kernel': 'gaussian'}, {'coupling': 'gram-product'}], ids=str)
def test_learner_and_coupling_make_the_state_and_nothing_else(
    change: dict[str, Any], slot_car_laps: tuple[Recording, Recording], slot_car_model: RouteModel
) -> None:
    other = train_model([slot_car_laps[0]], replace(SETTINGS, **change))
    assert other.route.readout.states.shape == slot_car_model.route.readout.states.shape
    assert not np.allclose(
        other.route.readout.states, slot_car_model.route.readout.states, atol=1e-3
    )
    np.testing.assert_array_equal(
        other.route.likelihood.means, slot_car_model.route.likelihood.means
    )
    np.testing.assert_array_equal(
        other.route.readout.targets, slot_car_model.route.readout.targets
    )


def test_given_numbers_are_not_fitted(slot_car_laps: tuple[Recording, Recording]) -> None:
    settings = replace(SETTINGS, sharpness=0.3, persistence=0.7)
    model = train_model([slot_car_laps[0].between(None, 40.0)], settings)
    assert (model.route.likelihood.sharpness, model.route.likelihood.persistence) == (0.3, 0.7)
    assert len(model.summary['validation']['compared']) == 1


def test_a_drive_that_is_there_twice_is_refused(
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    short = slot_car_laps[0].between(None, 30.0)
    with pytest.raises(InputError, match='most windows occur twice'):
        train_model([short, short], SETTINGS)
