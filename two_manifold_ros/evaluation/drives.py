# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Score drives of many vehicles, each where it is read, and sum up by vehicle and day."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate, in_plane_of, route_of
from two_manifold_ros.fleet import spread
from two_manifold_ros.inspection.lag import put_in_step, trained_lag
from two_manifold_ros.inspection.positions import check_units
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.sources import public

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead


@dataclass(frozen=True)
class DriveScore:
    """Errors of one drive, or why it has none: sums over the ticks with a true position."""

    path: str
    trouble: str = ''  # why it has no scores, in a sentence
    vehicle: str = ''  # the folder that the bag is in, and the one around it: yard/cart
    day: str = ''  # of the first sample, UTC
    route: str = ''  # of the model, where it knows several
    ticks: int = 0  # after the first window
    published: int = 0
    error_m: float = 0.0
    published_error_m: float = 0.0

    @property
    def mean_m(self) -> float:
        """Mean error over all ticks."""
        return self.error_m / max(self.ticks, 1)


def score_drives(
    model: ModelHead,
    paths: Sequence[str],
    options: ReadingOptions,
    client: Any = None,  # noqa: ANN401 - of an extra
    done: Callable[[float], None] = lambda _: None,
    **how: Any,  # noqa: ANN401 - as `score_drive` has them
) -> list[DriveScore]:
    """Filter bags, each where it is read, on the workers of a ``client``, see `fleet.spread`."""
    return spread(partial(score_drive, model, options, **how), paths, client, done)


def score_drive(
    model: ModelHead,
    options: ReadingOptions,
    path: str,
    *,
    position_lag: str = '',
    until_s: float | None = None,
    sensors: Mapping[str, str] = MappingProxyType({}),
) -> DriveScore:
    """Score the first ``until_s`` of a bag, in step as trained, or say why it cannot be."""
    shown = public(path)
    name = DriveScore(shown, vehicle='/'.join(Path(shown).absolute().parent.parts[-2:]))
    try:
        recording = read_recording(path, options).between(None, until_s)
        check_units([recording])
        recording = in_plane_of(model, recording.with_sensors_named(sensors))
        route = route_of(recording, model)
        head = model.routes[route]
        recording = in_plane_of(head, recording)
        (recording,) = put_in_step([recording], position_lag or trained_lag(head))
        found = evaluate(model, [recording], route=route)
    except InputError as error:
        return replace(name, trouble=str(error))
    (run,), truth = found.runs, found.truths[0][:, 0]
    known = np.isfinite(truth).all(axis=1)
    if not known.any():
        return replace(name, trouble=f'{shown}: no present position of it is known')
    errors = np.linalg.norm(run.positions[known, 0] - truth[known], axis=1)
    published = run.published[known]
    first = datetime.fromtimestamp(recording.imu.first_stamp * 1e-9, timezone.utc)
    return replace(
        name,
        day=first.date().isoformat(),
        route=route,
        ticks=len(errors),
        published=int(published.sum()),
        error_m=float(errors.sum()),
        published_error_m=float(errors[published].sum()),
    )


@dataclass(frozen=True)
class Total:
    """Scores of drives together."""

    drives: int
    ticks: int
    published_share: float
    mean_m: float
    published_mean_m: float | None
    worst_m: float
    worst: str


def total_of(scores: Sequence[DriveScore]) -> Total:
    """Return the scores of drives together."""
    ticks, published = (sum(getattr(each, n) for each in scores) for n in ('ticks', 'published'))
    worst = max(scores, key=lambda each: each.mean_m)
    return Total(
        len(scores),
        ticks,
        published / ticks,
        sum(each.error_m for each in scores) / ticks,
        sum(each.published_error_m for each in scores) / published if published else None,
        worst.mean_m,
        worst.path,
    )


@dataclass(frozen=True)
class Fleet:
    """Scores of many drives of one route together, by vehicle, and by day."""

    all: Total
    vehicles: dict[str, Total]
    days: dict[str, Total]


def fleets_of(scores: Sequence[DriveScore]) -> dict[str, Fleet]:
    """Return scores by the route of the model; raise ``InputError`` if no drive has scores."""
    good = [each for each in scores if not each.trouble]
    if not good:
        raise InputError(f'none of the bags could be scored; of the first: {scores[0].trouble}')

    def grouped(scores: Sequence[DriveScore], name: str) -> dict[str, list[DriveScore]]:
        values = sorted({getattr(each, name) for each in scores})
        return {v: [each for each in scores if getattr(each, name) == v] for v in values}

    def totals(scores: Sequence[DriveScore], name: str) -> dict[str, Total]:
        return {value: total_of(group) for value, group in grouped(scores, name).items()}

    return {
        route: Fleet(total_of(of_it), totals(of_it, 'vehicle'), totals(of_it, 'day'))
        for route, of_it in grouped(good, 'route').items()
    }
