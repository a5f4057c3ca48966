# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores of drives of many vehicles: those of `evaluate`, summed up by vehicle, day and place."""

from dataclasses import replace
import json
import shutil

from fleet_work import write_fleet
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.drives import (
    DriveScore,
    Fleet,
    fleets_of,
    MOST_PLACES,
    places_of,
    score_drive,
    score_drives,
    total_of,
)
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    """Return three bags of two vehicles, and one that is damaged."""
    pytest.importorskip('rosbags')
    return write_fleet(tmp_path_factory.mktemp('fleet'), range(20, 23))


@pytest.fixture(scope='module')
def scores(slot_car_model, bags):
    return score_drives(slot_car_model, bags, ReadingOptions())


def test_drives_have_the_errors_of_evaluate(slot_car_model, bags, scores):
    for path, score in zip(bags[:3], scores, strict=False):
        found = evaluate(slot_car_model, [read_recording(path)])
        (run,), (truth,) = found.runs, found.truths
        errors = np.linalg.norm(run.positions[:, 0] - truth[:, 0], axis=1)
        known = np.isfinite(errors)
        assert score.ticks == known.sum()
        assert score.published == (known & run.published).sum()
        assert score.mean_m == pytest.approx(errors[known].mean())
        assert score.published_error_m == pytest.approx(errors[known & run.published].sum())
    assert [each.vehicle for each in scores[:3]] == ['car0', 'car1', 'car0']
    assert {each.day for each in scores[:3]} == {'2026-01-01'}
    assert 'bad.mcap' in scores[3].trouble


def test_places_hold_all_ticks_where_they_are(slot_car_model, bags, scores):
    places = places_of(slot_car_model)
    assert 20 < len(places) <= MOST_PLACES
    score = scores[0]
    assert score.places.sum(axis=0) == pytest.approx([score.ticks, score.published, score.error_m])
    found = evaluate(slot_car_model, [read_recording(bags[0])])
    truth = found.truths[0][:, 0]
    truth = truth[np.isfinite(truth).all(axis=1)]
    counts = np.zeros(len(places))
    for at in truth:
        counts[np.argmin(np.linalg.norm(places - at, axis=1))] += 1
    np.testing.assert_array_equal(score.places[:, 0], counts)


def test_totals_weigh_drives_by_their_ticks(slot_car_model, scores):
    (fleet,) = fleets_of(slot_car_model, scores).values()
    assert len(fleet.scores) == 3
    total, good = total_of(fleet.scores), scores[:3]
    assert total.mean_m == pytest.approx(
        sum(each.error_m for each in good) / sum(each.ticks for each in good)
    )
    assert total.worst_m == max(each.mean_m for each in good)
    vehicles = fleet.by('vehicle')
    assert {name: each.drives for name, each in vehicles.items()} == {'car0': 2, 'car1': 1}
    json.dumps(fleet.to_json(3), allow_nan=False)
    # Without a score the first reason is given.
    with pytest.raises(InputError, match=r'bad\.mcap'):
        fleets_of(slot_car_model, scores[3:])


def drives(means):
    return [
        DriveScore(
            f'car/{number}',
            vehicle='car',
            begins_ns=number,
            ticks=100,
            published=90,
            error_m=100.0 * mean,
            published_error_m=80.0 * mean,
            places=np.array([[50, 45, 20.0 * mean], [49, 45, 78.0 * mean], [1, 0, 2.0]]),
        )
        for number, mean in enumerate(means)
    ]


def test_a_vehicle_whose_errors_grow_is_named():
    grows = drives([1.0, 1.2, 1.1, 1.4, 1.8, 1.7, 2.1, 2.4, 2.2])
    first, last = total_of(grows[::-1], 1).grows_m
    assert (first, last) == (pytest.approx(1.1), pytest.approx(2.233, abs=0.001))
    assert total_of(drives([1.0, 2.0, 3.0, 4.0, 5.0]), 1).grows_m is None
    # Of several vehicles together that means nothing.
    assert total_of(grows).grows_m is None
    # Among a thousand vehicles one in hundred is no sign.
    assert total_of(grows, 100_000).grows_m is None


def test_the_weakest_places_are_those_driven_as_others_are_and_those_of_one_bend_are_one():
    fleet = Fleet(tuple(drives([1.0, 2.0])), np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    first, second = fleet.weakest(5)
    assert (first['x'], second['x']) == (1.0, 0.0)
    assert first['mean_m'] == pytest.approx(78.0 * 3.0 / 98.0)
    assert first['published_share'] == pytest.approx(90.0 / 98.0)
    places = np.column_stack([np.arange(20.0), np.zeros(20)])
    errors = np.where(np.arange(20) == 5, 9.0, np.where(np.arange(20) == 6, 8.0, 1.0))
    (drive,) = drives([1.0])
    sums = np.column_stack([np.full(20, 10.0), np.full(20, 9.0), 10.0 * errors])
    fleet = Fleet((replace(drive, places=sums),), places)
    found = fleet.weakest(3)
    assert [each['mean_m'] for each in found] == [9.0, 1.0, 1.0]
    assert all(abs(one['x'] - 5.0) > 1.9 for one in found[1:])


def test_parts_and_lags_are_as_asked_for(slot_car_model, bags):
    whole, part = (
        score_drive(slot_car_model, ReadingOptions(), bags[0], until_s=until_s)
        for until_s in (None, 15.0)
    )
    assert 0 < part.ticks < whole.ticks
    late = score_drive(slot_car_model, ReadingOptions(), bags[0], position_lag='0.5')
    assert late.mean_m > 1.5 * whole.mean_m
    corrected = {'position_lag': [{'corrected_s': 0.5}]}
    trained = replace(slot_car_model, summary=slot_car_model.summary | corrected)
    assert score_drive(trained, ReadingOptions(), bags[0]).mean_m == late.mean_m


def test_carts_of_two_yards_with_one_name_are_two(slot_car_model, bags, tmp_path):
    paths = []
    for yard in ('north', 'south'):
        place = tmp_path / yard / 'cart'
        place.mkdir(parents=True)
        shutil.copytree(bags[0], place / 'drive')
        paths.append(str(place / 'drive'))
    found = score_drives(slot_car_model, [*paths, bags[1]], ReadingOptions())
    assert [each.vehicle for each in found] == ['north/cart', 'south/cart', 'car1']
