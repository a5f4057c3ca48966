# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the filter over recordings of known routes, and score every tick beside two baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
import time
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError, NoUseError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.fixes import Fix
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.fleet import spread
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, squared_mahalanobis
from two_manifold_ros.inspection.shared_places import positions_apart, SHARED, shared_places
from two_manifold_ros.interface.assessment import as_the_node, assess_offline, Assessment, CODES
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.excursions import usable_places
from two_manifold_ros.recordings.recording import (
    median_interval_ns,
    plane_of,
    PositionStream,
    Recording,
)
from two_manifold_ros.recordings.satellite_fixes import distance_m, in_plane
from two_manifold_ros.ticks.segments import positions_at, usable_samples
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.training.dataset import Dataset


REACH_NS = 250_000_000
"""Before and after a stamp between which the direction of travel is taken: more cuts chicanes."""


@dataclass(frozen=True)
class ErrorSummary:
    """Summary of the errors of ``n`` predictions; all else is ``None`` if there are none."""

    rmse_m: float | None  # of the distances, as the next three
    median_m: float | None
    p95_m: float | None
    p99_m: float | None
    coverage68: float | None  # share of true positions in the ellipse, if one is sound
    coverage95: float | None
    n: int  # whose truth is known


@dataclass(frozen=True)
class Score(ErrorSummary):
    """
    Summary of errors; the fields of the base class summarise published predictions only.

    If a method withholds nothing, these fields summarise no prediction, and its share is ``None``.
    """

    all: ErrorSummary  # of all predictions, published or not, as those along and across
    published_share: float | None  # of the predictions with a known truth
    along_rmse_m: float | None  # along the true direction of travel, where it is known
    cross_rmse_m: float | None


@dataclass(frozen=True)
class HorizonScore:
    """
    The model and two baselines at one horizon, in ticks, all on the same ticks.

    ``mean`` always answers the mean training position. ``previous`` answers the true position at
    the tick, which no other is given: at horizon 0 it has no error.
    """

    horizon: int
    model: Score
    mean: Score
    previous: Score


def score(
    errors: Floats, covariances: Floats, published: Bools | None, directions: Floats
) -> Score:
    """Score (T, 2) errors, predicted minus true, m; ``published`` is ``None`` if all is."""
    known: Bools = np.asarray(np.isfinite(errors).all(axis=1))
    every = summarise(errors[known], covariances[known])
    chosen = known & published if published is not None else np.zeros_like(known)
    along = (errors * directions).sum(axis=1)
    cross = directions[:, 0] * errors[:, 1] - directions[:, 1] * errors[:, 0]
    share = float(np.mean(published[known])) if published is not None and every.n else None
    return Score(
        **vars(summarise(errors[chosen], covariances[chosen])),
        all=every,
        published_share=share,
        along_rmse_m=_root_mean_square(along),
        cross_rmse_m=_root_mean_square(cross),
    )


def summarise(errors: Floats, covariances: Floats) -> ErrorSummary:
    """Summarise finite (n, 2) errors in metres and their (n, 2, 2) covariances in m^2."""
    if not len(errors):
        return ErrorSummary(None, None, None, None, None, None, 0)
    distances = np.linalg.norm(errors, axis=1)
    median, p95, p99 = np.quantile(distances, (0.5, 0.95, 0.99)).tolist()
    a, b, c = covariances[:, 0, 0], covariances[:, 0, 1], covariances[:, 1, 1]
    sound = (a > 0.0) & (a * c > b * b) & np.isfinite(covariances).all(axis=(1, 2))
    inside68 = inside95 = None
    if sound.any():
        squared = squared_mahalanobis(errors[sound], covariances[sound])
        inside68, inside95 = (
            float(np.count_nonzero(squared <= most) / len(errors)) for most in CHI_SQUARE
        )
    return ErrorSummary(
        _root_mean_square(distances), median, p95, p99, inside68, inside95, len(errors)
    )


def _root_mean_square(values: Floats) -> float | None:
    """Return the root of the mean square of the finite among (n,) values."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(np.square(finite)))) if len(finite) else None


def truth_ahead(
    stream: PositionStream | None, stamps: Ints, horizons: Sequence[int], period_ns: int
) -> tuple[Floats, Floats]:
    """
    Return true positions and directions (T, H, 2) at horizons in ticks of stamps (T,) in ns.

    A direction is taken along the way from ``REACH_NS`` before to as much after, or as far as it
    is known: a unit vector, NaN if the vehicle stands.
    """
    places, before, after = (
        np.stack(
            [positions_at(stream, stamps + each * period_ns + apart) for each in horizons], axis=1
        )
        for apart in (0, -REACH_NS, REACH_NS)
    )
    before, after = (np.where(np.isfinite(side), side, places) for side in (before, after))
    lengths = np.linalg.norm(after - before, axis=2, keepdims=True)
    return places, (after - before) / np.where(lengths > 0.0, lengths, np.nan)


UNUSABLE = 'unusable_positions'
"""Counter of estimates without a usable position at a horizon, as those of another route."""


@dataclass(frozen=True)
class FilterRun:
    """Every estimate of a run over one recording, from the first full window on."""

    stamps: Ints  # (T,), ends of the ticks, ns
    positions: Floats  # (T, H, 2), m; the mean of the model stands where none is usable
    covariances: Floats  # (T, H, 2, 2), m^2, NaN there
    published: Bools  # the others are here as well, so that their errors count
    statuses: Ints  # see `interface.assessment.CODES`
    causes: tuple[str, ...]  # empty if all is well
    reasons: Mapping[str, str]  # the last sentence about each cause
    seconds_per_tick: Floats  # wall time, ticks before the first window included
    counters: Counter[str]  # of the filter, and `UNUSABLE`
    routes: tuple[str, ...]  # empty names where the model knows one route
    at_end: Assessment  # state, cause and cure after the last sample


def in_plane_of(model: ModelHead, recording: Recording) -> Recording:
    """Return a recording in the tangent plane of the nearest route of a model, if it has fixes."""
    stream = recording.positions
    origins = [each.origin for each in model.routes.values() if each.origin is not None]
    if stream is None or stream.origin is None or not origins:
        return recording
    own = stream.origin
    nearest = min(origins, key=lambda each: distance_m(each, own))
    return replace(recording, positions=in_plane(stream, nearest))


def recordings_by_route(
    model: ModelHead, recordings: Sequence[Recording]
) -> dict[str, list[Recording]]:
    """Return recordings by the route that they drive most; ``InputError`` if none."""
    if '' in model.routes:
        return {'': list(recordings)}
    found: dict[str, list[Recording]] = {}
    for recording in recordings:
        found.setdefault(route_of(recording, model), []).append(recording)
    return {name: found[name] for name in model.routes if name in found}


def route_of(recording: Recording, model: ModelHead) -> str:
    """Return the name of the route at whose places a recording drives most."""
    shares, stream = {}, recording.positions
    for name, each in model.routes.items():
        if stream is None or stream.origin != each.origin:
            continue
        if len({stream.frame_id, each.frame_id} - {''}) < 2:
            period_s = 1.0 / each.rate_hz
            tracks = [positions_apart(recording, period_s), each.track]
            shares[name] = float(shared_places(tracks, period_s)[0, 1])
    if not shares:
        raise InputError(
            f'{recording.name}: it has no positions in the frame of a route of the model, so its '
            'route is not known: evaluate on recordings with positions in the frames of the '
            'training'
        )
    best = max(shares, key=shares.__getitem__)
    if shares[best] < SHARED:
        raise InputError(
            f'{recording.name}: next to none of its places are on a route of the model, driven in '
            'the same direction, so no estimate could be right: two-manifold replay shows whether '
            'the filter stays lost there'
        )
    return best


@dataclass(frozen=True)
class RouteNaming:
    """How often the right route was named, one and a half windows after each start."""

    ticks: int
    right: float  # share of the ticks after that
    wrong_published: float | None  # of those with a published position, if there are any


def estimates_along(
    live: Filter,
    recording: Recording,
    progress: Callable[[str, float], None],
    silent: Callable[[int, Assessment], None] = lambda *_: None,
    fixes_s: float | None = None,
) -> Iterator[tuple[Estimate, float]]:
    """
    Yield estimates and their seconds; ``silent`` gets each second without a tick.

    For ``fixes_s`` see `fixes_along`; the filter gets each before the next sample.
    """
    imu = recording.imu
    fixes = [] if fixes_s is None else fixes_along(recording, fixes_s)[::-1]
    stamps, samples = imu.stamps.tolist(), recording.samples_with(live.running.further_names)
    shown, since, counts = imu.first_stamp, imu.first_stamp, live.counters.copy()
    silence_ns = max(10**9, 2 * live.running.period_ns)
    for index, (stamp, sample) in enumerate(zip(stamps, samples, strict=True)):
        if index % 1000 == 0:
            progress(f'filtering {recording.name}', index / len(stamps))
        began = time.perf_counter()
        while fixes and fixes[-1].stamp_ns <= stamp:
            live.fix(fixes.pop())
        estimates = live.push(stamp, sample)
        seconds = time.perf_counter() - began
        for estimate in estimates:
            yield estimate, seconds / len(estimates)
        quiet = stamp - shown >= silence_ns
        if quiet and not estimates:
            silent(stamp, assess_offline(live, imu.topic, stamp - since, counts))
        if quiet or estimates or stamp < shown:
            shown = stamp
            if live.counters['used'] > counts['used']:
                since, counts = stamp, live.counters.copy()


def fixes_along(recording: Recording, every_s: float) -> list[Fix]:
    """Return the first position of a recording and one each so many seconds, or each if 0."""
    if every_s < 0.0:
        raise InputError(f'--fixes {every_s:g} is negative: give seconds, or 0 for each position')
    stream = recording.positions
    if stream is None or not stream.usable.any():
        msg = f'{recording.name}: it has no positions to take fixes from: leave out --fixes'
        raise InputError(msg)
    rows = np.flatnonzero(stream.usable)
    rows = rows[np.argsort(stream.stamps[rows], kind='stable')]
    if every_s > 0.0:
        turns = (stream.stamps[rows] - stream.stamps[rows[0]]) // round(1e9 * every_s)
        rows = rows[np.unique(turns, return_index=True)[1]]
    exact = np.zeros((2, 2))
    return [
        Fix(stamp, place, exact, frame_id=stream.frame_id, origin=stream.origin)
        for stamp, place in zip(stream.stamps[rows].tolist(), stream.positions[rows], strict=True)
    ]


def run_filter(
    model: ModelHead,
    recording: Recording,
    progress: Callable[[str, float], None] = lambda *_: None,
    route: str = '',
    fixes_s: float | None = None,
) -> FilterRun:
    """
    Filter a recording from a cold start, for positions at the horizons of a ``route``.

    An estimate of another route has none: the mean position stands for it. For ``fixes_s`` see
    `fixes_along`.
    """
    head = model.routes[route]
    live = Filter(model)
    live.warm_up()
    imu = recording.imu
    kept: list[Estimate] = []
    seconds: list[float] = []
    for estimate, took in estimates_along(live, recording, progress, fixes_s=fixes_s):
        seconds.append(took)
        # After a reset the window fills again; errors leave out the first filling alone, also if
        # the filter publishes before, after a fix.
        full = fixes_s is None or len(seconds) >= head.window
        if kept or (full and estimate.status is not Status.FILLING):
            kept.append(as_the_node(live, estimate))
    positions = np.full((len(kept), len(head.horizons), 2), np.nan)
    covariances = np.full((*positions.shape, 2), np.nan)
    for row, each in enumerate(kept):
        if each.route == route:
            positions[row], covariances[row] = each.positions, each.covariances
    lost = ~usable_places(positions.reshape(-1, 2)).reshape(positions.shape[:2])
    positions[lost] = head.mean_position
    covariances[lost] = np.nan
    counters = live.counters + Counter({f'fixes_{name}': n for name, n in live.fixes.items()})
    if lost.any():
        counters[UNUSABLE] = int(lost.any(axis=1).sum())
    return FilterRun(
        stamps=np.array([estimate.stamp_ns for estimate in kept], dtype=np.int64),
        positions=positions,
        covariances=covariances,
        published=np.array([estimate.valid for estimate in kept], dtype=np.bool_),
        statuses=np.array([CODES[estimate.status] for estimate in kept], dtype=np.int64),
        causes=tuple(estimate.cause for estimate in kept),
        reasons={estimate.cause: estimate.why for estimate in kept if estimate.cause},
        seconds_per_tick=np.array(seconds),
        counters=counters,
        routes=tuple(estimate.route for estimate in kept),
        at_end=assess_offline(live, imu.topic, imu.span_ns),
    )


def driven_route(
    model: ModelHead, recording: Recording, progress: Callable[[str, float], None]
) -> str:
    """Return the route that a model names most along a recording; empty where it knows one."""
    if '' in model.routes:
        return ''
    published, guessed = Counter[str](), Counter[str](dict.fromkeys(model.routes, 0))
    for estimate, _ in estimates_along(Filter(model), recording, progress):
        # Where no position is published the name is a guess.
        (published if estimate.valid else guessed)[estimate.route] += 1
    return (published or guessed).most_common(1)[0][0]


def check_fit(model: ModelHead, recording: Recording) -> None:
    """Check rate, channels, frame and origin of a recording; of an atlas one route has to fit."""
    troubles = [_misfit(each, recording) for each in model.routes.values()]
    if all(troubles):
        raise InputError(troubles[0])


def _misfit(model: ModelHead, recording: Recording) -> str:
    """Return in a sentence why a recording does not fit the model of a route; empty if it does."""
    positions, trouble = recording.positions, imu_misfit(recording, model)
    if trouble or positions is None:
        return trouble
    if model.frame_id == LAP_FRAME:
        return (
            f'{recording.name}: the model knows laps and no positions, so there is nothing to '
            'compare with; time its laps with two-manifold laps'
        )
    where = f'{recording.name}: the positions on {positions.topic} are'
    if len({positions.frame_id, model.frame_id} - {''}) > 1:
        return (
            f'{where} in the frame {positions.frame_id!r}, but the model gives them in '
            f'{model.frame_id!r}; evaluate on positions in that frame'
        )
    if positions.origin != model.origin:
        return (
            f'{where} {plane_of(positions.origin)}, but the model gives {plane_of(model.origin)}; '
            'evaluate on positions of the kind that it was trained on'
        )
    return ''


def imu_misfit(recording: Recording, ticks: ModelHead | Dataset) -> str:
    """
    Return in a sentence why an IMU does not fit ticks; empty if it does.

    It has other channels, no sample, is slower, or is dead on a channel that they use.
    """
    imu, live, names = recording.imu, ticks.channels.live, np.array(ticks.channels.names)
    place = f'{recording.name}: topic {imu.topic}'
    if ticks.channels.names != imu.names:
        return (
            f'{place} has {imu.names[0]} and similar channels, but the model takes {names[0]} and '
            'similar; name a model that was trained on this sensor'
        )
    if not len(imu.stamps):
        return f'{place} has no IMU sample in the part asked for; check --from and --until'
    interval = median_interval_ns(imu.stamps)
    if interval > 1.25 * ticks.period_ns:
        return (
            f'{place} runs at {1e9 / interval:.1f} Hz, slower than the {ticks.rate_hz:g} Hz of '
            'the ticks; train with a lower --rate'
        )
    usable, values = usable_samples(imu.samples)
    dead = live & ~(np.ptp(values[usable], axis=0) > 0.0) if usable.any() else live
    if dead.any() and len(imu.stamps) > ticks.window:
        return (
            f'{place} has no signal on {", ".join(names[dead])}, which training uses; train on '
            'recordings of this IMU, or give another recording'
        )
    return ''


@dataclass(frozen=True)
class Evaluation:
    """
    Scores of a model on recordings, one for each horizon.

    For each recording there are its run and the true positions (T, H, 2), NaN where unknown.
    Positions that no speed of the drive explains are ``left_out``: nothing is compared with them.
    ``naming`` is how well a model of several routes named that of the recordings.
    """

    scores: tuple[HorizonScore, ...]
    runs: tuple[FilterRun, ...]
    truths: tuple[Floats, ...]
    left_out: int = 0
    naming: RouteNaming | None = None

    @property
    def ticks(self) -> int:
        """Ticks after the first window of each recording."""
        return sum(len(run.stamps) for run in self.runs)

    @property
    def published(self) -> int:
        """Number of these ticks that had a valid estimate."""
        return sum(int(np.count_nonzero(run.published)) for run in self.runs)

    @property
    def withheld(self) -> Counter[str]:
        """Number of these ticks that had none, by cause."""
        graded = (
            each for run in self.runs for each in zip(run.causes, run.published, strict=True)
        )
        return Counter(cause for cause, published in graded if not published)

    @property
    def most_withheld(self) -> tuple[str, str]:
        """The cause for which estimates were withheld most often, and why; empty if none was."""
        for cause, _ in self.withheld.most_common(1):
            return cause, next(e.reasons[cause] for e in self.runs[::-1] if cause in e.reasons)
        return '', ''

    def describe_withheld(self) -> str:
        """Return in one sentence why estimates were withheld most often; empty if none was."""
        withheld, (cause, why) = self.withheld, self.most_withheld
        if not withheld:
            return ''
        count = withheld[cause]
        return (
            f'{withheld.total()} of the {self.ticks} ticks after the first window were withheld, '
            f'most often ({count} of them, {count / withheld.total():.0%}) as "{why}"'
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything but the runs as JSON values; no number is NaN."""
        seconds = np.concatenate([run.seconds_per_tick for run in self.runs])
        counters = sum((run.counters for run in self.runs), start=Counter[str]())
        return {
            'horizons': {
                str(each.horizon): asdict(each.model)
                | {'mean': asdict(each.mean), 'previous': asdict(each.previous)}
                for each in self.scores
            },
            'ticks': len(seconds),
            'ticks_after_first_window': self.ticks,
            'valid_ticks': self.published,
            'withheld': dict(sorted(self.withheld.items())),
            'positions_left_out': self.left_out,
            'seconds_per_tick_p50': float(np.quantile(seconds, 0.5)),
            'seconds_per_tick_p99': float(np.quantile(seconds, 0.99)),
            'samples': dict(sorted(counters.items())),
            **({'naming': asdict(self.naming)} if self.naming is not None else {}),
        }


def evaluate(
    model: ModelHead,
    recordings: Sequence[Recording],
    progress: Callable[[str, float], None] = lambda *_: None,
    route: str = '',
    client: Any = None,  # noqa: ANN401 - of an extra
    fixes_s: float | None = None,
) -> Evaluation:
    """
    Filter recordings, each from a cold start, and compare with their positions.

    All are of the ``route`` of that name, where the model knows several, see
    `recordings_by_route`. The workers of a ``client`` filter them, if there is one, see
    `fleet.spread`. The filter gets fixes from the positions, see `fixes_along`, unless ``fixes_s``
    is ``None``. ``InputError`` says that a recording does not fit the model, or that not one
    estimate, published or not, could be compared.
    """
    head = model.routes[route]
    for recording in recordings:
        check_fit(head, recording)
    if client is None:
        runs = [run_filter(model, each, progress, route, fixes_s) for each in recordings]
    else:
        run = partial(run_filter, model, route=route, fixes_s=fixes_s)
        runs = spread(run, recordings, client, partial(progress, 'evaluating'))
    names = ', '.join(recording.name for recording in recordings)
    faults = [each.at_end for each in runs if each.at_end.cause not in {'filling', 'waiting'}]
    if faults and not any(len(run.stamps) for run in runs):
        raise NoUseError(f'{names}: nothing would have been published: {faults[0].why}')
    if not sum(len(run.seconds_per_tick) for run in runs):
        raise InputError(f'{names}: there are no two IMU samples to filter; give a longer part')
    compared = compare(head, recordings, runs)
    if not route:
        return compared
    window_ns = 3 * head.window_ns // 2
    late = np.concatenate(
        [
            run.stamps >= recording.imu.first_stamp + window_ns
            for recording, run in zip(recordings, runs, strict=True)
        ]
    )
    if not late.any():
        return compared
    wrong = np.array([name != route for run in runs for name in run.routes], dtype=np.bool_)
    shown = late & np.concatenate([run.published for run in runs])
    of_shown = float(wrong[shown].mean()) if shown.any() else None
    naming = RouteNaming(int(late.sum()), float(np.mean(~wrong[late])), of_shown)
    return replace(compared, naming=naming)


def compare(
    model: ModelHead, recordings: Sequence[Recording], runs: Sequence[FilterRun]
) -> Evaluation:
    """Compare runs with positions of their recordings; ``InputError`` if none is known."""
    found = [
        truth_ahead(recording.positions, run.stamps, model.horizons, model.period_ns)
        for recording, run in zip(recordings, runs, strict=True)
    ]
    truths = tuple(places for places, _ in found)
    every, directions = (np.concatenate(each) for each in zip(*found, strict=True))
    if not np.isfinite(every).any():
        names = ', '.join(recording.name for recording in recordings)
        raise InputError(
            f'{names}: no estimate has a true position to compare with; give more than one '
            f'window of {model.window / model.rate_hz:.1f} s, with positions'
        )
    published = np.concatenate([run.published for run in runs])
    positions = np.concatenate([run.positions for run in runs])
    covariances = np.concatenate([run.covariances for run in runs])
    no_ellipse = np.full_like(covariances[:, 0], np.nan)
    scores = []
    for index, horizon in enumerate(model.horizons):
        truth = every[:, index]
        answers = (
            (positions[:, index], covariances[:, index]),
            (model.mean_position, no_ellipse),
            (every[:, 0], no_ellipse),
        )
        of_each = [
            score(each - truth, ellipses, published, directions[:, index])
            for each, ellipses in answers
        ]
        scores.append(HorizonScore(horizon, *of_each))
    streams = [each.positions for each in recordings if each.positions is not None]
    left_out = sum(int(each.left_out.sum()) for each in streams)
    return Evaluation(tuple(scores), tuple(runs), truths, left_out)
