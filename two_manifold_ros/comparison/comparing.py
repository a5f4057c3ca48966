# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fit every method on the same training part, follow the tests, and score the same ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace
import json
from pathlib import Path
import traceback
from typing import Any, TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import ArpackError

from two_manifold_ros.comparison.protocol import check_places, with_constant
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.scores import score
from two_manifold_ros.hse_hmm.readout import fit_ridge
from two_manifold_ros.recordings.excursions import usable_places

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.comparison.protocol import Fitted, Method, Plan, Predictions, TrainSplit
    from two_manifold_ros.evaluation.scores import Score
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats

MOST_MISSING = 0.5
"""Share of its predictions that a method may lack: beyond it errors are those of the mean."""


@dataclass(frozen=True)
class Result:
    """
    One method of a comparison: its scores, one for each horizon, or a failure in a sentence.

    ``linear`` are positions now (T, 2) of each test, read from the states by a linear regression
    on the training part, on which its RMSE is ``learned_m``; of a method that is given positions
    its own. Without states there are none.
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
    """All methods on the same ticks; ``tracks`` (T, 2) are NaN where nothing is scored."""

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


def compare(
    plan: Plan,
    methods: Sequence[Method],
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Comparison:
    """
    Run methods by a plan; the same plan and methods give the same numbers, bit by bit.

    A prediction counts where its truth is known and its tick is scored by the plan, for every
    method, whether it would have published it or not. No exception holds up the other methods,
    but an interrupt ends all. ``progress`` gets the method that is run now and the share of those
    that ended, 0 to 1.
    """
    wanted = np.concatenate(
        [np.isfinite(test.truth).all(axis=2) & test.scored[:, None] for test in plan.tests]
    )
    results, notes = [], list(check_places(plan))
    for number, method in enumerate(methods):
        progress(f'running {method.name}', number / len(methods))
        about = Result(method.name, method.title, method.sees_positions)
        try:
            results.append(_run(method, plan, wanted, about, notes))
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            results.append(replace(about, failure=_explain(error)))
    progress('scoring', 1.0)
    followed: dict[str, float] = {}
    for test in plan.tests:
        seconds = len(test.segment) * plan.train.dataset.period_s
        followed[test.recording] = followed.get(test.recording, 0.0) + seconds
    return Comparison(
        protocol=plan.protocol,
        rate_hz=plan.train.dataset.rate_hz,
        window=plan.train.dataset.window,
        horizons=plan.train.horizons,
        learned=tuple((each.name, each.imu.span_ns * 1e-9) for each in plan.train.recordings),
        followed=tuple(followed.items()),
        scored=tuple(wanted.sum(axis=0).tolist()),
        notes=tuple(notes),
        tracks=tuple(
            np.where(test.scored[:, None], test.truth[:, 0], np.nan) for test in plan.tests
        ),
        results=tuple(results),
    )


def _run(method: Method, plan: Plan, wanted: Bools, about: Result, notes: list[str]) -> Result:
    """Fit a method, follow the tests, and score what is wanted (T, H); ``notes`` name gaps."""
    fitted = method.fit(plan.train)
    predicted = [_predict(method, fitted, test.segment) for test in plan.tests]
    linear, learned_m = None, None
    if all(each.states is not None for each in predicted):
        linear, learned_m = _read_linearly(method, fitted, plan.train, predicted)
    chosen = json.loads(json.dumps(fitted.chosen, sort_keys=True, allow_nan=False))
    positions = np.concatenate([each.positions for each in predicted])
    missing = wanted & ~usable_places(positions.reshape(-1, 2)).reshape(wanted.shape)
    if missing.sum() > MOST_MISSING * wanted.sum():
        msg = (
            f'it has no usable position in {missing.sum()} of the {wanted.sum()} predictions '
            'asked of it'
        )
        raise InputError(msg)
    if missing.any():
        notes.append(
            f'{method.title} has no usable position at {missing.any(axis=1).sum()} of '
            f'{wanted.any(axis=1).sum()} ticks, for which the mean training position counts'
        )
    truth = np.where(wanted[..., None], np.concatenate([t.truth for t in plan.tests]), np.nan)
    directions = np.concatenate([test.directions for test in plan.tests])
    errors = np.where(missing[..., None], plan.train.mean_position(), positions) - truth
    valid = [each.valid for each in predicted if each.valid is not None]
    published = np.concatenate(valid) if len(valid) == len(predicted) else None
    no_ellipse = np.full((len(errors), 2, 2), np.nan)
    scores = tuple(
        score(errors[:, column], no_ellipse, published, directions[:, column])
        for column in range(errors.shape[1])
    )
    return replace(about, chosen=chosen, scores=scores, linear=linear, learned_m=learned_m)


def _predict(method: Method, fitted: Fitted, segment: Segment) -> Predictions:
    if not method.sees_positions:
        segment = replace(segment, positions=np.full_like(segment.positions, np.nan))
    return fitted.predict(segment)


def _read_linearly(
    method: Method, fitted: Fitted, train: TrainSplit, predicted: Sequence[Predictions]
) -> tuple[tuple[Floats, ...] | None, float | None]:
    """Return the positions of each test that `linear_reading` gives, and its RMSE in training."""
    if method.sees_positions:
        return tuple(each.positions[:, 0] for each in predicted), None
    segments, window = train.dataset.segments, train.dataset.window
    states = [_states(_predict(method, fitted, segment)) for segment in segments]
    # As in the tests: before the window has filled a method may not know yet.
    learned = np.concatenate([each[window:] for each in states])
    positions = np.concatenate([segment.positions[window:] for segment in segments])
    read = linear_reading(learned, positions)
    if read is None:
        return None, None
    squares = np.square(read(learned) - positions).sum(axis=1)
    readings = tuple(read(_states(each)) for each in predicted)
    return readings, float(np.sqrt(squares[np.isfinite(squares)].mean()))


def _states(predictions: Predictions) -> Floats:
    if predictions.states is None:
        msg = 'a method has states along some segments and none along others'
        raise ValueError(msg)
    return predictions.states


def linear_reading(states: Floats, positions: Floats) -> Callable[[Floats], Floats] | None:
    """
    Regress positions (N, 2), metres, on states (N, k) by ridge, over the rows that are finite.

    Returned is the map of other states to positions; NaN where a state is not finite. There is
    none without a finite state at a known position.
    """
    known: Bools = np.asarray(np.isfinite(states).all(axis=1) & np.isfinite(positions).all(axis=1))
    if not known.any():
        return None
    mean, scale = states[known].mean(axis=0), states[known].std(axis=0)
    # A constant, such as the first coordinate of some states, is no number to divide by.
    scale = np.where(scale > 1e-9 * np.maximum(1.0, np.abs(mean)), scale, np.inf)
    rows = with_constant((states[known] - mean) / scale)
    coefficients = fit_ridge(rows, positions[known][:, None]).coefficients[0]

    def read(asked: Floats) -> Floats:
        found: Floats = with_constant((asked - mean) / scale) @ coefficients.T
        return found

    return read


def _explain(error: Exception) -> str:
    """Return a sentence about why a method failed, with a cure where there is one."""
    said = ' '.join(str(error).split()) or type(error).__name__
    ours = (getattr(error, 'name', None) or '').startswith(__name__.split('.', maxsplit=1)[0])
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, ImportError) and not ours:
        return (
            f'a Python package that it needs cannot be loaded ({said}): install what '
            "commands need with pip install '.[train]' in the checkout"
        )
    if isinstance(error, MemoryError):
        return 'there is not enough memory; give a shorter recording or a lower --rate'
    if isinstance(error, ArithmeticError | np.linalg.LinAlgError | ArpackError):
        return f'the arithmetic failed: {said}'
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f'{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}: {said}; '
        'this is a fault of the method, not of the recordings'
    )
