# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Score drives of many vehicles, each where it is read, and sum up by vehicle, day and place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TYPE_CHECKING

import numpy as np
from scipy.spatial import KDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import (
    evaluate,
    in_plane_of,
    recordings_by_route,
    trained_lag,
)
from two_manifold_ros.fleet import spread
from two_manifold_ros.inspection.lag import put_in_step
from two_manifold_ros.inspection.positions import check_units
from two_manifold_ros.inspection.shared_places import SHARED
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.sources import public

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.typing import Floats

MOST_PLACES = 200
"""Places along a route at which errors are summed: a half of a per cent of a lap each."""

SEPARATE = 0.1
"""Share of the longer side of a route that weak places which are listed are apart."""

FEWEST_DRIVES = 6
"""Drives of a vehicle of which it can be said that errors grow: five in a row are chance."""

DRIFT_CHANCE = 0.01
"""Probability at which a vehicle whose errors do not grow is said to drift, in a whole fleet."""


@dataclass(frozen=True)
class DriveScore:
    """Errors of one drive, or why it has none: sums over the ticks with a true position."""

    path: str
    trouble: str = ''  # why it has no scores, in a sentence
    vehicle: str = ''  # name of the folder that the bag is in
    begins_ns: int = 0
    route: str = ''  # of the model, where it knows several
    ticks: int = 0  # after the first window
    published: int = 0
    error_m: float = 0.0
    published_error_m: float = 0.0
    places: Floats | None = None  # (P, 3): ticks, published and error_m at each of `places_of`

    @property
    def day(self) -> str:
        """Date of the first sample, UTC."""
        return datetime.fromtimestamp(self.begins_ns * 1e-9, timezone.utc).date().isoformat()

    @property
    def mean_m(self) -> float:
        """Mean error over all ticks."""
        return self.error_m / max(self.ticks, 1)


def places_of(model: ModelHead) -> Floats:
    """Return at most ``MOST_PLACES`` places (P, 2) along the track of a model of one route."""
    track = model.track[np.isfinite(model.track).all(axis=1)]
    apart_m = float(np.ptp(track, axis=0).max()) / MOST_PLACES
    while True:
        # A cell has one place: the first position of the track in it.
        cells = np.floor(track / apart_m).astype(np.int64)
        _, first = np.unique(cells, axis=0, return_index=True)
        if len(first) <= MOST_PLACES:
            places: Floats = track[np.sort(first)]
            return places
        apart_m *= 1.2


def score_drives(
    model: ModelHead,
    paths: Sequence[str],
    options: ReadingOptions,
    client: Any = None,  # noqa: ANN401 - of an extra
    done: Callable[[float], None] = lambda _: None,
    **how: Any,  # noqa: ANN401 - as `score_drive` has them
) -> list[DriveScore]:
    """Filter bags, each where it is read, on the workers of a ``client``, see `fleet.spread`."""
    scores = spread(partial(score_drive, model, options, **how), paths, client, done)
    folders = {Path(each.path).absolute().parent for each in scores}
    names = Counter(each.name for each in folders)
    # Carts of two yards may have one name.
    return [
        replace(each, vehicle='/'.join(Path(each.path).absolute().parent.parts[-2:]))
        if names[each.vehicle] > 1
        else each
        for each in scores
    ]


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
    place = Path(public(path))
    name = DriveScore(public(path), vehicle=place.absolute().parent.name)
    try:
        recording = read_recording(path, options).between(None, until_s)
        check_units([recording])
        recording = recording.with_sensors_named(sensors)
        ((route, _),) = recordings_by_route(model, [in_plane_of(model, recording)]).items()
        head = model.routes[route]
        recording = in_plane_of(head, recording)
        (recording,) = put_in_step([recording], position_lag or trained_lag(head))
        found = evaluate(model, [recording], route=route)
    except InputError as error:
        return replace(name, trouble=str(error))
    (run,), truth = found.runs, found.truths[0][:, 0]
    known = np.isfinite(truth).all(axis=1)
    if not known.any():
        return replace(name, trouble=f'{name.path}: no present position of it is known')
    places = places_of(head)
    apart_m, at = KDTree(places).query(truth[known])
    # Beside a place, or between two of them.
    along_m = 2.0 * float(np.quantile(KDTree(places).query(places, 2)[0][:, 1], 0.95))
    if np.mean(apart_m <= along_m) < SHARED:
        trouble = (
            f'{name.path}: less than {SHARED:.0%} of its positions are along the route of the '
            'model'
        )
        return replace(name, trouble=trouble)
    errors = np.linalg.norm(run.positions[known, 0] - truth[known], axis=1)
    published = run.published[known]
    sums = np.zeros((len(places), 3))
    np.add.at(sums, at, np.column_stack([np.ones(len(at)), published, errors]))
    return replace(
        name,
        begins_ns=recording.imu.first_stamp,
        route=route,
        ticks=len(errors),
        published=int(published.sum()),
        error_m=float(errors.sum()),
        published_error_m=float(errors[published].sum()),
        places=sums,
    )


@dataclass(frozen=True)
class Total:
    """Scores of drives together, and the errors of their first and last third if these grow."""

    drives: int
    ticks: int
    published_share: float
    mean_m: float
    published_mean_m: float | None
    worst_m: float
    worst: str
    grows_m: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return vars(self) | {'grows_m': None if self.grows_m is None else list(self.grows_m)}


def total_of(scores: Sequence[DriveScore], vehicles: int = 0) -> Total:
    """Return the scores of drives together; of one of so many ``vehicles`` whether errors grow."""
    ticks, published = (sum(getattr(each, n) for each in scores) for n in ('ticks', 'published'))
    worst = max(scores, key=lambda each: each.mean_m)
    grows = None
    if vehicles and len(scores) >= FEWEST_DRIVES:
        from scipy.stats import spearmanr  # noqa: PLC0415 - takes half a second

        ordered = sorted(scores, key=lambda each: each.begins_ns)
        means = np.array([each.mean_m for each in ordered])
        ranks = spearmanr(np.arange(len(means)), means, alternative='greater')
        if ranks.pvalue < DRIFT_CHANCE / vehicles:
            third = len(means) // 3
            grows = float(means[:third].mean()), float(means[-third:].mean())
    return Total(
        len(scores),
        ticks,
        published / ticks,
        sum(each.error_m for each in scores) / ticks,
        sum(each.published_error_m for each in scores) / published if published else None,
        worst.mean_m,
        worst.path,
        grows,
    )


@dataclass(frozen=True)
class Fleet:
    """Scores of many drives of one route, and its places (P, 2), see `places_of`."""

    scores: tuple[DriveScore, ...]
    places: Floats

    @property
    def total(self) -> Total:
        """All scores together."""
        return total_of(self.scores)

    def by(self, name: str) -> dict[str, Total]:
        """Return scores by ``vehicle`` or by ``day``."""
        values = sorted({str(getattr(each, name)) for each in self.scores})
        groups = {
            value: [each for each in self.scores if getattr(each, name) == value]
            for value in values
        }
        tested = len(values) if name == 'vehicle' else 0
        return {value: total_of(group, tested) for value, group in groups.items()}

    @property
    def at_places(self) -> Floats:
        """Ticks, ticks published and the sum of errors at each place: (P, 3)."""
        sums = np.zeros((len(self.places), 3))
        for each in self.scores:
            sums += 0.0 if each.places is None else each.places
        return sums

    def weakest(self, most: int) -> list[dict[str, float]]:
        """Return the places of the largest mean errors, ``SEPARATE``, of those often driven."""
        ticks, published, errors = self.at_places.T
        # What is driven once in many drives is no place of the route, but a slip.
        often = ticks > 0.1 * np.median(ticks[ticks > 0.0])
        means = np.where(often, errors / np.maximum(ticks, 1.0), -1.0)
        apart_m = SEPARATE * float(np.ptp(self.places, axis=0).max())
        found = list[dict[str, float]]()
        while len(found) < most and (means >= 0.0).any():
            worst = int(np.argmax(means))
            x, y = self.places[worst].tolist()
            share = float(published[worst] / ticks[worst])
            found.append({'x': x, 'y': y, 'mean_m': float(means[worst]), 'published_share': share})
            near = np.linalg.norm(self.places - self.places[worst], axis=1) <= apart_m
            means[near] = -1.0
        return found

    def to_json(self, most: int) -> dict[str, Any]:
        """Return tables as JSON values, and so many of the weakest places."""
        return {
            'all': self.total.to_json(),
            'vehicles': {name: each.to_json() for name, each in self.by('vehicle').items()},
            'days': {name: each.to_json() for name, each in self.by('day').items()},
            'weakest_places': self.weakest(most),
        }


def fleets_of(model: ModelHead, scores: Sequence[DriveScore]) -> dict[str, Fleet]:
    """Return scores by the route of the model; raise ``InputError`` if no drive has scores."""
    routes = {each.route for each in scores if not each.trouble}
    if not routes:
        msg = f'none of the bags could be scored; of the first: {scores[0].trouble}'
        raise InputError(msg)
    return {
        name: Fleet(
            tuple(each for each in scores if not each.trouble and each.route == name),
            places_of(model.routes[name]),
        )
        for name in sorted(routes)
    }
