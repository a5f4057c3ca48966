# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An evaluation compares each prediction with the position at its own stamp, of any route."""

from collections.abc import Callable
from dataclasses import replace
import itertools
import json

import numpy as np
from other_recordings import multiplied_imu, with_imu, with_positions, without_imu
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import (
    check_fit,
    estimates_along,
    evaluate,
    Evaluation,
    fixes_along,
    recordings_by_route,
    run_filter,
    UNUSABLE,
)
from two_manifold_ros.filtering.estimate import region_of
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.tracker import RouteTracker
from two_manifold_ros.model.model import atlas_of, Model, RouteModel
from two_manifold_ros.recordings.recording import GeodeticOrigin, Recording
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.typing import Floats

SPEED = 3.0


@pytest.fixture
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[1]


@pytest.fixture(scope='session')
def evaluation(slot_car_model: RouteModel, slot_car_laps: tuple[Recording, ...]) -> Evaluation:
    return evaluate(slot_car_model, slot_car_laps[1:])


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int, Floats], None]], None]:
    """Return a function that spoils the means that a tracker reads at each tick."""
    # The limits of the ellipse are read before the first tick.
    read, ticks = RouteTracker.read, itertools.count(-1)
    monkeypatch.setattr(Filter, 'warm_up', lambda _: None)

    def spoilt_by(change: Callable[[int, Floats], None]) -> None:
        def spoilt(tracker: RouteTracker) -> tuple[Floats, Floats]:
            means, covariances = read(tracker)
            change(next(ticks), means)
            return means, covariances

        monkeypatch.setattr(RouteTracker, 'read', spoilt)

    return spoilt_by


def test_the_truth_of_a_horizon_is_where_it_is_that_many_ticks_later(slot_car_model, laps):
    """On a line at constant speed, a tick too many or too few is 0.3 m."""
    elapsed = (laps.positions.stamps - laps.imu.stamps[0]) * 1e-9
    line = np.stack([SPEED * elapsed, np.zeros(len(elapsed))], axis=1)
    found = evaluate(slot_car_model, [with_positions(laps, positions=line)])
    stamps, truth = found.runs[0].stamps, found.truths[0]
    for index, horizon in enumerate(slot_car_model.horizons):
        elapsed = (stamps - laps.imu.stamps[0]) * 1e-9 + 0.1 * horizon
        known = np.isfinite(truth[:, index, 0])
        assert np.count_nonzero(~known) == horizon
        np.testing.assert_allclose(truth[known, index, 0], SPEED * elapsed[known], atol=1e-6)
        score = found.scores[index]
        assert score.previous.rmse_m == pytest.approx(SPEED * 0.1 * horizon, abs=1e-6)
        apart = np.linalg.norm(truth[known, index] - slot_car_model.mean_position, axis=1)
        assert score.mean.rmse_m == pytest.approx(np.sqrt(np.mean(np.square(apart))))


def test_predictions_are_for_their_own_tick(slot_car_model, laps, evaluation):
    """At every horizon, the truth a tick before or after fits worse."""
    run = evaluation.runs[0]

    def error(index: int, ticks: int) -> float:
        moved = run.stamps + ticks * slot_car_model.period_ns
        apart = run.positions[:, index] - positions_at(laps.positions, moved)
        distances = np.linalg.norm(apart, axis=1)
        return float(np.sqrt(np.nanmean(np.square(distances))))

    for index, horizon in enumerate(slot_car_model.horizons):
        right = error(index, horizon)
        assert evaluation.scores[index].model.all.rmse_m == pytest.approx(right, rel=1e-12)
        assert right < 0.95 * min(error(index, horizon - 1), error(index, horizon + 1))


def test_a_cold_start_for_every_recording_and_scores_over_all(slot_car_model, laps):
    """Two recordings together: the mean of the squares, each counted by its length."""
    parts = [laps.between(0, 20), laps.between(20, 36)]
    both, alone = evaluate(slot_car_model, parts), [evaluate(slot_car_model, [p]) for p in parts]
    for part, run, own in zip(parts, both.runs, alone, strict=True):
        assert run.positions.tobytes() == own.runs[0].positions.tobytes()
        warm = slot_car_model.window * slot_car_model.period_ns
        assert run.stamps[0] == part.imu.stamps[0] + warm
    for index, each in enumerate(both.scores):
        counts = [own.scores[index].model.n for own in alone]
        squares = [np.square(own.scores[index].model.rmse_m) for own in alone]
        assert each.model.n == sum(counts)
        assert each.model.rmse_m == pytest.approx(np.sqrt(np.average(squares, weights=counts)))


def test_a_wrong_position_is_no_truth(slot_car_model, laps, evaluation):
    places = laps.positions.positions.copy()
    places[[40, 90]] += [[3.0, 0.0], [0.0, 4e4]]
    found = evaluate(slot_car_model, [with_positions(laps, positions=places)])
    assert found.left_out == found.to_json()['positions_left_out'] == 2
    for before, after in zip(evaluation.scores, found.scores, strict=True):
        assert after.model.all.rmse_m == pytest.approx(before.model.all.rmse_m, rel=0.01)
        assert after.previous.all.rmse_m == pytest.approx(before.previous.all.rmse_m, rel=0.01)


def test_the_numbers_of_the_json(evaluation, laps):
    content = evaluation.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert list(content['horizons']) == ['0', '5', '20']
    assert content['ticks'] == len(laps.imu.stamps) - 1
    assert content['ticks_after_first_window'] == content['valid_ticks'] == content['ticks'] - 19
    assert (content['withheld'], content['positions_left_out']) == ({}, 0)
    assert evaluation.describe_withheld() == ''
    assert 0.0 < content['seconds_per_tick_p50'] <= content['seconds_per_tick_p99']
    assert content['samples']['received'] == len(laps.imu.stamps)


@pytest.mark.parametrize(
    ('seconds', 'late_s', 'words'),
    [
        (1.5, 0, 'no estimate has a true position to compare with; give more than one window of'),
        (0.05, 0, 'there are no two IMU samples to filter; give a longer part'),
        (9.0, 1000, 'no estimate has a true position'),
    ],
)
def test_what_cannot_be_compared_is_refused(seconds, late_s, words, slot_car_model, laps):
    part = laps.between(0, seconds)
    late = with_positions(part, stamps=part.positions.stamps + late_s * 10**9)
    with pytest.raises(InputError, match=words) as caught:
        evaluate(slot_car_model, [late])
    assert str(caught.value).startswith(laps.name)


def test_a_model_that_was_worse_than_the_mean_publishes_nothing(each_model, laps):
    held_out = each_model.summary['validation'] | {'followed_m': 3.0, 'mean_position_m': 2.9}
    cases = [(each_model, held_out)]
    if isinstance(each_model, Model):
        # As the papers print it: of use only if that was seen.
        cases += [(replace(each_model, guarded=False), each) for each in (held_out, None)]
    part = laps.between(0, 20)
    for model, validation in cases:
        worse = replace(model, summary=model.summary | {'validation': validation})
        usual, run = (run_filter(each, part, silent) for each in (model, worse))
        assert usual.published.any()
        assert not run.published.any()
        of_use = np.array(run.causes)[usual.published]
        assert (of_use == 'not_useful').all()


def test_an_estimate_outside_the_region_of_training_is_not_published(slot_car_model, laps, spoil):
    """However small its ellipse; a linear read-out may be a little outside of the track."""
    low = region_of(slot_car_model, margin=0.5)[0]
    assert (low < np.nanmin(slot_car_model.track, axis=0) - 0.49).all()
    part = laps.between(0, 10)
    assert run_filter(slot_car_model, part, silent).published.any()
    spoil(lambda _, means: np.add(means, 100.0, out=means))
    run = run_filter(slot_car_model, part, silent)
    assert not run.published.any()
    assert 'outside' in run.causes


def test_a_drive_that_is_refused_throughout_is_scored_and_explained(slot_car_model, laps):
    """The IMU is turned over and gives its accelerations in g."""
    samples = laps.imu.samples * [-0.1, 0.1, -0.1, 1.0, -1.0, -1.0]
    found = evaluate(slot_car_model, [with_imu(laps, samples=samples)])
    assert (found.published, found.ticks) == (0, len(laps.imu.stamps) - 1 - 19)
    for each in found.scores:
        assert (each.model.n, each.model.rmse_m, each.model.published_share) == (0, None, 0.0)
        assert each.model.all.n == found.ticks - each.horizon
        assert each.model.all.rmse_m > 0.5 * each.mean.all.rmse_m
    content = found.to_json()
    assert json.dumps(content, allow_nan=False)
    assert (content['valid_ticks'], sum(content['withheld'].values())) == (0, found.ticks)
    (cause, count), *_ = found.withheld.most_common()
    words = found.describe_withheld()
    assert f'({count} of them, {count / found.ticks:.0%})' in words
    assert found.runs[0].reasons[cause] in words


def test_what_the_model_cannot_use_is_refused_and_named(slot_car_model, laps):
    thinned = laps.imu.select(np.arange(len(laps.imu.stamps)) % 2 == 0)
    channels = replace(slot_car_model.channels, names=tuple(f'pixel.{n}' for n in range(6)))
    cases = [
        (slot_car_model, replace(laps, imu=thinned), 'runs at 5.0 Hz, slower than the 10 Hz'),
        (replace(slot_car_model, channels=channels), laps, 'the model takes pixel.0 and similar'),
        (slot_car_model, laps.between(1000, None), 'has no IMU sample in the part asked for'),
    ]
    for value in (0.0, 9.81, np.nan):
        samples = laps.imu.samples * [1, 1, 1, 1, 1, 0] + [0, 0, 0, 0, 0, value]
        dead = with_imu(laps, samples=samples)
        cases.append((slot_car_model, dead, 'has no signal on angular_velocity.z'))
    for model, recording, words in cases:
        with pytest.raises(InputError, match=f'^{laps.name}: topic /imu .*{words}'):
            check_fit(model, recording)
    # Nor are positions in another frame or from another origin.
    with pytest.raises(InputError, match="in the frame 'odom', but the model gives them in 'map'"):
        check_fit(slot_car_model, with_positions(laps, frame_id='odom'))
    check_fit(slot_car_model, with_positions(laps, frame_id=''))
    check_fit(slot_car_model, replace(laps, positions=None))
    origin = GeodeticOrigin(48.0, 11.0, 0.0)
    moved = with_positions(laps, origin=origin)
    with pytest.raises(InputError, match=r'metres from 48\.0000000, 11\.0000000 deg, but the '):
        evaluate(slot_car_model, [moved])
    with pytest.raises(InputError, match='metres without a geodetic origin, but the model gives '):
        check_fit(replace(slot_car_model, origin=origin), laps)
    check_fit(replace(slot_car_model, origin=origin), moved)


def silent(what: str, share: float) -> None:
    assert what
    assert 0.0 <= share < 1.0


@pytest.mark.parametrize(('every_s', 'count'), [(0.0, 373), (10.0, 4), (1e9, 1)])
def test_positions_are_fixes_from_the_first_on_now_and_then(every_s, count, slot_car_model, laps):
    backwards = replace(laps.positions, stamps=laps.positions.stamps[::-1],
                        positions=laps.positions.positions[::-1])  # fmt: skip
    fixes = fixes_along(replace(laps, positions=backwards), every_s)
    assert len(fixes) == count
    assert np.all(np.diff([each.stamp_ns for each in fixes]) >= 1e9 * every_s * 0.99)
    assert fixes[0].stamp_ns == laps.positions.stamps[0]
    assert fixes[0].position.tolist() == laps.positions.positions[0].tolist()
    run = run_filter(slot_car_model, laps, silent, fixes_s=every_s)
    assert run.published[0]
    assert run.counters['fixes_received'] == count
    with pytest.raises(InputError, match='fixes'):
        fixes_along(replace(laps, positions=None), every_s)


def test_a_run_keeps_every_estimate_after_the_first_window(slot_car_model, laps):
    faulty = multiplied_imu(without_imu(laps.between(0, 16), 11.5, 12.5), 5.0, 11.0)
    run = run_filter(slot_car_model, faulty, silent)
    found = [each for each, _ in estimates_along(Filter(slot_car_model), faulty, silent)]
    kept = found[slot_car_model.window - 1 :]
    assert run.stamps.tolist() == [each.stamp_ns for each in kept]
    assert run.published.tolist() == [each.valid for each in kept]
    assert 10 < np.count_nonzero(~run.published) < len(kept) - 10
    for index, each in enumerate(kept):
        assert run.positions[index].tobytes() == each.positions.tobytes()
        assert run.covariances[index].tobytes() == each.covariances.tobytes()
    assert run.causes == tuple(each.cause for each in kept)
    assert [list(Status)[code] for code in run.statuses] == [each.status for each in kept]
    assert run.reasons == {each.cause: each.why for each in kept if each.cause}
    assert len(run.seconds_per_tick) == len(found)
    assert UNUSABLE not in run.counters


def test_for_a_position_that_is_none_the_mean_stands(slot_car_model, laps, spoil):
    part = laps.between(0, 6)
    sane = run_filter(slot_car_model, part, silent)

    def spoilt(tick: int, means: Floats) -> None:
        if tick == 30:
            means[0] = np.nan
        if tick in {31, 32}:
            means[1, 1] = 1e200

    spoil(spoilt)
    run = run_filter(slot_car_model, part, silent)
    assert run.counters[UNUSABLE] == 3
    row = 30 - slot_car_model.window + 1
    replaced = np.zeros(run.positions.shape[:2], dtype=bool)
    replaced[row, 0] = replaced[row + 1 : row + 3, 1] = True
    assert (run.positions[replaced] == slot_car_model.mean_position).all()
    assert np.isnan(run.covariances[replaced]).all()
    np.testing.assert_array_equal(run.positions[~replaced], sane.positions[~replaced])
    np.testing.assert_array_equal(run.covariances[~replaced], sane.covariances[~replaced])
    assert np.isfinite(run.positions).all()


def test_recordings_are_sorted_by_positions_and_direction_or_refused(kart_atlas, kart_drives):
    later = [drive for _, drive in kart_drives.values()]
    found = recordings_by_route(kart_atlas, [*later, later[0]])
    assert list(found) == ['hall', 'paddock', 'ring']
    assert [len(each) for each in found.values()] == [2, 1, 1]
    assert found['ring'][0] is kart_drives['ring'][1]
    # Without a name of the frame the places alone say it.
    unnamed = [with_positions(each, frame_id='') for each in later]
    by_places = recordings_by_route(kart_atlas, unnamed)
    assert [each.name for (each,) in by_places.values()] == [each.name for each in later]
    assert [*by_places] == [*kart_drives]
    # A route and its reverse are told apart by the direction.
    forward = replace(kart_atlas.routes['hall'], frame_id='')
    both = atlas_of({'there': forward, 'back': replace(forward, track=forward.track[::-1])})
    drive = with_positions(kart_drives['hall'][1], frame_id='')
    assert list(recordings_by_route(both, [drive])) == ['there']
    turned = with_positions(drive, positions=drive.positions.positions[::-1])
    assert list(recordings_by_route(both, [turned])) == ['back']
    # One of no known frame or road is refused.
    drive = kart_drives['hall'][1]
    away = with_positions(drive, frame_id='elsewhere')
    for each in (away, replace(drive, positions=None)):
        with pytest.raises(InputError, match='recordings with positions in the frames'):
            recordings_by_route(kart_atlas, [each])
    # Another road in a known frame: positions of another kind would not help.
    moved = with_positions(drive, positions=drive.positions.positions + 5000.0)
    with pytest.raises(InputError, match='replay'):
        recordings_by_route(kart_atlas, [moved])


def test_an_atlas_errs_as_the_model_of_the_route(kart_atlas, kart_drives):
    drive = kart_drives['ring'][1]
    ours = evaluate(kart_atlas, [drive], route='ring')
    own = evaluate(kart_atlas.routes['ring'], [drive])
    assert ours.naming.right > 0.95
    published, alone = ours.scores[0].model, own.scores[0].model
    assert published.rmse_m < 1.1 * alone.rmse_m
    assert published.published_share > 0.9 * alone.published_share
    assert ours.to_json()['naming']['ticks'] == ours.naming.ticks
    assert own.naming is None
    # Ticks of the first window and a half do not count, and shares are of what is named then.
    (run,), ring = ours.runs, kart_atlas.routes['ring']
    late = run.stamps >= drive.imu.first_stamp + 3 * ring.window_ns // 2
    right = np.array(run.routes) == 'ring'
    assert ours.naming.ticks == late.sum() < len(late)
    assert ours.naming.right == right[late].mean()
    assert ours.naming.wrong_published == np.mean(~right[late & run.published])


@pytest.mark.slow
def test_a_position_on_another_route_is_none_at_any_horizon(kart_atlas, kart_drives):
    hall, ring = (replace(kart_atlas.routes[name], frame_id='map') for name in ('hall', 'ring'))
    hall = replace(hall, track=hall.track + 5000.0, mean_position=hall.mean_position + 5000.0)
    both, drive = atlas_of({'hall': hall, 'ring': ring}), kart_drives['ring'][1]
    right, wrong = (run_filter(both, drive, lambda *_: None, at) for at in ('ring', 'hall'))
    of_ring = np.array(wrong.routes) == 'ring'
    assert of_ring.mean() > 0.9
    assert (wrong.positions[of_ring] == hall.mean_position).all()
    assert np.isnan(wrong.covariances[of_ring]).all()
    assert wrong.counters[UNUSABLE] == of_ring.sum()
    # What is published of another route counts as published.
    np.testing.assert_array_equal(wrong.published, right.published)
