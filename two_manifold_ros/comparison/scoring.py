# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what the methods told to their errors, on ticks at which all of them told something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.outcome import Comparison, errors_of, Result
from two_manifold_ros.comparison.trial import Failure, Trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.comparison.method import Method
    from two_manifold_ros.comparison.outcome import Errors
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats

MOST_MISSING = 0.5
"""Share of the predictions that a method may owe; beyond it, it fails and the others gain."""


def grade(
    plan: Plan, methods: Sequence[Method], trials: Mapping[str, Trial | Failure]
) -> Comparison:
    """
    Score trials, one for each method by its name.

    A prediction counts where its truth is known, its tick is scored by the plan, and no method
    that has not failed owes it.
    """
    truth = np.concatenate([exam.truth for exam in plan.exams])
    scored = np.concatenate([exam.scored for exam in plan.exams])
    wanted = _finite(truth) & scored[:, None]
    judged = {method.name: _judged(trials[method.name], wanted) for method in methods}
    told = {
        name: np.concatenate(trial.positions)
        for name, trial in judged.items()
        if isinstance(trial, Trial)
    }
    known = {name: _finite(positions) for name, positions in told.items()}
    common = np.logical_and.reduce([wanted, *known.values()])
    scores = {name: _scores(positions - truth, common) for name, positions in told.items()}
    results = [_result(method, judged[method.name], scores.get(method.name)) for method in methods]
    owing = [
        f'{method.title} tells no position at {_owed(known[method.name], wanted)} of '
        f'{int(wanted.any(axis=1).sum())} ticks, which therefore count for no method'
        for method in methods
        if method.name in known and _owed(known[method.name], wanted)
    ]
    return _comparison(plan, common, [*plan.notes, *owing], results)


def _judged(trial: Trial | Failure, wanted: Bools) -> Trial | Failure:
    """Fail a method that tells so little that hardly a tick would be left to all."""
    if isinstance(trial, Failure):
        return trial
    known = _finite(np.concatenate(trial.positions))
    owed, most = int((wanted & ~known).sum()), int(wanted.sum())
    if owed <= MOST_MISSING * most:
        return trial
    return Failure(f'it tells nothing finite in {owed} of the {most} predictions asked of it')


def _finite(positions: Floats) -> Bools:
    return np.asarray(np.isfinite(positions).all(axis=2))


def _owed(known: Bools, wanted: Bools) -> int:
    """Return at how many ticks a prediction that was wanted is not there."""
    return int((wanted & ~known).any(axis=1).sum())


def _scores(errors: Floats, common: Bools) -> tuple[Errors, ...]:
    distances = np.linalg.norm(errors, axis=2)
    return tuple(
        errors_of(distances[common[:, column], column]) for column in range(common.shape[1])
    )


def _result(method: Method, trial: Trial | Failure, scores: tuple[Errors, ...] | None) -> Result:
    about = (method.name, method.title, method.told)
    if isinstance(trial, Failure):
        return Result(*about, failure=trial.reason)
    return Result(*about, chosen=trial.chosen, scores=scores, linear=trial.linear)


def _comparison(
    plan: Plan, common: Bools, notes: Sequence[str], results: Sequence[Result]
) -> Comparison:
    dataset = plan.lesson.dataset
    tracks = [np.where(exam.scored[:, None], exam.truth[:, 0], np.nan) for exam in plan.exams]
    return Comparison(
        protocol=plan.protocol,
        rate_hz=dataset.rate_hz,
        window=dataset.window,
        horizons=plan.lesson.horizons,
        learned=tuple((each.name, _seconds(each)) for each in plan.lesson.recordings),
        followed=_followed(plan),
        scored=tuple(common.sum(axis=0).tolist()),
        notes=tuple(notes),
        tracks=tuple(tracks),
        results=tuple(results),
    )


def _seconds(recording: Recording) -> float:
    stamps = recording.imu.stamps
    return int(stamps.max() - recording.imu.first_stamp) * 1e-9


def _followed(plan: Plan) -> tuple[tuple[str, float], ...]:
    seconds: dict[str, float] = {}
    for exam in plan.exams:
        took_s = len(exam.segment) * plan.lesson.period_s
        seconds[exam.recording] = seconds.get(exam.recording, 0.0) + took_s
    return tuple(seconds.items())
