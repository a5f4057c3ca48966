# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what the methods told to their errors, on the same ticks for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.mean_position import mean_of
from two_manifold_ros.comparison.outcome import Comparison, errors_of, Result
from two_manifold_ros.comparison.trial import Failure, Trial
from two_manifold_ros.ticks.usable import usable_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.comparison.method import Method
    from two_manifold_ros.comparison.outcome import Errors
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats

MOST_MISSING = 0.5
"""Share of the predictions that a method may owe; one that owes more fails: its errors would be
mostly those of the mean position."""


def grade(
    plan: Plan, methods: Sequence[Method], trials: Mapping[str, Trial | Failure]
) -> Comparison:
    """
    Score trials, one for each method by its name.

    A prediction counts where its truth is known and its tick is scored by the plan, for every
    method, whether it would have published it or not. Where a method has no usable position the
    mean training position stands for it.
    """
    truth = np.concatenate([exam.truth for exam in plan.exams])
    directions = np.concatenate([exam.directions for exam in plan.exams])
    scored = np.concatenate([exam.scored for exam in plan.exams])
    wanted = np.isfinite(truth).all(axis=2) & scored[:, None]
    truth = np.where(wanted[..., None], truth, np.nan)
    mean, results, owing = mean_of(plan.lesson), [], []
    for method in methods:
        trial = trials[method.name]
        owed = np.zeros_like(wanted) if isinstance(trial, Failure) else _owed(trial, wanted)
        if owed.sum() > MOST_MISSING * wanted.sum():
            trial = Failure(
                f'it has no usable position in {owed.sum()} of the {wanted.sum()} predictions '
                'asked of it'
            )
        elif owed.any():
            owing.append(
                f'{method.title} has no usable position at {owed.any(axis=1).sum()} of '
                f'{wanted.any(axis=1).sum()} ticks, for which the mean training position counts'
            )
        scores = None
        if isinstance(trial, Trial):
            told = np.where(owed[..., None], mean, np.concatenate(trial.positions))
            scores = _scores(told - truth, directions, trial)
        results.append(_result(method, trial, scores))
    return _comparison(plan, wanted, [*plan.notes, *owing], results)


def _owed(trial: Trial, wanted: Bools) -> Bools:
    """Return which predictions that are wanted, (T, H), are not usable."""
    positions = np.concatenate(trial.positions)
    usable = usable_places(positions.reshape(-1, 2)).reshape(wanted.shape)
    return np.asarray(wanted & ~usable)


def _scores(errors: Floats, directions: Floats, trial: Trial) -> tuple[Errors, ...]:
    valid = None if trial.valid is None else np.concatenate(trial.valid)
    return tuple(
        errors_of(errors[:, column], directions[:, column], valid)
        for column in range(errors.shape[1])
    )


def _result(method: Method, trial: Trial | Failure, scores: tuple[Errors, ...] | None) -> Result:
    about = (method.name, method.title, method.told)
    if isinstance(trial, Failure):
        return Result(*about, failure=trial.reason)
    return Result(*about, chosen=trial.chosen, scores=scores, linear=trial.linear)


def _comparison(
    plan: Plan, wanted: Bools, notes: Sequence[str], results: Sequence[Result]
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
        scored=tuple(wanted.sum(axis=0).tolist()),
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
