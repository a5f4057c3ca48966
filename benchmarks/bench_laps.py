# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Lap times on drives that were not trained on: by positions, by marks, and by the IMU alone.

Run `./run bench laps`, or name cases of the gauntlet after it. The truth are the passages of the
true positions, at the start line that each model has. Real recordings are read from
`shared/recordings` beside the checkout and skipped where absent.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
import math
import traceback
from typing import Any, NamedTuple, TYPE_CHECKING

from gauntlet_drives import make_case
import numpy as np
from runner import spread, with_cases
from tables import table

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.lap_times import laps_by_positions
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.laps.timing import LapTimer
from two_manifold_ros.laps.unplaced import place, place_by_marks
from two_manifold_ros.model.circuit import metres_at, way_along
from two_manifold_ros.recordings.recording import PositionStream, Recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Ints

if TYPE_CHECKING:
    from gauntlet_drives import Case, Drive

    from two_manifold_ros.laps.timing import LapState
    from two_manifold_ros.model.circuit import Circuit
    from two_manifold_ros.model.model import RouteModel

KINDS = ('positions', 'marks', 'IMU alone')


class Followed(NamedTuple):
    """States and laps of a timer along a drive."""

    timer: LapTimer
    states: list[LapState]
    stamps: Ints


def circuit_of(model: RouteModel) -> Circuit:
    if model.circuit is None:
        raise InputError('no circuit')
    return model.circuit


def follow(model: RouteModel, drive: Drive) -> Followed:
    live, timer = Filter(model), LapTimer(circuit_of(model))
    states, stamps = [], []
    for stamp, sample in zip(drive.stamps.tolist(), drive.samples, strict=True):
        for estimate in live.push(stamp, sample):
            stamps.append(estimate.stamp_ns)
            if (state := timer.push(estimate)) is not None:
                states.append(state)
    return Followed(timer, states, np.array(stamps))


def true_circuit(model: RouteModel, drive: Drive, followed: Followed, *, same: bool) -> Circuit:
    """
    Return the true circuit with the start line of a timer.

    A model without positions has its own phases, those of time: its line is where the phases of
    the passages near it, else of all, fit best.
    """
    if same:
        return followed.timer.circuit
    circuit = circuit_of(model)
    truths = drive.truths_at(np.array([state.stamp_ns for state in followed.states]))
    ways = way_along(circuit, truths, np.gradient(truths, axis=0))
    known = np.isfinite(ways)
    phases = np.array([state.phase for state in followed.states])[known]
    usual = circuit.seconds_along(ways[known]) / circuit.lap_s
    near = np.abs((phases + 0.5) % 1.0 - 0.5) < 0.02
    turns = np.exp(2j * np.pi * (usual - phases))[near if near.any() else slice(None)]
    shift = float(np.angle(turns.mean()) / (2.0 * np.pi)) % 1.0
    return circuit.starting_at(metres_at(shift * circuit.lap_s, circuit.known))


def scored(placed: RouteModel, drive: Drive, followed: Followed, *, same: bool) -> dict[str, Any]:
    """Score a timer against true passages; ``same`` if its model has the true circuit itself."""
    circuit = true_circuit(placed, drive, followed, same=same)
    stream = PositionStream('', '', '', drive.stamps, drive.truths)
    laps = laps_by_positions(circuit, followed.timer.sectors, stream, followed.stamps)
    apart, ahead = [], []
    for lap in followed.timer.laps:
        if lap.begin_ns is None or not math.isfinite(lap.time.seconds):
            continue
        away_ns, true = min(
            (
                (abs(each.begin_ns - lap.begin_ns), each.time.seconds)
                for each in laps
                if each.begin_ns is not None
            ),
            default=(math.inf, math.nan),
        )
        if away_ns >= 0.25e9 * circuit.lap_s or not math.isfinite(true):
            continue
        apart.append(abs(lap.time.seconds - true))
        half = [each for each in followed.states if each.lap == lap.number and each.phase >= 0.5]
        if half:
            ahead.append(abs(half[0].predicted.seconds - true))
    return {
        'lap_s': circuit.lap_s,
        'laps': len(followed.timer.laps),
        'true_laps': len(laps),
        'errors_s': apart,
        'predicted_s': ahead,
    }


def marks_of(model: RouteModel, recordings: list[Recording]) -> list[Ints]:
    """Return the true passages of the start line in the training."""
    found = []
    for recording in recordings:
        assert recording.positions is not None  # noqa: S101 - all cases have positions
        laps = laps_by_positions(circuit_of(model), (), recording.positions, recording.imu.stamps)
        begins = [each.begin_ns for each in laps if each.begin_ns is not None]
        ends = [begins[-1] + round(1e9 * each.time.seconds) for each in laps[-1:]]
        found.append(np.array(begins + ends))
    return found


def measured(kind: str, case: Case, placed: RouteModel) -> dict[str, Any]:
    """Train a case in one of three ways and follow its drive."""
    model: Any = placed
    training = list(case.training)
    bare = [replace(each, positions=None) for each in training]
    if kind == 'marks':
        laps = place_by_marks(bare, marks_of(placed, training)).recordings
        model = train_model(laps, TrainingSettings())
    elif kind == 'IMU alone':
        model = train_model(place(bare, None).recordings, TrainingSettings())
    followed = follow(model, case.followed)
    if not followed.states:
        return {}
    return scored(placed, case.followed, followed, same=kind == 'positions')


LAPS = 'case, trained by, lap (s), laps timed, median error (s), 95 % (s), half a lap ahead (s)'


def rows_of(name: str) -> list[list[str]]:
    """Return a row for each kind of training of a case; what fails is a row of its own."""
    case, rows = make_case(name), []
    placed: Any = train_model(case.training, TrainingSettings())
    for kind in KINDS:
        try:
            row = measured(kind, case, placed)
        except Exception:  # noqa: BLE001 - other cases are not to be lost
            traceback.print_exc()
            row = {}
        if not row.get('errors_s'):
            rows.append([f'`{name}`', kind, *['-'] * 5])
            continue
        quantiles = [np.quantile(row['errors_s'], each) for each in (0.5, 0.95)]
        ahead = np.quantile(row['predicted_s'], 0.5) if row['predicted_s'] else math.nan
        numbers = (f'{each:.3f}' for each in (*quantiles, ahead))
        laps = f'{row["laps"]} of {row["true_laps"]}'
        rows.append([f'`{name}`', kind, f'{row["lap_s"]:.1f}', laps, *numbers])
    return rows


def section(names: list[str], jobs: int = 1, *, aligned: bool = False) -> str:
    """
    Lap times against the passages of the true positions.

    Models are trained by positions, by marks and by the IMU alone. *Half a lap ahead*: error of
    the predicted lap time half a lap before the line.
    """
    rows = [row for _, found in spread(rows_of, names, jobs) for row in found]
    return table(LAPS, rows, aligned=aligned)


def main() -> None:
    args = with_cases(argparse.ArgumentParser(description=__doc__))
    print(section(args.names, args.jobs, aligned=True))


if __name__ == '__main__':
    main()
