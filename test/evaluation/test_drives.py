# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores of drives of many vehicles: those of `evaluate`, summed up by vehicle and day."""

from dataclasses import replace

from fleet_work import write_fleet
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.drives import fleets_of, score_drive, score_drives
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
    vehicles = [each.vehicle.split('/') for each in scores[:3]]
    assert [(yard[:5], car) for yard, car in vehicles] == [('fleet', f'car{k}') for k in (0, 1, 0)]
    assert {each.day for each in scores[:3]} == {'2026-01-01'}
    assert 'bad.mcap' in scores[3].trouble
    away = replace(slot_car_model, track=slot_car_model.track + 50.0)
    assert 'next to none of its places' in score_drive(away, ReadingOptions(), bags[0]).trouble


def test_totals_weigh_drives_by_their_ticks(scores):
    (fleet,) = fleets_of(scores).values()
    total, good = fleet.all, scores[:3]
    mean_m = sum(each.error_m for each in good) / sum(each.ticks for each in good)
    assert total.drives == 3
    assert total.mean_m == pytest.approx(mean_m)
    assert total.worst_m == max(each.mean_m for each in good)
    drives = [(name[-4:], each.drives) for name, each in fleet.vehicles.items()]
    assert drives == [('car0', 2), ('car1', 1)]
    # Without a score the first reason is given.
    with pytest.raises(InputError, match=r'bad\.mcap'):
        fleets_of(scores[3:])


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
