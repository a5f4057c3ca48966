# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The learning curve: learners that are simple enough to know what they must reach."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from other_recordings import without_positions
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation import online
from two_manifold_ros.training import train
from two_manifold_ros.training.settings import TrainingSettings

LAP_S = 8.0
SETTINGS = TrainingSettings(horizons=(0, 5))


class Parrot:
    """Says the newest position, ``off`` metres beside it, once in ``period_s`` to ``stops_s``."""

    def __init__(self, off: float = 0.0, period_s: float = 0.01, stops_s: float = 1e9) -> None:
        self.given: list[int] = []
        self.pushed: list[int] = []
        self.running = SimpleNamespace(period_ns=round(1e9 * period_s), max_gap_ns=200_000_000)
        self.filter = self
        self._off, self._stops_s = off, stops_s
        self._place = np.full(2, np.nan)
        self._due_ns = 0

    def push(self, stamp_ns: int, _: Any) -> list[Any]:  # noqa: ANN401 - a sample
        self.pushed.append(stamp_ns)
        if stamp_ns < self._due_ns or stamp_ns - self.pushed[0] > 1e9 * self._stops_s:
            return []
        self._due_ns = stamp_ns + self.running.period_ns
        place = self._place[None] + self._off
        valid = bool(np.isfinite(place).all())
        return [SimpleNamespace(stamp_ns=stamp_ns, positions=place, valid=valid)]

    def add_reference(self, stamp_ns: int, x: float, y: float) -> bool:
        self.given.append(stamp_ns)
        self._place = np.array([x, y])
        return True


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """If only the learners count, no offline model is trained."""

    def refuse(*_: object) -> None:
        raise InputError('not here')

    monkeypatch.setattr(train, 'train_model', refuse)


def rows_of(curve: online.LearningCurve, name: str) -> dict[int, Any]:
    return {row.lap: row for row in curve.rows if row.name == name}


@pytest.mark.usefixtures('no_training')
def test_laps_are_scored_one_by_one_before_their_positions_are_given(drive):
    recording = drive(40.0)
    learner = Parrot()
    curve = online.learning_curve([recording], {'parrot': learner}, SETTINGS)
    assert curve.laps
    assert curve.names == ('parrot', online.OFFLINE, online.MEAN)
    assert learner.pushed == recording.imu.stamps.tolist()
    assert learner.given == recording.positions.stamps.tolist()
    rows = rows_of(curve, 'parrot')
    assert list(rows) == [1, 2, 3, 4, 5]
    assert rows[3].seconds == pytest.approx(2 * LAP_S, abs=0.2)
    # What it says is one position of 25 in a second old, at up to 1.6 m/s.
    assert 0.0 < rows[3].rmse_m < 0.07
    assert rows[3].published == 1.0
    # Drives follow one another.
    rows = rows_of(
        online.learning_curve([drive(24.0)] * 2, {'parrot': Parrot()}, SETTINGS), 'parrot'
    )
    assert list(rows) == [1, 2, 3, 4, 5, 6]
    assert rows[4].seconds == pytest.approx(24.0, abs=0.1)
    # An end of less than half a lap is of the lap before.
    for seconds, laps in ((27.0, [1, 2, 3]), (30.0, [1, 2, 3, 4])):
        curve = online.learning_curve([drive(seconds)], {'mute': Parrot(off=math.nan)}, SETTINGS)
        assert list(rows_of(curve, 'mute')) == laps


@pytest.mark.usefixtures('no_training')
@pytest.mark.parametrize('period_s', [0.05, 1.6])
def test_an_estimate_ends_once_the_next_tick_is_overdue(drive, period_s):
    learner = Parrot(period_s=period_s, stops_s=2.5 * LAP_S)
    curve = online.learning_curve([drive(40.0)], {'stops': learner}, SETTINGS)
    rows, mean = rows_of(curve, 'stops'), rows_of(curve, online.MEAN)
    assert rows[2].published == 1.0
    # What it says of the end of a tick is one position old at most, however long it holds.
    assert rows[2].rmse_m < 0.07
    # It stops in the middle of the third lap, and what it said last holds for a tick and a gap.
    held = 0.5 + (period_s + 0.2) / LAP_S
    assert held - period_s / LAP_S - 0.02 < rows[3].published < held + 0.02
    for lap in (4, 5):
        assert (rows[lap].published, rows[lap].rmse_m) == (0.0, mean[lap].rmse_m)


@pytest.mark.usefixtures('no_training')
@pytest.mark.parametrize(('known_s', 'laps'), [(22.0, [1, 2, 3]), (18.0, [1, 2])])
def test_positions_end_where_the_imu_is_to_be_alone(drive, known_s, laps):
    recording = drive(40.0)
    learner = Parrot(off=1.0)
    curve = online.learning_curve([recording], {'parrot': learner}, SETTINGS, known_s)
    assert max(learner.given) < recording.imu.first_stamp + known_s * 1e9
    assert learner.pushed == recording.imu.stamps.tolist()
    alone = rows_of(curve, 'parrot')[online.AFTERWARDS]
    assert alone.seconds == pytest.approx(known_s, abs=0.1)
    # It goes on saying the last position.
    assert alone.rmse_m > 1.0
    assert list(rows_of(curve, 'parrot')) == [*laps, online.AFTERWARDS]
    assert curve.known_s == pytest.approx(known_s, abs=0.1)


def test_offline_models_know_only_what_came_before(slot_car_laps):
    """Nothing can be trained before a place is met twice; then the error falls."""
    recording = slot_car_laps[0].between(None, 45.0)
    curve = online.learning_curve([recording], {}, SETTINGS, known_s=32.0)
    offline, mean = rows_of(curve, online.OFFLINE), rows_of(curve, online.MEAN)
    assert 1 not in offline
    assert offline[online.AFTERWARDS].rmse_m < 0.25 * mean[online.AFTERWARDS].rmse_m
    assert offline[online.AFTERWARDS].published > 0.9
    content = curve.to_json()
    assert content['laps_counted']
    assert {row['name'] for row in content['rows']} == {online.OFFLINE, online.MEAN}
    without = without_positions(recording, -1.0, math.inf)
    with pytest.raises(InputError, match='there are no positions'):
        online.learning_curve([without], {}, SETTINGS)
