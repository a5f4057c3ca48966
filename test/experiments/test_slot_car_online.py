# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment of the slot car, small, and on a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('hmmlearn')
pytest.importorskip('matplotlib')

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments import slot_car_online
from two_manifold_ros.experiments.slot_car_online import Course, make_course

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim
    from two_manifold_ros.recordings.recording import Recording


@pytest.fixture
def told() -> list[float]:
    return []


def _run(folder: Path, told: list[float], *recordings: Recording) -> list[Claim]:
    def progress(_: str, fraction: float) -> None:
        told.append(fraction)

    return slot_car_online.run(folder, progress, quick=True, recordings=recordings)


def test_the_small_experiment_holds_on_the_slot_car_and_on_a_recording(
    tmp_path: Path, told: list[float], drive: Callable[..., Recording]
) -> None:
    claims = _run(tmp_path, told, drive())
    assert [claim.what for claim in claims if not claim.passed] == []
    assert [claim.what.split(':')[0] for claim in claims] == 4 * ['slot car with seed 0'] + 4 * [
        'ellipse'
    ]
    assert (tmp_path / 'slot-car-online.png').read_bytes()[:4] == b'\x89PNG'
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_claims_fail_where_the_online_curve_is_above() -> None:
    course = Course('a', np.zeros((1, 2)), np.zeros((400, 2)), 10.0, 2)
    one = np.ones(2)

    def failed(online: list[float]) -> list[int]:
        curves = {'mean': 1.2 * one, 'hmm': 1.1 * one, 'hse': one, 'online': np.array(online)}
        claims = slot_car_online.claims_of(slot_car_online.Outcome(course, curves, {}), 1.05)
        return [index for index, claim in enumerate(claims) if not claim.passed]

    assert failed([1.04, 1.04]) == []
    assert failed([0.9, 1.06]) == [0]
    assert failed([1.06, 1.06]) == [0, 1]
    assert failed([1.0, 1.3]) == [0, 1, 2]
    assert failed([1.3, 1.3]) == [0, 1, 2, 3]
    assert failed([np.nan, 1.0]) == [0, 1, 2, 3]


def test_a_course_is_the_longest_stretch_in_two_parts(drive: Callable[..., Recording]) -> None:
    whole = drive(seconds=60.0)
    holed = whole.imu.select(abs(whole.imu.stamps - whole.imu.stamps[0] - 20_000_000_000) > 5e8)
    course = make_course(type(whole)('some/bag', holed), 0.7)
    assert course.name == 'bag'
    assert course.rate_hz == 20.0
    assert len(course.training) + len(course.test) == pytest.approx(20 * 39.5, abs=2)
    assert len(course.training) == pytest.approx(0.7 * 20 * 39.5, abs=2)
    # Two of the channels of the ellipse are noise about a constant, but none is constant.
    np.testing.assert_allclose(course.training.mean(axis=0), np.zeros(6), atol=1e-12)
    np.testing.assert_allclose(course.training.std(axis=0), np.ones(6))
    assert course.window == len(course.training) // 10
    held = course.held_out(0.25)
    np.testing.assert_array_equal(np.vstack([held.training, held.test]), course.training)
    assert len(held.test) == pytest.approx(0.25 * len(course.training), abs=1)


def test_a_window_of_a_long_recording_lasts_as_in_the_paper(
    drive: Callable[..., Recording],
) -> None:
    course = make_course(drive(seconds=240.0), 0.7)
    assert course.window == 300


def test_too_short_a_recording_is_refused_by_name(drive: Callable[..., Recording]) -> None:
    with pytest.raises(InputError, match=r'^ellipse: the longest .* 199 ticks, but 400'):
        make_course(drive(seconds=10.0), 0.7)
    short = drive(seconds=10.0)
    nothing = short.imu.select(np.zeros(len(short.imu.stamps), dtype=bool))
    with pytest.raises(InputError, match='has 0 ticks'):
        make_course(type(short)('ellipse', nothing), 0.7)
