# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Lap times on drives that were not trained on: by positions, by marks, and by the IMU alone.

Run `./run bench laps`, or name cases of the gauntlet after it. The truth are the passages of the
true positions, at the start line that each model has. `half lap s` is how far the lap time is off
that is predicted half a lap ahead. Phases are compared with the share of the way where positions
are trained, else with that of the time. Real recordings are read from `shared/recordings` beside
the checkout and skipped where absent.
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

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.lap_times import laps_by_positions
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.laps.timing import LapTimer
from two_manifold_ros.laps.unplaced import place_by_imu, place_by_marks
from two_manifold_ros.model.circuit_learning import way_along
from two_manifold_ros.recordings.recording import PositionStream
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from gauntlet_drives import Case, Drive

    from two_manifold_ros.laps.timing import LapState
    from two_manifold_ros.model.circuit import Circuit
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

FULL_SIZE = ('ridge_car', 'car', 'car_5hz', 'tram')
"""Cases of the larger target."""

LINES = 20
"""Places around the lap at which the usual time of a lap is taken."""

KINDS = ('positions', 'marks', 'IMU alone')


class Followed(NamedTuple):
    """States and laps of a timer along a drive, and the share of ticks with a state."""

    timer: LapTimer
    states: list[LapState]
    stamps: Ints
    share: float


def follow(model: RouteModel, drive: Drive) -> Followed | None:
    if model.circuit is None:
        return None
    live, timer = Filter(model), LapTimer(model.circuit)
    states, stamps = [], []
    for stamp, sample in zip(drive.stamps.tolist(), drive.samples, strict=True):
        for estimate in live.push(stamp, sample):
            stamps.append(estimate.stamp_ns)
            state = timer.push(estimate)
            if state is not None:
                states.append(state)
    return Followed(timer, states, np.array(stamps), len(states) / max(len(stamps), 1))


def true_circuit(
    model: RouteModel, drive: Drive, followed: Followed, *, same: bool
) -> tuple[Circuit, Floats]:
    """
    Return the true circuit with the start line of a timer, and errors of its phase, in laps.

    A model without positions has its own phases, those of time: they are compared after the best
    shift.
    """
    circuit = model.circuit
    if circuit is None:
        raise TypeError
    stamps = np.array([state.stamp_ns for state in followed.states])
    truths = drive.truths_at(stamps)
    ways = way_along(circuit, truths, np.gradient(truths, axis=0))
    phases = np.array([state.phase for state in followed.states])
    known = np.isfinite(ways)
    if same:
        circuit = followed.timer.circuit
        ways = way_along(circuit, truths, np.gradient(truths, axis=0))[known]
        errors = (ways / circuit.length_m - phases[known] + 0.5) % 1.0 - 0.5
        return circuit, errors
    usual = np.array([circuit.seconds_at(way) for way in ways[known]]) / circuit.lap_s
    turns = np.exp(2j * np.pi * (usual - phases[known]))
    shift = float(np.angle(turns.mean()) / (2.0 * np.pi)) % 1.0
    errors = (usual - phases[known] - shift + 0.5) % 1.0 - 0.5
    # The line itself, by the passages near it.
    near = np.abs((phases[known] + 0.5) % 1.0 - 0.5) < 0.02
    if near.any():
        shift = float(np.angle(turns[near].mean()) / (2.0 * np.pi)) % 1.0
    return circuit.starting_at(circuit.metres_at(shift * circuit.lap_s)), errors


def scored(placed: RouteModel, drive: Drive, followed: Followed, *, same: bool) -> dict[str, Any]:
    """Score a timer against true passages; ``same`` if its model has the true circuit itself."""
    circuit, errors = true_circuit(placed, drive, followed, same=same)
    stream = PositionStream('', '', '', drive.stamps, drive.truths)
    laps = laps_by_positions(circuit, followed.timer.sectors, stream, followed.stamps)
    apart, sure, ahead = [], [], []
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
        sure.append(abs(lap.time.seconds - true) < 2.0 * lap.time.deviation_s)
        half = [each for each in followed.states if each.lap == lap.number and each.phase >= 0.5]
        if half:
            ahead.append(abs(half[0].predicted.seconds - true))
    whole = [lap.time.seconds for lap in laps if math.isfinite(lap.time.seconds)]
    return {
        'lap_s': circuit.lap_s,
        'published': followed.share,
        'laps': len(followed.timer.laps),
        'true_laps': len(laps),
        'errors_s': apart,
        'within_two_std': sure,
        'predicted_s': ahead,
        'spread_s': float(np.std(whole)) if whole else None,
        'phase_error': float(np.median(np.abs(errors))) if len(errors) else None,
    }


def marks_of(model: RouteModel, recordings: list[Recording]) -> list[Ints]:
    """Return the true passages of the start line in the training."""
    circuit = model.circuit
    if circuit is None:
        raise TypeError
    found = []
    for recording in recordings:
        stream = recording.positions
        if stream is None:
            raise TypeError
        laps = laps_by_positions(circuit, (), stream, recording.imu.stamps)
        begins = [each.begin_ns for each in laps if each.begin_ns is not None]
        ends = [begins[-1] + round(1e9 * each.time.seconds) for each in laps[-1:]]
        found.append(np.array(begins + ends))
    return found


def run_case(name: str) -> dict[str, Any]:
    """Train a case in three ways and follow its drive by each; what fails is a row of its own."""
    case = make_case(name)
    training, settings = list(case.training), TrainingSettings()
    placed = train_model(training, settings)
    rows: dict[str, Any] = {}
    if placed.circuit is None:  # type: ignore[attr-defined]  # a route is the default
        return {'failed': 'no circuit'}
    for kind in KINDS:
        try:
            rows[kind] = _row(kind, case, training, placed)  # type: ignore[arg-type]
        except InputError as error:  # noqa: PERF203 - each is trained for seconds
            rows[kind] = {'refused': str(error)}
        except Exception as error:  # noqa: BLE001 - other cases are not to be lost
            traceback.print_exc()
            rows[kind] = {'refused': f'{type(error).__name__}: {error}'}
    return rows


def _row(kind: str, case: Case, training: list[Recording], placed: RouteModel) -> dict[str, Any]:
    model: Any = placed
    extra: dict[str, Any] = {}
    if kind == 'marks':
        marks = marks_of(placed, training)
        extra['marked_laps'] = sum(len(each) - 1 for each in marks)
        bare = [replace(each, positions=None) for each in training]
        model = train_model(place_by_marks(bare, marks).recordings, TrainingSettings())
    elif kind == 'IMU alone':
        bare = [replace(each, positions=None) for each in training]
        found = place_by_imu(bare)
        extra |= {'found_s': found.lap_s, 'usual_s': usual_of(placed, training),
                  'found_laps': found.laps, 'confidence': found.confidence}  # fmt: skip
        model = train_model(found.recordings, TrainingSettings())
    followed = follow(model, case.followed)
    if followed is None or not followed.states:
        return {'refused': 'nothing was published', **extra}
    return extra | scored(placed, case.followed, followed, same=kind == 'positions')


def usual_of(model: RouteModel, recordings: list[Recording]) -> float:
    """Return the median time between passages of the same place, of places all around the lap."""
    circuit, times = model.circuit, []
    if circuit is None:
        raise TypeError
    lines = tuple((np.arange(1, LINES) / LINES).tolist())
    for recording in recordings:
        if recording.positions is None:
            raise TypeError
        laps = laps_by_positions(circuit, lines, recording.positions, recording.imu.stamps)
        sectors = [[each.seconds for each in lap.sectors] for lap in laps]
        if len(sectors) > 1:
            # From each line to the same of the next lap.
            ends = np.cumsum(np.array(sectors), axis=1)
            begins = 1e-9 * np.array([lap.begin_ns for lap in laps], dtype=np.float64)
            times.append(np.diff(begins[:, None] + ends, axis=0).ravel())
    found = np.concatenate(times)
    return float(np.median(found[np.isfinite(found)]))


def show(results: dict[str, dict[str, Any]]) -> None:
    for kind in KINDS:
        print(f'\ntrained by {kind}')
        print(
            f'{"case":16} {"lap s":>8} {"publ. %":>7} {"laps":>5} {"true":>5} {"median s":>9} '
            f'{"95 % s":>8} {"in 2 std %":>10} {"half lap s":>10} {"of laps s":>9} '
            f'{"phase %":>8}'
        )
        for name, rows in results.items():
            row = rows.get(kind, rows)
            if 'refused' in row or 'failed' in row:
                print(f'{name:16} {row.get("refused") or row.get("failed")}')
                continue
            errors, ahead = np.array(row['errors_s']), np.array(row['predicted_s'])
            print(
                f'{name:16} {row["lap_s"]:8.2f} {100 * row["published"]:7.1f} {row["laps"]:5d} '
                f'{row["true_laps"]:5d} {_quantile(errors, 0.5):>9} {_quantile(errors, 0.95):>8} '
                f'{100 * np.mean(row["within_two_std"]) if len(errors) else math.nan:10.0f} '
                f'{_quantile(ahead, 0.5):>10} {row["spread_s"] or math.nan:9.3f} '
                f'{100 * row["phase_error"]:8.2f}'
            )
            if kind == 'IMU alone':
                off = 100.0 * (row['found_s'] / row['usual_s'] - 1.0)
                print(
                    f'{"":16} found {row["found_laps"]:.2f} laps of {row["found_s"]:.3f} s '
                    f'({off:+.2f} %), confidence {row["confidence"]:.2f}'
                )
    _show_targets(results)


def _quantile(values: Floats, share: float) -> str:
    return f'{np.quantile(values, share):.3f}' if len(values) else '-'


def _show_targets(results: dict[str, dict[str, Any]]) -> None:
    for kind in KINDS:
        rows = {n: r[kind] for n, r in results.items() if r.get(kind, {}).get('errors_s')}
        medians = {n: float(np.median(r['errors_s'])) for n, r in rows.items()}
        good = [n for n, s in medians.items() if s <= (0.1 if n in FULL_SIZE else 0.05)]
        tails = [n for n, r in rows.items() if np.quantile(r['errors_s'], 0.95) <= 0.2]
        ahead = [
            n
            for n, r in rows.items()
            if r['predicted_s'] and np.median(r['predicted_s']) <= max(0.3, 0.005 * r['lap_s'])
        ]
        phases = [n for n, r in rows.items() if r['phase_error'] <= 0.01]
        print(
            f'\n{kind}: median error within .05 s (.1 s full-size) on {len(good)} of {len(rows)}, '
            f'95 % within .2 s on {len(tails)}, half a lap ahead within .3 s or .5 % on '
            f'{len(ahead)}, phase within 1 % on {len(phases)}'
        )
    found = [r['IMU alone'] for r in results.values() if 'found_s' in r.get('IMU alone', {})]
    near = sum(abs(r['found_s'] / r['usual_s'] - 1.0) <= 0.01 for r in found)
    print(f'IMU alone: lap time within 1 % on {near} of {len(found)} where a loop was found')


def main() -> None:
    args = with_cases(argparse.ArgumentParser(description=__doc__))
    show(dict(spread(run_case, args.names, args.jobs)))


if __name__ == '__main__':
    main()
