# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Try a row: train, inspect, evaluate and update with a faulty drive beside the clean one."""

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from position_fault import LEAST_ERROR_M, Measured, PositionFault, WRONG_M

from two_manifold_ros.adapting.references import ReferenceMonitor
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate, Evaluation
from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.interface.messages import DrawnTrack
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.recording import PositionStream, Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Bools

# One car on one day, which is followed more sharply than another day's drive would allow.
SETTINGS = TrainingSettings(
    rate_hz=10.0, window=20, states=2, horizons=(0, 5), sharpness=0.4, persistence=0.5
)
LAPS, TRAINED_SHARE = 10, 0.75

LEAST_KNOWN = 0.9
"""Share of the ticks with a place from which those without one show in no error."""


@dataclass(frozen=True)
class CleanDrive:
    """Seven laps to train on and two more to follow, and what comes of them without a fault."""

    train: Recording
    test: Recording
    model: RouteModel
    score: Evaluation
    codes: frozenset[str]

    def wrong(self, stream: PositionStream) -> Bools:
        """Return which positions are not where the car was at their stamp."""
        known = [each.positions for each in (self.train, self.test) if each.positions]
        stamps = np.concatenate([each.stamps for each in known])
        places = np.concatenate([each.positions for each in known])
        elapsed = stream.stamps - stamps[0]
        true = [np.interp(elapsed, stamps - stamps[0], axis) for axis in places.T]
        away = np.linalg.norm(stream.positions - np.stack(true, axis=1), axis=1)
        return np.asarray(~(away < WRONG_M))


def drive_clean() -> CleanDrive:
    """Simulate, train and evaluate without a fault."""
    run = simulate(SlotCarSettings(seed=5, rate_hz=50.0), laps=LAPS)
    recording = run_to_recording(run)
    seconds = TRAINED_SHARE * float(np.ptp(run.stamps_ns)) / 1e9
    train, test = recording.between(None, seconds), recording.between(seconds, None)
    model = train_model([train], SETTINGS)
    return CleanDrive(train, test, model, evaluate(model, [test]), codes_of(train))


def codes_of(recording: Recording) -> frozenset[str]:
    """Return the codes of what `inspect` finds."""
    return frozenset(finding.code for finding in inspect_recording(recording).findings)


def try_fault(fault: PositionFault, clean: CleanDrive) -> list[str]:
    """Do to the clean drive what the row says, and return what does not hold after it."""
    faulty = _changed(fault, clean.train)
    complaints = [
        *_wrongly_said(fault, faulty, clean),
        *_wrongly_left(fault, faulty.positions, clean),
        *_wrongly_trained(fault, faulty, clean),
    ]
    followed = _changed(fault, clean.test) if fault.evaluated is not None else clean.test
    if fault.evaluated is not None and _is_reached(followed, clean.test):
        evaluated = Measured(1.0, 1.0, *_beside(evaluate(clean.model, [followed]), clean.score))
        complaints += evaluated.complaints(fault.evaluated, 'evaluated')
    if fault.updater is not None:
        _update(fault, faulty, clean, complaints)
    return complaints


def _wrongly_said(fault: PositionFault, faulty: Recording, clean: CleanDrive) -> Iterator[str]:
    """Yield which findings `inspect` lacks, and of what it warns that the row does not name."""
    findings = inspect_recording(faulty).findings
    new = {
        finding.code: finding.severity for finding in findings if finding.code not in clean.codes
    }
    missing = {*fault.says} - {*new}
    if missing:
        yield f'inspect does not give {", ".join(sorted(missing))}'
    false = {code for code, severity in new.items() if severity == 'warning'} - {*fault.says}
    if false:
        yield f'inspect warns of {", ".join(sorted(false))}'


def _wrongly_left(
    fault: PositionFault, stream: PositionStream, clean: CleanDrive
) -> Iterator[str]:
    """Yield whether too many wrong positions stay, or too many right ones are left out."""
    left = stream.left_out
    wrong = np.zeros_like(left) if fault.of_route else clean.wrong(stream)
    stays, lost = np.count_nonzero(wrong & ~left), np.count_nonzero(left & ~wrong)
    if stays > fault.wrong:
        yield f'{stays} wrong positions stay'
    if lost > fault.right * len(left):
        yield f'{lost} right positions are left out'


def _wrongly_trained(fault: PositionFault, faulty: Recording, clean: CleanDrive) -> Iterator[str]:
    """Yield what is wrong with a model of a faulty drive, if its damage reaches the training."""
    if fault.trained is None or not (fault.refused or _is_reached(faulty, clean.train)):
        return
    try:
        model = train_model([faulty], SETTINGS)
    except InputError as error:
        if not (fault.refused and fault.refused in str(error)):
            yield f'training is refused: {error}'
        return
    if fault.refused:
        yield 'training is not refused'
    followed = _changed(fault, clean.test) if fault.of_route else clean.test
    yield from _measured(model, followed, clean).complaints(fault.trained, 'trained')
    drawn = DrawnTrack(model.track).size / DrawnTrack(clean.model.track).size
    if drawn > fault.trained.ellipse:
        yield f'the track is drawn {drawn:.3g} times as large'


def _is_reached(faulty: Recording, clean: Recording) -> bool:
    """Return whether a drive has other places at its ticks: of the same, the same is learned."""
    both = [build_dataset([each], SETTINGS).tracks for each in (faulty, clean)]
    if [len(each) for each in both[0]] != [len(each) for each in both[1]]:
        return True
    given, right = (np.concatenate(each) for each in both)
    away = np.linalg.norm(given - right, axis=1)
    known = np.isfinite(away)
    return bool(known.mean() < LEAST_KNOWN or away[known].max() > LEAST_ERROR_M)


def _changed(fault: PositionFault, recording: Recording) -> Recording:
    return fault.change(recording, np.random.default_rng(crc32(fault.name.encode())))


def _measured(model: RouteModel, followed: Recording, clean: CleanDrive) -> Measured:
    """Compare a model, and how it follows a drive, with the clean model."""
    return Measured(
        model.route.places / clean.model.route.places,
        limits_of(model).error_m / limits_of(clean.model).error_m,
        *_beside(evaluate(model, [followed]), clean.score),
    )


def _beside(score: Evaluation, clean: Evaluation) -> tuple[float, float]:
    """Return the share of valid ticks that is lost, and the ratio of the errors of all ticks."""
    lost = clean.published / clean.ticks - score.published / score.ticks
    errors = [max(each.scores[0].model.all.rmse_m, LEAST_ERROR_M) for each in (score, clean)]
    return lost, errors[0] / errors[1]


def _update(
    fault: PositionFault, faulty: Recording, clean: CleanDrive, complaints: list[str]
) -> None:
    """Complain of wrong positions that an updater uses, and of right ones that it refuses."""
    stream, monitor = faulty.positions, ReferenceMonitor()
    rows = [*zip(stream.stamps.tolist(), *stream.positions.T.tolist(), strict=True)]
    used = [fix for row in rows if monitor.add(*row) for fix in monitor.taken]
    wrong = np.zeros(len(rows), dtype=np.bool_) if fault.of_route else clean.wrong(stream)
    wrongly = {row for row, is_wrong in zip(rows, wrong, strict=True) if is_wrong}
    count = len(wrongly & {*used})
    if count > fault.updater:
        complaints.append(f'an updater uses {count} wrong positions')
    right = {row[0] for row in {*rows} - wrongly}
    if len(right - {fix.stamp_ns for fix in used}) > max(0.02, fault.right) * len(right):
        complaints.append('an updater refuses too many right positions')
    # Neither is a position of its own; the newest may wait.
    events = sum(monitor.counters[key] for key in ('moved', 'jumps_back'))
    counted = sum(monitor.counters.values()) - events
    if not len(rows) - 1 <= counted <= len(rows):
        complaints.append(f'an updater counts {counted} of {len(rows)} positions')
