# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Follow the drives of a case with a filter, and score its estimate at every tick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
import tempfile
import time
from typing import Any, TYPE_CHECKING

from gauntlet_drives import LAP_NAMES, REAL, spliced
from gauntlet_networks import days_of, slow_of
import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import ErrorSummary, summarise
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.fixes import Fix, NEWEST
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, squared_mahalanobis
from two_manifold_ros.model.model import atlas_of
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model, with_one_rate
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from gauntlet_drives import Case, Drive, SlowDrive

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording

BLOCKS = ('accuracy', 'elsewhere', 'moves', 'days', 'slow')

FAR = 10.0
"""Medians beyond which an error is one that a user would not forgive."""

GRACE_S, GRACE_LAPS = 3.0, 0.03
"""How long a filter may take to notice that the vehicle has left, whichever is longer."""

SPLICES = 20
SOON, LATER = 1.5, 2.0
"""Windows after a move within which the vehicle is to be found, and is watched."""

TAIL = 3.0
"""Windows driven on after a move."""

LEAD_LAPS, LEAD_MOST_S, LEAD = 0.3, 30.0, 4.0
"""Laps, but no more than so many seconds, and windows besides, driven before a move, so that the
filter has found itself."""

APART = 0.1
"""Least distance of a move, of the root mean square distance of the route from its middle."""

STANDS_S = 3.0
"""That a vehicle stands before it drives: nothing shows then on which of several routes."""


@dataclass(frozen=True)
class Following:
    """Output of a filter along a drive."""

    stamps: Ints  # (T,) int64, ends of the ticks
    published: Bools  # (T,), whether the estimate may be used, and whether the status is tracking
    tracking: Bools  # (T,)
    positions: Floats  # (T, H, 2), at each horizon; truths are NaN where unknown
    covariances: Floats  # (T, H, 2, 2)
    truths: Floats  # (T, H, 2)
    velocities: Floats  # (T, 2), at the end of each tick
    velocity_covariances: Floats  # (T, 2, 2)
    filled: Bools  # (T,), whether a whole window was seen
    microseconds: Floats  # (T,), of the call of `push` that gave the estimate
    # (T,), whether the route that is named is the one that is driven; of one alone it always is.
    named: Bools
    found: Bools  # (T,), whether it has driven for the windows within which it is to be found

    def errors(self, horizon: int = 0) -> Floats:
        """Return the error at each tick, metres; infinite where there is no number."""
        off = self.positions[:, horizon] - self.truths[:, horizon]
        known = np.isfinite(self.truths[:, horizon]).all(axis=1)
        size = np.linalg.norm(off, axis=1)
        return np.where(known & ~np.isfinite(size), np.inf, size)

    def known(self, horizon: int = 0) -> Bools:
        """Return where a whole window was seen and the truth is known."""
        return np.asarray(self.filled & np.isfinite(self.truths[:, horizon]).all(axis=1))

    def inside(self, horizon: int, level: int) -> Bools:
        """Return where the truth was in the ellipse of one of ``CHI_SQUARE``."""
        off = self.positions[:, horizon] - self.truths[:, horizon]
        sound = np.isfinite(self.covariances[:, horizon]).all(axis=(1, 2))
        squared = np.full(len(off), np.inf)
        squared[sound] = squared_mahalanobis(off[sound], self.covariances[sound, horizon])
        return np.asarray(squared <= CHI_SQUARE[level])

    def summary(self, chosen: Bools, horizon: int = 0) -> ErrorSummary:
        """Summarise the errors of some ticks as `evaluate` does."""
        off = self.positions[:, horizon] - self.truths[:, horizon]
        return summarise(off[chosen], self.covariances[chosen, horizon])

    def horizons(self, model: ModelHead) -> list[dict[str, Any]]:
        """Return ellipses of what is published, and errors of all, at each horizon."""
        rows = []
        for index, ahead in enumerate(model.horizons):
            known = self.known(index)
            shown = self.summary(known & self.published, index)
            rows.append(
                {
                    'ticks_ahead': ahead,
                    'rmse_m': self.summary(known, index).rmse_m,
                    'published_ticks': shown.n,
                    'in_68': shown.coverage68,
                    'in_95': shown.coverage95,
                }
            )
        return rows


def follow(model: ModelHead, drive: Drive, fix_m: float = 0.0) -> Following:
    """Follow a drive, on each of its routes from a cold start, or from a fix with that error."""
    parts = []
    for each in drive.by_route():
        live = Filter(model)
        live.warm_up()
        if fix_m:
            noise = fix_m * np.random.default_rng(len(each.stamps)).normal(size=2)
            live.fix(Fix(NEWEST, each.truths[0] + noise, fix_m**2 * np.eye(2)))
        # That of an atlas runs the model of the likeliest route.
        parts.append(listen(live.push, lambda live=live: live.running, each))  # type: ignore[misc]
    if len(parts) == 1:
        return parts[0]
    columns = ([getattr(part, each.name) for part in parts] for each in fields(Following))
    return Following(*map(np.concatenate, columns))


def listen(
    push: Callable[[int, Floats], list[Estimate]], running: Callable[[], ModelHead], drive: Drive
) -> Following:
    """Return the estimates along a drive of a filter that may run another model later on."""
    said, took, ahead = [], [], []
    for stamp, sample in zip(drive.stamps.tolist(), drive.samples, strict=True):
        began = time.perf_counter()
        estimates = push(stamp, sample)
        seconds = time.perf_counter() - began
        said += estimates
        took += [1e6 * seconds / max(1, len(estimates))] * len(estimates)
        model = running()
        ahead += [[each * model.period_ns for each in model.horizons]] * len(estimates)
    stamps = np.array([each.stamp_ns for each in said], dtype=np.int64)
    horizons = len(running().horizons)
    (route,) = drive.routes
    soon_ns = round(1e9 * STANDS_S) + round(SOON * running().window * running().period_ns)
    then = stamps[:, None] + np.array(ahead, dtype=np.int64).reshape(-1, horizons)
    return Following(
        stamps,
        np.array([each.valid for each in said], dtype=np.bool_),
        np.array([each.status.name == 'TRACKING' for each in said], dtype=np.bool_),
        np.array([each.positions for each in said]).reshape(-1, horizons, 2),
        np.array([each.covariances for each in said]).reshape(-1, horizons, 2, 2),
        np.stack([drive.truths_at(each) for each in then.T], axis=1),
        np.array([each.velocity for each in said]).reshape(-1, 2),
        np.array([each.velocity_covariance for each in said]).reshape(-1, 2, 2),
        np.arange(len(said)) >= running().window,
        np.array(took),
        np.array([each.route == route for each in said], dtype=np.bool_),
        stamps - drive.stamps[0] > soon_ns,
    )


def trained(recordings: Sequence[Recording], routes: Sequence[str], method: str) -> ModelHead:
    """Train one model; where routes are named, an atlas of a map of each."""
    settings = TrainingSettings(method=method)
    if not routes:
        return train_model(recordings, settings)
    settings = with_one_rate([[each] for each in recordings], settings)
    pairs = zip(routes, recordings, strict=True)
    return atlas_of({name: train_model([each], settings) for name, each in pairs})


def run_case(case: Case, method: str, blocks: tuple[str, ...]) -> dict[str, Any]:
    """Train with one method and go through the blocks; return numbers for tables and JSON."""
    began = time.perf_counter()
    try:
        model = trained(case.training, case.routes, method)
    except InputError as error:
        return {'refused': str(error)}
    found: dict[str, Any] = {
        'training_s': time.perf_counter() - began,
        'model_bytes': _size(model),
        'rate_hz': model.rate_hz,
        'window_s': model.window / model.rate_hz,
        'lap_s': case.lap_s,
    }
    following = follow(model, case.followed)
    found['accuracy'] = accuracy(model, case, following)
    if which := right_one(case, case.followed, following):
        found['which'] = [which]
    if 'elsewhere' in blocks:
        found['elsewhere'] = [elsewhere(model, case, each) for each in case.elsewhere]
    if 'moves' in blocks:
        found['moves'] = moves(model, case)
    if 'days' in blocks:
        found['days'] = [_day(model, case, each) for each in days_of(case.name)]
    if 'slow' in blocks:
        found['slow'] = slow_laps(model, slow_of(case.name))
    return found


def right_one(case: Case, drive: Drive, following: Following) -> dict[str, Any] | None:
    """Return how often the right one of several roads is known; ``None`` where there is one."""
    if case.routes:
        what, right, chosen = 'route', following.named, following.found
    elif drive.branched is not None:
        last = (np.searchsorted(drive.stamps, following.stamps, side='right') - 1).clip(0)
        what, right = 'branch', following.errors() < case.branch_m
        chosen = following.known() & drive.branched[last]
    else:
        return None
    return {
        'drive': drive.name,
        'what': what,
        'ticks': int(chosen.sum()),
        'right': _mean(right, chosen),
        'wrong': _mean(~right, chosen & following.published),
    }


def _day(model: ModelHead, case: Case, drive: Drive) -> dict[str, Any]:
    following = follow(model, drive)
    known = following.known()
    every = following.summary(known)
    which = right_one(case, drive, following)
    return ({'which': which} if which else {}) | {
        'drive': drive.name,
        'rmse_m': every.rmse_m,
        'median_m': every.median_m,
        'published': _mean(following.published, known),
        'horizons': following.horizons(model),
    }


def slow_laps(model: ModelHead, drives: Iterable[SlowDrive]) -> list[dict[str, Any]]:
    """Return how the filter fared on laps of each name, over all drives."""
    offsets, ellipses, published, names = [], [], [], list[str]()
    for each in drives:
        following = follow(model, each.drive)
        known = following.known()
        offsets.append((following.positions - following.truths)[known, 0])
        ellipses.append(following.covariances[known, 0])
        published.append(following.published[known])
        names += each.names_at(following.stamps[known])
    rows = []
    for name in dict.fromkeys(LAP_NAMES if names else ()):
        chosen = np.array(names) == name
        off, covariances, shown = (
            np.concatenate(parts)[chosen] for parts in (offsets, ellipses, published)
        )
        every, seen = summarise(off, covariances), summarise(off[shown], covariances[shown])
        rows.append(
            {
                'laps': name,
                'ticks': every.n,
                'published': _mean(shown, np.ones_like(shown)),
                'rmse_m': every.rmse_m,
                'median_m': every.median_m,
                'published_rmse_m': seen.rmse_m,
                'in_95': seen.coverage95,
            }
        )
    return rows


def _size(model: ModelHead) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'model.npz'
        save_model(model, path)
        return path.stat().st_size


def accuracy(model: ModelHead, case: Case, following: Following) -> dict[str, Any]:
    known = following.known()
    every, shown = following.summary(known), known & following.published
    found: dict[str, Any] = {
        'ticks': every.n,
        'published': _mean(following.published, known),
    }
    if every.rmse_m is None or every.median_m is None:
        return found
    # The error of always answering the mean of the positions that were trained on.
    streams = [each.positions.positions for each in case.training if each.positions is not None]
    off = following.truths[known, 0] - np.nanmean(np.concatenate(streams), axis=0)
    return found | {
        'rmse_m': every.rmse_m,
        'median_m': every.median_m,
        'p99_m': every.p99_m,
        'rmse_over_median': every.rmse_m / max(every.median_m, 1e-9),
        'published_rmse_m': following.summary(shown).rmse_m,
        'far': _mean(following.errors() > FAR * every.median_m, shown),
        'mean_m': float(np.sqrt(np.mean(np.square(np.linalg.norm(off, axis=1))))),
        'nees': nees(model, case, following),
        'step_us': float(np.median(following.microseconds)),
        'horizons': following.horizons(model),
    }


def nees(model: ModelHead, case: Case, following: Following) -> tuple[float, ...]:
    """
    Return mean normalised squared errors of what is published: of positions, and of velocities.

    If covariances are right, it is 2 for two coordinates. True velocities are differences over a
    tick to both sides, of which noise of a camera would be most if it were shorter; in recordings
    their noise is added to the covariances.
    """
    step, noise = model.period_ns, 0.0
    before, after = (case.followed.truths_at(following.stamps + each) for each in (-step, step))
    if case.name in REAL:
        same = TrainingSettings(rate_hz=model.rate_hz, window=model.window)
        noise = build_dataset(case.training, same).velocity_noise
    apart = following.velocities - (after - before) / (2e-9 * step)
    chosen = following.known() & following.published & np.isfinite(apart).all(axis=1)
    position = (
        (following.positions - following.truths)[chosen, 0],
        following.covariances[chosen, 0],
    )
    velocity = apart[chosen], following.velocity_covariances[chosen] + noise * np.eye(2)
    pairs = (position, velocity) if chosen.any() else ()
    return tuple(float(squared_mahalanobis(*each).mean()) for each in pairs)


def _mean(values: Bools, chosen: Bools) -> float | None:
    return float(values[chosen].mean()) if chosen.any() else None


def elsewhere(model: ModelHead, case: Case, drive: Drive) -> dict[str, Any]:
    """Return how often the filter published positions while the vehicle was off the route."""
    following = follow(model, drive)
    grace = round(1e9 * max(GRACE_S, GRACE_LAPS * case.lap_s))
    away = _away(drive, following.stamps, grace) & following.filled
    return {
        'drive': drive.name,
        'ticks': int(away.sum()),
        'published': _mean(following.published, away),
    }


def _away(drive: Drive, stamps: Ints, grace_ns: int) -> Bools:
    """Return at which stamps the vehicle has been off the route for as long as a grace."""
    last = (np.searchsorted(drive.stamps, stamps, side='right') - 1).clip(0)
    on = drive.on_route
    # When it was on the route for the last time; before the drive it was nowhere.
    since = np.maximum.accumulate(np.where(on, drive.stamps, drive.stamps[0]))
    return np.asarray(~on[last] & (stamps - since[last] > grace_ns))


def extent_m(drive: Drive) -> float:
    """Return the root mean square distance of a drive from its middle, metres."""
    truths = drive.truths[np.isfinite(drive.truths).all(axis=1)]
    return float(np.sqrt(np.square(truths - truths.mean(axis=0)).sum(axis=1).mean()))


def moves(model: ModelHead, case: Case) -> dict[str, Any] | None:
    """Return how the filter fared where the vehicle was suddenly elsewhere on its route."""
    drive = case.followed
    window_s = model.window / model.rate_hz
    apart_m = APART * extent_m(drive)
    lead_s = min(LEAD_LAPS * case.lap_s, LEAD_MOST_S) + LEAD * window_s
    rows = [
        _moved(follow(model, each), put_ns, model)
        for each, put_ns in spliced(drive, SPLICES, lead_s, TAIL * window_s, apart_m, seed=0)
    ]
    if not rows:
        return None
    tracking = sum(row['tracking'] for row in rows)
    found = np.array([row['found'] for row in rows])
    half = float(np.median(found))
    return {
        'moves': len(rows),
        'inside': sum(row['inside'] for row in rows) / tracking if tracking else None,
        'found': float(np.mean(found <= SOON)),
        'found_median_windows': half if np.isfinite(half) else None,
        'wrong': float(np.mean([row['wrong'] for row in rows])),
    }


def _moved(following: Following, put_ns: int, model: ModelHead) -> dict[str, float]:
    windows = (following.stamps - put_ns) / (model.window * model.period_ns)
    known, inside = following.known(), following.inside(0, 1)
    tracking = following.tracking & known
    right = tracking & inside & (windows > 0.0)
    watched = (windows > 0.0) & (windows <= LATER)
    return {
        'tracking': int(tracking.sum()),
        'inside': int((tracking & inside).sum()),
        'found': float(windows[right][0]) if right.any() else np.inf,
        'wrong': float((tracking & ~inside)[watched].mean()) if watched.any() else 0.0,
    }
