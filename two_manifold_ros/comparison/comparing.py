# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fit every method on the same training part, follow the tests, and score the same ticks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
import json
from pathlib import Path
import traceback
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import imu_misfit, Score, score, truth_ahead
from two_manifold_ros.hse_hmm.readout import fit_ridge, segment_targets
from two_manifold_ros.recordings.excursions import usable_places
from two_manifold_ros.recordings.recording import check_one_plane, ImuStream, Recording
from two_manifold_ros.ticks.segments import cut_segments, Segment
from two_manifold_ros.training.dataset import build_dataset, Dataset
from two_manifold_ros.training.held_out import hold_out
from two_manifold_ros.training.train import with_time_scales
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.training.settings import TrainingSettings


@dataclass(frozen=True)
class TrainSplit:
    """Training data that every method learns from: recordings, and the dataset made of them."""

    recordings: tuple[Recording, ...]
    dataset: Dataset
    settings: TrainingSettings

    @property
    def horizons(self) -> tuple[int, ...]:
        """Ticks ahead, 0 first."""
        return self.settings.horizons

    @property
    def positions(self) -> Floats:
        """Positions of all ticks (N, 2), metres, NaN where unknown."""
        return np.concatenate(self.dataset.tracks)

    @property
    def targets(self) -> list[Floats]:
        """Positions at the horizons (T, H, 2) of the ticks of each segment, NaN where unknown."""
        return [self.targets_of(segment) for segment in self.dataset.segments]

    def targets_of(self, segment: Segment) -> Floats:
        """Return the positions at the horizons (T, H, 2) of any segment, NaN where unknown."""
        period_s = self.dataset.period_s
        return segment_targets(segment.positions, self.horizons, period_s)[:, :-1]

    def mean_position(self) -> Floats:
        """Return the mean of the known positions (2,); raise ``InputError`` if none is known."""
        known = np.isfinite(self.positions).all(axis=1)
        if not known.any():
            msg = 'no training position is known, so there is no mean; record positions as well'
            raise InputError(msg)
        mean: Floats = self.positions[known].mean(axis=0)
        return mean


class Predictions(NamedTuple):
    """Predictions along T ticks, of which row t depends on the ticks up to t alone."""

    positions: Floats  # (T, H, 2), metres, NaN where the method has none yet
    states: Floats | None = None  # (T, k)
    valid: Bools | None = None  # (T,)


class Fitted(NamedTuple):
    """A causal filter of one segment from a cold start, and its settings, JSON by name."""

    predict: Callable[[Segment], Predictions]
    chosen: dict[str, Any]


class Method(NamedTuple):
    """A way to learn a route, which raises ``InputError`` if it cannot."""

    name: str  # on the command line
    title: str  # in tables
    fit: Callable[[TrainSplit], Fitted]
    sees_positions: bool = False  # gets the positions of the segments that it filters


def fit_best(
    candidates: Sequence[dict[str, Any]],
    train: TrainSplit,
    prepare: Callable[[TrainSplit], Callable[..., Fitted]],
) -> Fitted:
    """
    Fit the settings that do best on blocks held out of the training part, to all of it.

    Settings that raise ``InputError`` or ``LinAlgError`` are passed over; the first are taken
    where no block can be held out, and where none can be fitted.
    """
    seen, held = hold_out(train.dataset.segments, train.dataset.window)
    errors: dict[int, float] = {}
    if seen and held:
        fit = prepare(replace(train, dataset=replace(train.dataset, segments=tuple(seen))))
        for index, candidate in enumerate(candidates):
            with suppress(InputError, np.linalg.LinAlgError):
                errors[index] = held_out_error(fit(**candidate), held, train)
    chosen = candidates[min(errors, key=errors.__getitem__, default=0)]
    fitted = prepare(train)(**chosen)
    return fitted._replace(chosen=chosen | fitted.chosen)


def held_out_error(fitted: Fitted, segments: Sequence[Segment], train: TrainSplit) -> float:
    """
    Return the root mean square error of a fitted method, metres, averaged over the horizons.

    Ticks before the window has filled do not count; later ones without a prediction count with the
    spread of the training positions.
    """
    spread_m = float(np.sqrt(np.nanvar(train.positions, axis=0).sum()))
    errors = [
        # Of an unknown truth the error is not known, of a missing prediction it is infinite.
        np.nan_to_num(fitted.predict(each).positions, nan=np.inf) - train.targets_of(each)
        for each in segments
    ]
    window = train.dataset.window
    squares = np.square(np.concatenate([each[window:] for each in errors])).sum(axis=2)
    squares[np.isinf(squares)] = spread_m**2
    counts = np.isfinite(squares).sum(axis=0)
    means = np.nansum(squares, axis=0)[counts > 0] / counts[counts > 0]
    return float(np.sqrt(means).mean()) if len(means) else spread_m


def with_constant(states: Floats) -> Floats:
    """Return (T, 1 + k) rows of the constant 1 and (T, k) states."""
    return np.concatenate([np.ones((len(states), 1)), states], axis=1)


@dataclass(frozen=True, kw_only=True)
class ScoredSegment(Segment):
    """T ticks of a recording, all its samples, and the truth to score predictions with."""

    recording: str  # its name
    imu: ImuStream  # also the samples before the segment
    truth: Floats  # (T, H, 2), at the horizons, NaN where unknown
    directions: Floats  # (T, H, 2), of travel, unit vectors
    scored: Bools  # (T,), where predictions count


def cut_tests(recording: Recording, train: TrainSplit) -> Iterator[ScoredSegment]:
    """Cut a recording like the training part at its gaps; ticks after the first window count."""
    dataset = train.dataset
    if trouble := imu_misfit(recording, dataset):
        raise InputError(trouble)
    check_one_plane([train.recordings[0], recording])
    channels = dataset.channels
    samples = channels.without_dead(recording.imu.samples)
    cleaned = replace(recording, imu=replace(recording.imu, samples=samples))
    segments, _ = cut_segments(cleaned, dataset.period_ns, dataset.max_gap_ns, channels.largest)
    for segment in segments:
        # Beyond the last tick of a segment positions may still be known.
        truth, directions = truth_ahead(
            recording.positions, segment.stamps, train.horizons, dataset.period_ns
        )
        yield ScoredSegment(
            segment.stamps,
            segment.values,
            segment.positions,
            recording=recording.name,
            imu=recording.imu,
            truth=truth,
            directions=directions,
            scored=np.asarray(np.arange(len(segment)) >= dataset.window - 1),
        )


class Plan(NamedTuple):
    """Training part and tests of a comparison."""

    train: TrainSplit
    tests: tuple[ScoredSegment, ...]


SHARE = 0.3
"""Of a single recording, at its end, that is followed: with half, errors depend on single laps."""


def plan_share(recording: Recording, settings: TrainingSettings, share: float = SHARE) -> Plan:
    """Learn from the start of one recording and follow its last share, between 0 and 1."""
    if not 0.0 < share < 1.0:
        raise InputError(f'a share of {share:g} cannot be followed; give a number between 0 and 1')
    if len(recording.imu.stamps) < 2:
        raise InputError(f'{recording.name}: there are no two IMU samples; record longer')
    cut_s = (1.0 - share) * (recording.imu.span_ns * 1e-9)
    first, last = recording.between(None, cut_s), recording.between(cut_s, None)
    return plan_parts([first], [last], settings)


def plan_bags(
    learned: Sequence[Recording], followed: Sequence[Recording], settings: TrainingSettings
) -> Plan:
    """Learn from some recordings and follow others; every tick counts after the first window."""
    twice = {recording.name for recording in learned} & {each.name for each in followed}
    if twice:
        msg = f'{", ".join(sorted(twice))}: learned from and followed; name other bags with --test'
        raise InputError(msg)
    return plan_parts(learned, followed, settings)


def plan_parts(
    learned: Sequence[Recording], followed: Sequence[Recording], settings: TrainingSettings
) -> Plan:
    """Do as `plan_bags`, also with parts of one recording, which has one name."""
    settings = with_time_scales(learned, settings)
    train = TrainSplit(tuple(learned), build_dataset(learned, settings), settings)
    cut = [test for each in followed for test in cut_tests(each, train)]
    tests = tuple(each for each in cut if np.isfinite(each.truth[each.scored]).all(axis=2).any())
    if not tests:
        names = ', '.join(dict.fromkeys(recording.name for recording in followed))
        raise InputError(
            f'{names}: the part to follow has no stretch longer than a window of '
            f'{train.dataset.window * train.dataset.period_s:.1f} s with positions after it; '
            'follow a longer part, or shorten --window'
        )
    return Plan(train, tests)


@dataclass(frozen=True)
class Result:
    """One method of a comparison: its scores, or a failure in a sentence."""

    name: str
    title: str
    sees_positions: bool
    failure: str | None = None
    chosen: dict[str, Any] | None = None
    scores: tuple[Score, ...] | None = None  # one for each horizon
    # (T, 2) of each test, read linearly from states, NaN as in the tracks of the comparison.
    linear: tuple[Floats, ...] | None = None
    learned_m: float | None = None  # RMSE of that reading in training
    missing: int = 0  # ticks without a usable position, for which the mean training one counts

    def to_json(self) -> dict[str, Any]:
        """Return all but the track as JSON values."""
        names = ('name', 'title', 'sees_positions', 'failure', 'chosen')
        of_all = ('rmse_m', 'median_m', 'p95_m', 'p99_m')
        of_each = ('along_rmse_m', 'cross_rmse_m', 'published_share')
        scores = [
            {name: getattr(each.all, name) for name in of_all}
            | {name: getattr(each, name) for name in of_each}
            | {'published_rmse_m': each.rmse_m}
            for each in self.scores or ()
        ]
        return {name: getattr(self, name) for name in names} | {'scores': scores or None}


@dataclass(frozen=True)
class Comparison:
    """All methods on the same ticks; ``tracks`` (T, 2) are NaN where nothing is scored."""

    rate_hz: float
    window: int
    horizons: tuple[int, ...]
    learned: tuple[tuple[str, float], ...]  # names of recordings, and seconds
    followed: tuple[tuple[str, float], ...]
    scored: tuple[int, ...]
    tracks: tuple[Floats, ...]
    results: tuple[Result, ...]

    @property
    def succeeded(self) -> tuple[Result, ...]:
        """The methods with scores."""
        return tuple(result for result in self.results if result.scores is not None)

    @property
    def notes(self) -> list[str]:
        """Sentences about methods that lack positions."""
        return [
            f'{each.title} has no usable position at {each.missing} of {max(self.scored)} ticks, '
            'for which the mean training position counts'
            for each in self.results
            if each.missing
        ]

    def reading_rmse_m(self, result: Result) -> float:
        """Return the root mean square error of the linear readings of a method, metres."""
        away = np.concatenate(result.linear or ()) - np.concatenate(self.tracks)
        return float(np.sqrt(np.nanmean(np.square(away).sum(axis=1))))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; no number is NaN."""
        named = {
            name: [{'recording': each, 'seconds': round(lasts_s, 3)} for each, lasts_s in of]
            for name, of in (('learned', self.learned), ('followed', self.followed))
        }
        return {
            'rate_hz': self.rate_hz,
            'window': self.window,
            'horizons': list(self.horizons),
            'scored': list(self.scored),
            'notes': self.notes,
            **named,
            'methods': [result.to_json() for result in self.results],
        }


def compare(
    plan: Plan, methods: Sequence[Method], progress: Callable[[str, float], None] = lambda *_: None
) -> Comparison:
    """
    Run methods by a plan; the same plan and methods give the same numbers, bit by bit.

    A prediction counts where its truth is known and its tick is scored by the plan, for every
    method, whether it would have published it or not. No exception holds up the other methods.
    """
    wanted = np.concatenate(
        [np.isfinite(test.truth).all(axis=2) & test.scored[:, None] for test in plan.tests]
    )
    tracks = [np.where(test.scored[:, None], test.truth[:, 0], np.nan) for test in plan.tests]
    results: list[Result] = []
    for number, method in enumerate(methods):
        progress(f'running {method.name}', number / len(methods))
        about = Result(method.name, method.title, method.sees_positions)
        try:
            results.append(_run(method, plan, wanted, about, tracks))
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            results.append(replace(about, failure=_explain(error)))
    progress('scoring', 1.0)
    followed: dict[str, float] = {}
    for test in plan.tests:
        seconds = len(test) * plan.train.dataset.period_s
        followed[test.recording] = followed.get(test.recording, 0.0) + seconds
    return Comparison(
        rate_hz=plan.train.dataset.rate_hz,
        window=plan.train.dataset.window,
        horizons=plan.train.horizons,
        learned=tuple((each.name, each.imu.span_ns * 1e-9) for each in plan.train.recordings),
        followed=tuple(followed.items()),
        scored=tuple(wanted.sum(axis=0).tolist()),
        tracks=tuple(tracks),
        results=tuple(results),
    )


def _run(
    method: Method, plan: Plan, wanted: Bools, about: Result, tracks: Sequence[Floats]
) -> Result:
    """Fit a method, follow the tests, and score what is wanted (T, H)."""
    fitted, segments = method.fit(plan.train), plan.train.dataset.segments

    def predict(segment: Segment) -> Predictions:
        if not method.sees_positions:
            segment = replace(segment, positions=np.full_like(segment.positions, np.nan))
        return fitted.predict(segment)

    predicted = [predict(test) for test in plan.tests]
    readings: list[Floats] | None = None
    learned_m = None
    if all(each.states is not None for each in predicted):
        if method.sees_positions:
            readings = [each.positions[:, 0] for each in predicted]
        else:
            # As in the tests: before the window has filled a method may not know yet.
            window = plan.train.dataset.window
            states = [np.asarray(predict(each).states)[window:] for each in segments]
            learned = np.concatenate(states)
            places = np.concatenate([each.positions[window:] for each in segments])
            if read := linear_reading(learned, places):
                squares = np.square(read(learned) - places).sum(axis=1)
                learned_m = float(np.sqrt(squares[np.isfinite(squares)].mean()))
                readings = [read(np.asarray(each.states)) for each in predicted]
    positions = np.concatenate([each.positions for each in predicted])
    missing = wanted & ~usable_places(positions.reshape(-1, 2)).reshape(wanted.shape)
    truth = np.where(wanted[..., None], np.concatenate([t.truth for t in plan.tests]), np.nan)
    directions = np.concatenate([test.directions for test in plan.tests])
    errors = np.where(missing[..., None], plan.train.mean_position(), positions) - truth
    valid = [each.valid for each in predicted if each.valid is not None]
    published = np.concatenate(valid) if len(valid) == len(predicted) else None
    no_ellipse = np.full((len(errors), 2, 2), np.nan)
    return replace(
        about,
        chosen=json.loads(json.dumps(fitted.chosen, sort_keys=True, allow_nan=False)),
        scores=tuple(
            score(errors[:, column], no_ellipse, published, directions[:, column])
            for column in range(errors.shape[1])
        ),
        linear=None
        if readings is None
        else tuple(
            np.where(np.isfinite(true), read, np.nan)
            for read, true in zip(readings, tracks, strict=True)
        ),
        learned_m=learned_m,
        missing=int(missing.any(axis=1).sum()),
    )


def linear_reading(states: Floats, positions: Floats) -> Callable[[Floats], Floats] | None:
    """Return the ridge regression of positions (N, 2) on states (N, k); none if none is known."""
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
    if isinstance(error, InputError):
        return str(error)
    said = ' '.join(str(error).split()) or type(error).__name__
    if isinstance(error, ImportError):
        return (
            f'a Python package that it needs cannot be loaded ({said}): install what '
            "commands need with pip install '.[train]' in the checkout"
        )
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f'{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}: {said}; '
        'this is a fault of the method, not of the recordings'
    )
