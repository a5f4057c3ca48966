# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Result of a comparison: predictions of several methods, scored on the same ticks.

``Comparison.to_json`` gives the object that `compare` writes as JSON, without wall times, so
that two runs give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.scores import score
from two_manifold_ros.recordings.excursions import usable_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.comparison.method import Method
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.evaluation.scores import Score
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class Trial:
    """
    Predictions of one method on the test segments of a plan: positions (T, H, 2) of each.

    ``linear`` are positions now (T, 2), read from the method's states by a linear regression on
    the training part, on which its RMSE is ``learned_m``; of a method that is given positions its
    own. Without states there are none. ``chosen`` and ``valid`` are as in ``FittedMethod`` and
    ``Predictions``.
    """

    positions: tuple[Floats, ...]
    linear: tuple[Floats, ...] | None
    chosen: dict[str, Any]
    valid: tuple[Bools, ...] | None = None
    learned_m: float | None = None


@dataclass(frozen=True)
class Failure:
    """Why a method predicted nothing, in one sentence."""

    reason: str


@dataclass(frozen=True)
class Result:
    """
    One method of a comparison.

    Name, title and sees_positions are those of ``Method``, chosen, linear and learned_m of
    ``Trial``; scores are one for each horizon, and ``None`` where there is a failure instead.
    """

    name: str
    title: str
    sees_positions: bool
    failure: str | None = None
    chosen: dict[str, Any] | None = None
    scores: tuple[Score, ...] | None = None
    linear: tuple[Floats, ...] | None = None
    learned_m: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all but the track as JSON values."""
        names = ('name', 'title', 'sees_positions', 'failure', 'chosen')
        scores = None if self.scores is None else [_errors(each) for each in self.scores]
        return {**{name: getattr(self, name) for name in names}, 'scores': scores}


def _errors(score: Score) -> dict[str, float | None]:
    return {
        **{name: getattr(score.all, name) for name in ('rmse_m', 'median_m', 'p95_m', 'p99_m')},
        'along_rmse_m': score.along_rmse_m,
        'cross_rmse_m': score.cross_rmse_m,
        'published_share': score.published_share,
        'published_rmse_m': score.rmse_m,
    }


@dataclass(frozen=True)
class Comparison:
    """
    All methods, on the same ticks.

    Fields are as in the JSON object; ``tracks`` has for each test segment the true positions
    (T, 2), NaN where not scored, and ``results`` are in the order asked for.
    """

    protocol: str
    rate_hz: float
    window: int
    horizons: tuple[int, ...]
    learned: tuple[tuple[str, float], ...]
    followed: tuple[tuple[str, float], ...]
    scored: tuple[int, ...]
    notes: tuple[str, ...]
    tracks: tuple[Floats, ...]
    results: tuple[Result, ...]

    @property
    def succeeded(self) -> tuple[Result, ...]:
        """The methods with scores."""
        return tuple(result for result in self.results if result.scores is not None)

    def readings(self, result: Result) -> list[Floats]:
        """Return for each segment what is read linearly from states, NaN as in ``tracks``."""
        return [
            np.where(np.isfinite(true), read, np.nan)
            for read, true in zip(result.linear or (), self.tracks, strict=True)
        ]

    def reading_rmse_m(self, result: Result) -> float:
        """Return the root mean square error of those readings, metres."""
        away = np.concatenate(self.readings(result)) - np.concatenate(self.tracks)
        return float(np.sqrt(np.nanmean(np.square(away).sum(axis=1))))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; no number is NaN."""

        def named(recordings: tuple[tuple[str, float], ...]) -> list[dict[str, Any]]:
            return [{'recording': name, 'seconds': round(each, 3)} for name, each in recordings]

        names = ('protocol', 'rate_hz', 'window')
        return {
            **{name: getattr(self, name) for name in names},
            'horizons': list(self.horizons),
            'learned': named(self.learned),
            'followed': named(self.followed),
            'scored': list(self.scored),
            'notes': list(self.notes),
            'methods': [result.to_json() for result in self.results],
        }


def grade(
    plan: Plan,
    methods: Sequence[Method],
    trials: Mapping[str, Trial | Failure],
    most_missing: float = 0.5,
) -> Comparison:
    """
    Score trials, one for each method by its name.

    A prediction counts where its truth is known and its tick is scored by the plan, for every
    method, whether it would have published it or not. Where a method has no usable position the
    mean training position stands for it; one that has none for more than a share ``most_missing``
    of its predictions fails, because its errors would be mostly those of the mean position.
    """
    truth = np.concatenate([test.truth for test in plan.tests])
    directions = np.concatenate([test.directions for test in plan.tests])
    scored = np.concatenate([test.scored for test in plan.tests])
    wanted = np.isfinite(truth).all(axis=2) & scored[:, None]
    truth = np.where(wanted[..., None], truth, np.nan)
    mean, results, notes = plan.train.mean_position(), [], list(plan.notes)
    for method in methods:
        about = (method.name, method.title, method.sees_positions)
        trial = trials[method.name]
        if isinstance(trial, Failure):
            results.append(Result(*about, failure=trial.reason))
            continue
        positions = np.concatenate(trial.positions)
        missing = wanted & ~usable_places(positions.reshape(-1, 2)).reshape(wanted.shape)
        if missing.sum() > most_missing * wanted.sum():
            reason = (
                f'it has no usable position in {missing.sum()} of the {wanted.sum()} predictions '
                'asked of it'
            )
            results.append(Result(*about, failure=reason))
            continue
        if missing.any():
            notes.append(
                f'{method.title} has no usable position at {missing.any(axis=1).sum()} of '
                f'{wanted.any(axis=1).sum()} ticks, for which the mean training position counts'
            )
        errors = np.where(missing[..., None], mean, positions) - truth
        valid = None if trial.valid is None else np.concatenate(trial.valid)
        no_ellipse = np.full((len(errors), 2, 2), np.nan)
        scores = tuple(
            score(errors[:, column], no_ellipse, valid, directions[:, column])
            for column in range(errors.shape[1])
        )
        result = Result(*about, chosen=trial.chosen, scores=scores)
        results.append(replace(result, linear=trial.linear, learned_m=trial.learned_m))
    followed: dict[str, float] = {}
    for test in plan.tests:
        seconds = len(test.segment) * plan.train.period_s
        followed[test.recording] = followed.get(test.recording, 0.0) + seconds
    imus = [(each.name, each.imu) for each in plan.train.recordings]
    return Comparison(
        protocol=plan.protocol,
        rate_hz=plan.train.dataset.rate_hz,
        window=plan.train.dataset.window,
        horizons=plan.train.horizons,
        learned=tuple((name, imu.span_ns * 1e-9) for name, imu in imus),
        followed=tuple(followed.items()),
        scored=tuple(wanted.sum(axis=0).tolist()),
        notes=tuple(notes),
        tracks=tuple(
            np.where(test.scored[:, None], test.truth[:, 0], np.nan) for test in plan.tests
        ),
        results=tuple(results),
    )
