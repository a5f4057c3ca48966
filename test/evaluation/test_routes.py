# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which known route a recording is of, and the scores of a model of several."""

from dataclasses import replace
import math

import numpy as np
from other_recordings import with_positions
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import (
    are_passing,
    ELSEWHERE,
    evaluate,
    recordings_by_route,
    run_filter,
    score_naming,
    UNUSABLE,
)
from two_manifold_ros.model.atlas import atlas_of


def test_recordings_are_sorted_by_their_positions(kart_atlas, kart_drives):
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


def test_a_route_and_its_reverse_are_told_apart_by_the_direction(kart_atlas, kart_drives):
    forward = replace(kart_atlas.routes['hall'], frame_id='')
    both = atlas_of({'there': forward, 'back': replace(forward, track=forward.track[::-1])})
    drive = with_positions(kart_drives['hall'][1], frame_id='')
    assert list(recordings_by_route(both, [drive])) == ['there']
    turned = with_positions(drive, positions=drive.positions.positions[::-1])
    assert list(recordings_by_route(both, [turned])) == ['back']


def test_a_recording_of_no_known_frame_or_road_is_refused(kart_atlas, kart_drives):
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
    assert ours.naming.wrong_tracking == 0.0
    published, alone = ours.scores[0].model, own.scores[0].model
    assert published.rmse_m < 1.1 * alone.rmse_m
    assert published.published_share > 0.9 * alone.published_share
    assert ours.to_json()['naming']['ticks'] == ours.naming.ticks
    assert own.naming is None


def test_the_naming_counts_late_ticks_alone():
    right = np.array([False, True, True, False, True])
    late = np.array([False, True, True, True, True])
    published = np.array([True, True, False, True, False])
    tracking = np.array([True, True, False, False, False])
    naming = score_naming(right, late, published, tracking)
    assert naming.ticks == 4
    assert naming.right == 0.75
    assert naming.wrong_published == 0.5
    assert naming.wrong_tracking == 0.0
    nothing = score_naming(right, late, published & ~late, tracking & ~late)
    assert math.isnan(nothing.wrong_published)
    assert nothing.to_json()['wrong_published'] is None


def test_lines_pass_where_their_drives_went(forked_model, forked_drives):
    for own, other in (('left', 'right'), ('right', 'left')):
        places = forked_drives[own].positions.positions[10:-10]
        names = [own] * len(places)
        passing, known = are_passing(forked_model, names, places)
        assert known.all()
        assert passing.mean() > 0.99
        # Of the other line only the trunk.
        far = np.abs(places[:, 1]) > 20.0
        assert not are_passing(forked_model, [other] * len(places), places)[0][far].any()
    unknown = np.full((2, 2), np.nan)
    passing, known = are_passing(forked_model, ['left', ''], unknown)
    assert not passing.any()
    assert not known.any()


@pytest.mark.slow
def test_a_bag_too_short_for_an_estimate_counts_no_ticks(
    kart_atlas, kart_drives, forked_model, forked_drives
):
    for model, route, drive in (
        (kart_atlas, 'hall', kart_drives['hall'][1]),
        (forked_model, '', forked_drives['left']),
    ):
        imu, some = drive.imu, drive.between(None, 40.0)
        begun = replace(drive, imu=replace(imu, stamps=imu.stamps[:99], samples=imu.samples[:99]))
        alone = evaluate(model, [some], lambda *_: None, route).naming
        assert alone.ticks > 0
        assert evaluate(model, [some, begun], lambda *_: None, route).naming == alone


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
    assert wrong.counters[ELSEWHERE] == wrong.counters[UNUSABLE] == of_ring.sum()
    # What is published of another route counts as published.
    np.testing.assert_array_equal(wrong.published, right.published)


@pytest.mark.slow
def test_a_position_on_another_route_counts_where_both_pass(kart_atlas, kart_drives):
    hall, drive = replace(kart_atlas.routes['hall'], frame_id='map'), kart_drives['hall'][1]
    both = atlas_of({'there': hall, 'back': replace(hall, track=hall.track[::-1])})
    one, other = (run_filter(both, drive, lambda *_: None, at) for at in ('there', 'back'))
    published = one.published
    assert published.mean() > 0.8
    np.testing.assert_array_equal(one.positions[published], other.positions[published])
    np.testing.assert_array_equal(one.covariances[published], other.covariances[published])
