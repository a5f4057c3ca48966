# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a comparison came to.

``to_json`` gives one object, without wall times, so that two runs give the same bytes::

    protocol          "share", "bags" or "slot-car"
    rate_hz, window   ticks per second, ticks in a window
    horizons          ticks ahead, in order
    learned, followed lists of {"recording": name, "seconds": length}
    scored            for each horizon, on how many ticks every method is scored, all the same
    notes             sentences to know before believing the numbers
    methods           list of {"name", "title", "told", "failure", "chosen", "scores"}:
                      "failure" is null or the reason; then "chosen" and "scores" are null.
                      "chosen" is what the method settled; "scores" has for each horizon
                      {"rmse_m", "median_m", "p95_m", "p99_m", "along_rmse_m", "cross_rmse_m",
                      "told_share", "told_rmse_m"}, see ``Errors``, null where nothing is scored
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.evaluation.scores import score

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class Errors:
    """
    How far predictions at one horizon were off, metres; ``None`` where nothing was scored.

    Parameters
    ----------
    rmse_m, median_m, p95_m, p99_m
        Root mean square, median, 95th and 99th percentile of the distances at all ticks, whether
        the method would have published its position or not.
    along_rmse_m, cross_rmse_m
        Root mean square error along and across the true direction of travel, at all ticks.
    told_share, told_rmse_m
        Share of the ticks at which the method would have published its position, and the root mean
        square of the distances there; ``None`` for a method that withholds nothing.

    """

    rmse_m: float | None
    median_m: float | None
    p95_m: float | None
    p99_m: float | None = None
    along_rmse_m: float | None = None
    cross_rmse_m: float | None = None
    told_share: float | None = None
    told_rmse_m: float | None = None


def errors_of(errors: Floats, directions: Floats, valid: Bools | None) -> Errors:
    """
    Summarise errors.

    Parameters
    ----------
    errors : (T, 2)
        Metres, NaN where nothing is scored.
    directions : (T, 2)
        True directions of travel, unit vectors.
    valid : (T,) bool
        See ``Course``.

    """
    count = len(errors)
    told = np.ones(count, dtype=np.bool_) if valid is None else valid
    found = score(errors, np.full((count, 2, 2), np.nan), told, directions)
    return Errors(
        rmse_m=found.all.rmse_m,
        median_m=found.all.median_m,
        p95_m=found.all.p95_m,
        p99_m=found.all.p99_m,
        along_rmse_m=found.along_rmse_m,
        cross_rmse_m=found.cross_rmse_m,
        told_share=None if valid is None else found.told_share,
        told_rmse_m=None if valid is None else found.rmse_m,
    )


@dataclass(frozen=True)
class Result:
    """
    One method.

    Parameters
    ----------
    name, title, told
        See ``Method``.
    failure
        Why there is nothing below, or ``None``.
    chosen
        See ``FittedMethod``.
    scores
        One for each horizon.
    linear
        For each segment that was followed, the positions (T, 2) read linearly from the states;
        ``None`` for a method without states.

    """

    name: str
    title: str
    told: bool
    failure: str | None = None
    chosen: dict[str, Any] | None = None
    scores: tuple[Errors, ...] | None = None
    linear: tuple[Floats, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all but the track as JSON values."""
        return {
            'name': self.name,
            'title': self.title,
            'told': self.told,
            'failure': self.failure,
            'chosen': self.chosen,
            'scores': None if self.scores is None else [asdict(each) for each in self.scores],
        }


@dataclass(frozen=True)
class Comparison:
    """
    All methods, on the same ticks.

    Parameters
    ----------
    protocol, rate_hz, window, horizons, notes
        As in the JSON object above.
    learned, followed
        Names and seconds of the recordings.
    scored
        For each horizon, how many ticks count.
    tracks
        For each segment that was followed, the true positions (T, 2), NaN where not scored.
    results
        In the order asked for.

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
        """Return the object described above; no number is NaN."""
        return {
            'protocol': self.protocol,
            'rate_hz': self.rate_hz,
            'window': self.window,
            'horizons': list(self.horizons),
            'learned': [_named(each) for each in self.learned],
            'followed': [_named(each) for each in self.followed],
            'scored': list(self.scored),
            'notes': list(self.notes),
            'methods': [result.to_json() for result in self.results],
        }


def _named(recording: tuple[str, float]) -> dict[str, Any]:
    return {'recording': recording[0], 'seconds': round(recording[1], 3)}
