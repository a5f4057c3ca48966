# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Places that nothing was learned of are told of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.comparison.protocol import plan_bags, plan_share, plan_slot_car
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats

SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5))


def renamed(recording: Recording, move: Callable[[Floats], Floats]) -> Recording:
    """Return a recording with another name and its positions moved."""
    stream = recording.positions
    assert stream is not None
    moved = replace(stream, positions=move(stream.positions))
    return replace(recording, name='moved', positions=moved)


@pytest.mark.parametrize(
    ('move', 'known'),
    [
        (lambda places: places, True),
        (lambda places: places + np.array([0.12, 0.0]), True),
        (lambda places: places + np.array([0.5, 0.0]), False),
        (lambda places: 1.3 * places, False),
        (lambda places: places[:, ::-1], False),
        # One in five positions may be elsewhere, one in three may not.
        (lambda places: np.where(first(places, 0.2), places + 9.0, places), True),
        (lambda places: np.where(first(places, 0.35), places + 9.0, places), False),
    ],
)
def test_another_route_is_told_of(
    move: Callable[[Floats], Floats], known: bool, drive: Callable[..., Recording]
) -> None:
    """The positions of the ellipse have a spread of 1.58 m."""
    plan = plan_bags([drive(60.0)], [renamed(drive(24.0), move)], SETTINGS)
    if known:
        assert not plan.notes
    else:
        (note,) = plan.notes
        assert 'of the positions to follow are more than 0.16 m from all that' in note
        assert 'another route' in note


def first(places: Floats, share: float) -> Bools:
    """Return which rows are in the first share, shape (n, 1)."""
    rows: Bools = np.arange(len(places))[:, None] < share * len(places)
    return rows


def test_holes_in_what_is_learned_from_are_told_of(drive: Callable[..., Recording]) -> None:
    whole = drive(60.0)
    assert whole.positions is not None
    seconds = (whole.positions.stamps - whole.imu.stamps[0]) * 1e-9
    kept = (seconds < 20.0) | (seconds > 26.0)
    holed = replace(
        whole,
        positions=replace(
            whole.positions,
            stamps=whole.positions.stamps[kept],
            positions=whole.positions.positions[kept],
        ),
    )
    plan = plan_bags([holed], [renamed(drive(24.0), lambda places: places)], SETTINGS)
    (note,) = plan.notes
    assert note.startswith('ellipse: Positions cover 90% of the time of the IMU')
    # Holes where it is followed are seen in how many predictions count.
    assert not plan_bags([drive(60.0)], [replace(holed, name='other')], SETTINGS).notes


def test_the_slot_car_follows_what_it_learns(drive: Callable[..., Recording]) -> None:
    car = run_to_recording(simulate(SlotCarSettings(seed=6, rate_hz=10.0), samples=3050))
    assert not any('another route' in note for note in plan_slot_car(car).notes)
    plan = plan_bags([car.between(None, 200.0)], [drive(24.0)], SETTINGS)
    assert any('another route' in note for note in plan.notes)


def test_real_tracks(recordings_folder: Path) -> None:
    pytest.importorskip('rosbags')
    track = read_recording(recordings_folder / 'f1tenth_ipz10')
    runs = [read_recording(recordings_folder / 'f1tenth_ipz20' / f'run_{n}') for n in (1, 2, 7)]
    settings = TrainingSettings(horizons=(0, 10))

    def told(*notes: str) -> bool:
        return any('another route' in note for note in notes)

    assert not told(*plan_share(track, settings).notes)
    assert not told(*plan_bags(runs[:2], runs[2:], settings).notes)
    other = read_recording(recordings_folder / 'f1tenth_ipz8' / 'run_6')
    assert told(*plan_bags(runs[:2], [other], settings).notes)
    assert told(*plan_bags(runs[:2], [track], settings).notes)
