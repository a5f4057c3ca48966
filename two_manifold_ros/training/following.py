# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Follow parts of the drives on the map of the others, choose by log scores, or a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.ndimage import uniform_filter1d

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import ERROR_SHARE
from two_manifold_ros.filtering.status import (
    EllipseLimits,
    StateMachine,
    TickDiagnostics,
    USABLE,
)
from two_manifold_ros.filtering.tracker import half_axis
from two_manifold_ros.fleet import LostWorkersError, spread
from two_manifold_ros.hse_hmm.readout import (
    Calibration,
    calibration_factors,
    floors,
    segment_targets,
    squared_mahalanobis,
)
from two_manifold_ros.inspection.positions import LEAST_DRIVES
from two_manifold_ros.network.belief import NetworkBelief, shakes_of
from two_manifold_ros.network.learning import lay_out_network, learn_network, NetworkPasses
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route, Tuning
from two_manifold_ros.route.merging import FINENESS, merge_passes
from two_manifold_ros.route.visits import (
    lay_out,
    longest_lag,
    memory_of,
    motionless,
    Passes,
    ways_of,
)
from two_manifold_ros.training.dataset import build_dataset, Dataset, USUAL_RATE_HZ
from two_manifold_ros.training.held_out import (
    beside_mean_position,
    capped_mean,
    FOLDS,
    follow,
    joined,
    LOST_SHARE,
    MOST_FOLLOWED,
    parts_to_follow,
    Run,
    Validation,
)
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import RouteSettings

ANYWHERE = 0.01
"""Share of the positions that may be anywhere on the route: one lost start does not decide."""

TICK_S, PLACE_S = 1e-4, 2.5e-6
"""Time of a tick, and for each place with any probability, on a Raspberry Pi 4."""

SHIFTS = np.array([0.17, 0.17, 0.17, 0.01, 0.01, 0.01])
"""
What an IMU may be off from one day to another: standard deviations, m/s^2 and rad/s, as of one
degree of mounting and a cheap gyroscope. At 0 a vehicle whose mounting turned is lost; twice as
much takes other tracks for the trained one.
"""

CHANCE = 4.0
"""
Standard errors of the share of its variance that the place explains of a channel: noise that lasts
for some ticks reaches them in one drive of twelve, white noise in none of 240.
"""

FASTER = 0.1
"""Nats by which twice the rate has to be better: 5 % of the axes of an ellipse, for its load."""

DOUBLINGS = 2
"""Times the rate may be doubled: each trial takes up to six times as long as the one before."""

MOST_WORK, WORK_GROWS = 8e6, 6.0
"""
Places times ticks of the trial of a rate, some six seconds, and how many times as many the next
one has: twice the ticks, three times the places.
"""

EXPONENTS = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
"""Powers of the speed by which acceleration and rate of turning on a path grow."""

LOST = 0.5
"""Share of the error of a lost vehicle from which on a route map is taken not to follow."""


def steps_of(
    belief: RouteBelief, shakes: Iterable[Floats] = ()
) -> Callable[[Floats], tuple[Any, ...]]:
    """Return the steps of a fresh belief for `follow`; that of a network takes ``shakes``."""
    shaken = iter(shakes)

    def step(observation: Floats) -> tuple[Any, ...]:
        if isinstance(belief, NetworkBelief):
            belief.take(next(shaken))
        evidence = belief.update(observation)
        return (*belief.read(), belief.shares.driving > 0.5, float(len(belief.support)), evidence)

    return step


@dataclass(frozen=True)
class Followed:
    """Parts of the drives, as they were followed with one tuning."""

    parts: tuple[tuple[Run, ...], ...]  # runs of each part
    tuning: Tuning
    positions: Floats  # (P, 2), of the places of the map
    noise: float  # variance in an axis of the velocities that were compared with

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of all parts."""
        return list(chain.from_iterable(self.parts))

    @cached_property
    def run(self) -> Run:
        """All runs in one."""
        return joined(self.runs)

    @cached_property
    def factors(self) -> Floats:
        """Factors (H + 1,) of the covariances."""
        run = self.run
        errors, covariances = run.errors[run.driving], run.covariances[run.driving]
        # Noise of positions stays in their ellipses: on other days than those of the parts errors
        # are larger by about as much. In velocities it is most of what is seen.
        noise = np.zeros(errors.shape[1])
        noise[-1] = self.noise
        return calibration_factors(errors, covariances, noise)

    @cached_property
    def log_score(self) -> float:
        """Mean log density of the true positions, nats, beside the centre of a unit normal one."""
        known = np.isfinite(self.run.errors[:, 0]).all(axis=1)
        if not known.any():
            return math.nan
        covariances = self.factors[0] * self.run.covariances[known, 0]
        logs = -0.5 * squared_mahalanobis(self.run.errors[known, 0], covariances)
        logs -= 0.5 * np.log(np.linalg.det(covariances))
        # A straight route is as thin as its floor.
        spread = np.cov(self.positions.T) + floors(self.positions[:, None])[0] * np.eye(2)
        anywhere = math.log(ANYWHERE) - 1.0 - 0.5 * np.linalg.slogdet(spread)[1]
        return float(np.logaddexp(math.log(1.0 - ANYWHERE) + logs, anywhere).mean())

    @property
    def least_evidence(self) -> float:
        """Least evidence of a tick at which the vehicle drives as in training; 0 if none does."""
        driving = self.run.driving & np.isfinite(self.run.errors[:, 0]).all(axis=1)
        return float(self.run.evidences[driving].min()) if driving.any() else 0.0

    @property
    def timed(self) -> list[tuple[Floats, Floats, Floats, Floats, Floats]]:
        """What `circuit.calibrated` takes of each run, true only where it drives."""
        found = []
        for run in self.runs:
            estimated, truths = run.truths + run.errors, run.truths.copy()
            truths[~run.driving] = np.nan
            covariances = self.factors[0] * run.covariances[:, 0]
            found.append(
                (estimated[:, 0], estimated[:, -1], covariances, truths[:, 0], truths[:, -1])
            )
        return found

    @property
    def lost_m(self) -> float:
        """Error of a vehicle that is plainly lost, metres, as the maps know the route."""
        return LOST_SHARE * float(np.sqrt(self.positions.var(axis=0).sum()))

    @property
    def score_m(self) -> float:
        """Mean error of the present position, metres, each cut where the vehicle is lost."""
        return capped_mean(self.run.errors[:, 0], self.lost_m)

    def errs_more(self, than: Followed) -> bool:
        """
        Return whether the mean error is larger than with another rate, by more than chance.

        That is the standard error of the differences between pieces of the same time. If it is
        lost in some, or the number of parts differs, any larger error counts.
        """
        # Four pieces of each part: shorter ones err alike.
        means: list[Floats] = []
        for followed in (self, than):
            pieces = [
                piece
                for part in followed.parts
                for piece in np.array_split(np.concatenate([e.errors[:, 0] for e in part]), 4)
            ]
            lengths = np.sqrt(np.square(np.concatenate(pieces)).sum(axis=1))
            if np.nanmax(lengths, initial=0.0) >= self.lost_m:
                return self.score_m > than.score_m
            means.append(np.array([capped_mean(each, followed.lost_m) for each in pieces]))
        if len(means[0]) != len(means[1]):
            return self.score_m > than.score_m
        differences = means[0] - means[1]
        differences = differences[np.isfinite(differences)]
        count = len(differences)
        chance = differences.std(ddof=1) / math.sqrt(count) if count > 1 else 0.0
        return bool(differences.mean() > chance)

    def validation(self, middle: Floats, factors: Floats | None = None) -> Validation:
        """Return errors and calibration; with ``factors`` as what a filter publishes of them."""
        run, lost_m = self.run, self.lost_m
        factor = float((self.factors if factors is None else factors)[0])
        error_m = ERROR_SHARE * half_axis(min(factor, 1.0) * np.cov(self.positions.T))
        seen = TickDiagnostics(window_full=True, novelty=1.0)
        states = []
        for each in self.runs:
            machine = StateMachine(EllipseLimits(error_m, error_m), 1)
            for covariance, driving in zip(each.covariances[:, 0], each.driving, strict=True):
                ellipse_m = half_axis(factor * covariance)
                shown = seen._replace(ellipse_m=ellipse_m, off_route=float(not driving))
                states.append(machine.step(shown).status in USABLE)
        published = np.array(states, dtype=np.bool_)
        chosen = None if factors is None else published
        beside = beside_mean_position(run.errors, run.truths, middle, lost_m, chosen)
        calibration = Calibration(np.zeros(len(self.factors)), self.factors)
        share = float(published[np.isfinite(run.errors[:, 0]).all(axis=1)].mean())
        return Validation((), len(run.errors), self.score_m, lost_m, *beside, calibration, share)


def lay_out_drives(
    observations: list[Floats],
    tracks: list[Floats],
    dataset: Dataset,
    horizons: Sequence[int],
    *,
    network: bool = False,
) -> Passes:
    """Merge the passes of segments into places of a route, or of a ``network``, see `lay_out`."""
    channels, period_s = dataset.channels, dataset.period_s
    live = channels.live
    still = motionless(channels.mean) if channels.of_imu else np.zeros(len(channels.mean))
    passes = lay_out(
        observations,
        tracks,
        horizons,
        period_s,
        memory_of(observations, period_s),
        channels.standardise(still[None])[0],
        # Only of the channels of an IMU is known how they drift.
        (SHIFTS[live] if channels.of_imu else 0.0) / channels.scale[live],
        EXPONENTS[live] if channels.of_imu else np.zeros(np.count_nonzero(live)),
        network=network,
    )
    if passes is None:
        msg = 'the vehicle never moves where its position is known; record while it drives'
        raise InputError(msg)
    return passes


def memory_between_laps(
    observations: Sequence[Floats], tracks: Sequence[Floats], period_s: float
) -> float:
    """
    Return the memory of what repeats between laps, seconds; 0 if nothing does.

    It is the longest lag at which the covariance with the pass before, of a channel that the place
    explains by more than `CHANCE`, has fallen to 1/e: vibration differs from pass to pass.
    """
    places = merge_passes(tracks, period_s)
    if places is None:
        return 0.0
    ends = np.cumsum([len(each) for each in observations])
    lasts = ends[places.segments] - 1
    begins = np.concatenate([[0], ends[:-1]])[places.segments]
    ticks = np.clip(begins + np.rint(places.times).astype(np.int64), begins, lasts)
    order = np.argsort(places.visited, kind='stable')
    pairs = np.stack([order[:-1], order[1:]])[:, np.diff(places.visited[order]) == 0]
    if not pairs.size:
        return 0.0
    longest = longest_lag(observations, period_s, longest_s=12.0)
    # A slow drift is alike on two laps, too, wherever they are. A mean over half as long takes a
    # memory of 3.4 s for 1.2 s.
    drift = partial(uniform_filter1d, size=4 * longest + 1, axis=0, mode='nearest')
    apart = np.concatenate([each - drift(each) for each in observations])
    apart -= apart[ticks[pairs]].mean(axis=(0, 1))
    seen = apart[ticks[pairs]]
    shared = seen.prod(axis=0).mean(axis=0)
    chance = CHANCE * math.sqrt(FINENESS / pairs.shape[1])
    alike = shared > chance * np.square(seen).mean(axis=(0, 1))
    for lag in range(longest):
        one, other = ticks[pairs[:, (ticks[pairs] + lag <= lasts[pairs]).all(axis=0)]]
        later = apart[one] * apart[other + lag] + apart[other] * apart[one + lag]
        alike &= later.sum(axis=0) > 2.0 * math.exp(-1.0) * len(later) * shared
        if not alike.any():
            return lag * period_s
    return longest * period_s


class Drives(NamedTuple):
    """Drives laid out at one rate, with its settings, and notes for the summary."""

    settings: RouteSettings
    dataset: Dataset
    passes: Passes
    notes: tuple[str, ...] = ()


def follow_parts(
    drives: Drives,
    tunings: Sequence[Tuning],
    most: int = MOST_FOLLOWED,
    every: int = 1,
    done: Callable[[float], None] = lambda _: None,
    client: Any = None,  # noqa: ANN401 - of an extra
    *,
    of_each: bool = False,
) -> list[Followed]:
    """
    Follow each part of the drives on the map of all others, once with each sharpness.

    Nothing is returned if the drives are too short, few places were visited twice, or no position
    is known. At ``most`` so many ticks are followed, and one of ``every`` so many parts, by
    workers of a ``client`` if there is one; ``done`` gets the share of them.
    """
    passes, dataset = drives.passes, drives.dataset
    visited, lead = passes.places.visited, dataset.window
    if not np.mean(np.bincount(visited)[visited] > 1) >= 0.5:
        return []
    parts = parts_to_follow(
        passes, dataset.observations, dataset.tracks, lead, most, of_each=of_each
    )[::every]
    followed = spread(partial(_follow_part, passes, tunings, lead), parts, client, done)
    if not any(np.isfinite(run.errors[:, 0]).any() for runs, _ in followed for run in runs[0]):
        return []
    _, positions = followed[-1]
    return [
        Followed(
            tuple(runs[each] for runs, _ in followed), tuning, positions, dataset.velocity_noise
        )
        for each, tuning in enumerate(tunings)
    ]


def _follow_part(
    passes: Passes,
    tunings: Sequence[Tuning],
    lead: int,
    part: tuple[list[tuple[Floats, Floats]], Bools],
) -> tuple[list[tuple[Run, ...]], Floats]:
    """Return the runs of a part with each tuning, and the positions of the map of all others."""
    blocks, kept = part
    route = learn_route(passes, kept, tunings[0])
    found = []
    for tuning in tunings:
        likelihood = replace(route.likelihood, sharpness=tuning.sharpness)
        own = replace(route, likelihood=likelihood)
        found.append(tuple(follow(steps_of(RouteBelief(own)), *block, lead) for block in blocks))
    return found, route.readout.targets[:, 0]


def choose_by_parts(
    usual: Drives,
    faster: Callable[[Drives], Drives | None],
    most_load: float,
    *,
    progress: Callable[[str, float], None] = lambda *_: None,
    client: Any = None,  # noqa: ANN401 - of an extra
) -> tuple[Drives, Followed | None, list[dict[str, float | None]]]:
    """
    Choose the rate, and the sharpness at it, by how well parts that were left out are followed.

    A rate twice as high, at which ``faster`` lays drives out, is taken, and the next one tried, if
    every other part is followed better by `FASTER` and it does not err more than the usual rate:
    with half of the sharpness, as sharp a second, or all of it. Ticks may take the share
    ``most_load`` of a core of a small robot; with 0 no other rate is tried. Returned are the
    drives at the chosen rate; how their parts were followed, if any could be; and what was
    compared.
    """

    def follow_at(
        trial: int, drives: Drives, tunings: Sequence[Tuning], most: int, every: int = 1
    ) -> list[Followed]:
        what = f'following parts at {drives.dataset.rate_hz:g} Hz'

        def done(share: float) -> None:
            progress(what, 1.0 - 0.5**trial * (1.0 - 0.5 * share))

        return follow_parts(drives, tunings, most, every, done, client)

    given = usual.settings.sharpness
    own = Tuning(given or Tuning.sharpness, usual.settings.persistence)
    # A sharpness that vibration set, see `with_time_scales`, has to be better than the usual one.
    vibrates = most_load > 0.0 and given is not None
    tunings = [replace(own, sharpness=Tuning.sharpness)] * vibrates + [own]
    found = follow_at(0, usual, tunings, MOST_FOLLOWED)
    if not found:
        return usual, None, []
    best = _sharp_enough(found)[-1]
    chosen, known, most = usual, replace(best, parts=best.parts[::2]), MOST_FOLLOWED
    # What is compared is compared on the same parts.
    tried = sorted(found, key=lambda each: each is not best)
    step = 2 if most_load > 0.0 else 1
    compared = [compared_row(usual, replace(e, parts=e.parts[::step])) for e in tried]
    first = known
    for trial in range(1, 1 + DOUBLINGS * (most_load > 0.0)):
        if WORK_GROWS * known.run.active.sum() > MOST_WORK:
            break
        # The same time at any rate.
        most *= 2
        half = replace(known.tuning, sharpness=0.5 * known.tuning.sharpness)
        drives, tried = _at_faster_rate(
            partial(faster, chosen),
            partial(follow_at, trial, tunings=[half, known.tuning], most=most, every=2),
        )
        if drives is None or not tried:
            break
        compared += [compared_row(drives, each) for each in tried]
        rate_hz = drives.dataset.rate_hz
        fitting = [
            each
            for each in _sharp_enough(tried)
            if each.log_score >= known.log_score + FASTER
            and not each.errs_more(first)
            and rate_hz * (TICK_S + PLACE_S * float(each.run.active.mean())) <= most_load
        ]
        if not fitting:
            break
        chosen, known = drives, fitting[-1]
    if chosen is not usual:
        # Every other part is too little for ellipses, and it may have been luck.
        times = round(chosen.dataset.rate_hz / usual.dataset.rate_hz)
        (whole,) = follow_at(DOUBLINGS + 1, chosen, [known.tuning], MOST_FOLLOWED * times)
        if whole.log_score < best.log_score + FASTER or whole.errs_more(best):
            return usual, best, compared
        best = whole
    return chosen, best, compared


def _at_faster_rate(
    faster: Callable[[], Drives | None], follow: Callable[[Drives], list[Followed]]
) -> tuple[Drives | None, list[Followed]]:
    """Return drives at a faster rate, and how parts are followed; none if it is not possible."""
    try:
        drives = faster()
        return drives, [] if drives is None else follow(drives)
    except LostWorkersError:
        raise
    # What is enough of a drive at one rate may be too little, or too much, at another.
    except (InputError, ArithmeticError, np.linalg.LinAlgError, MemoryError):
        return None, []


def _sharp_enough(tried: Sequence[Followed]) -> Sequence[Followed]:
    """Return what was tried at a rate, without the sharper one unless it is much better."""
    # By .15 nats: parts left out are of the same days as the map. With .1 the simulated car is
    # lost on other days.
    lucky = len(tried) > 1 and tried[1].log_score < tried[0].log_score + 0.15
    return tried[:1] if lucky else tried


def compared_row(drives: Drives, followed: Followed) -> dict[str, float | None]:
    """Return a row of the table of choices."""
    return {
        'rate_hz': drives.dataset.rate_hz,
        'sharpness': followed.tuning.sharpness,
        'persistence': followed.tuning.persistence or drives.passes.persistence,
        'log_score': followed.log_score,
        'score_m': followed.score_m,
    }


def validate(
    drives: Drives,
    followed: Followed,
    client: Any = None,  # noqa: ANN401 - of an extra
    *,
    again: bool = True,
) -> Validation:
    """
    Return the errors of parts that were followed, and the calibration.

    If they look of no use, parts of each drive are followed ``again``, see `parts_to_follow`, of
    which counts what a filter would publish.
    """
    middle = np.nanmean(np.concatenate(drives.dataset.tracks), axis=0)
    validation = followed.validation(middle)
    if validation.of_use or not again:
        return validation
    most = MOST_FOLLOWED * max(round(drives.dataset.rate_hz / USUAL_RATE_HZ), 1)
    for each in follow_parts(drives, [followed.tuning], most, client=client, of_each=True):
        other = each.validation(middle, followed.factors)
        if other.of_use:
            return replace(
                validation,
                followed_m=other.followed_m,
                mean_m=other.mean_m,
                published_share=other.published_share,
            )
    return validation


def choose_network(
    drives: Drives, followed: Followed, recordings: Sequence[Recording], report: Callable[[], None]
) -> tuple[NetworkPasses, Followed, list[str]] | None:
    """
    Return drives as those of a network of roads, how those left out were followed, and notes.

    They are tried, behind a ``report``, if a route map that has forks is lost on its parts, and
    `LEAST_DRIVES` show where drives begin. ``None`` where a route follows them better.
    """
    most_m = LOST * followed.lost_m
    begun = [
        number
        for number, each in enumerate(drives.dataset.segments)
        if each.begins and np.isfinite(each.positions).all(axis=1).any()
    ]
    evenly = np.linspace(0, len(begun) - 1, min(FOLDS, len(begun))).round().astype(np.int64)
    held = [begun[each] for each in evenly]
    if len(held) < LEAST_DRIVES or not drives.dataset.channels.of_imu:
        return None
    places = drives.passes.places
    ways = ways_of(places, np.ones(len(places.visited), dtype=np.bool_))
    if not followed.score_m >= most_m or not any(len(to) > 1 for to in ways.values()):
        return None
    report()
    horizons = drives.settings.horizons
    dataset = build_dataset(recordings, drives.settings, spreads=True)
    live, scale = dataset.channels.live, dataset.channels.scale
    shakes = [
        shakes_of(each.spreads[:, live] / scale[live])
        for each in dataset.segments
        if each.spreads is not None
    ]
    observations, tracks = dataset.observations, dataset.tracks
    lay_out = partial(lay_out_drives, dataset=drives.dataset, horizons=horizons, network=True)

    def network_without(out: int) -> NetworkPasses | None:
        """Return the network of all segments but one; None where too little of them is driven."""
        chosen = [number for number in range(len(tracks)) if number != out]
        seen, driven, shaken = (
            [each[number] for number in chosen] for each in (observations, tracks, shakes)
        )
        begins = [dataset.segments[number].begins for number in chosen]
        try:
            return lay_out_network(lay_out, seen, driven, shaken, begins)
        except InputError:
            # All that moves may be what is left out.
            return None

    runs: list[tuple[Run, ...]] = []
    for out in held:
        network = network_without(out)
        if network is None:
            return None
        truth = segment_targets(tracks[out], horizons, dataset.period_s)
        every = np.ones(len(network.passes.places.visited), dtype=np.bool_)
        route = learn_route(network.passes, every, followed.tuning)
        roads = learn_network(network, dataset.window)
        step = steps_of(NetworkBelief(route, roads, dataset.period_s), shakes[out])
        most = MOST_FOLLOWED // FOLDS
        runs.append((follow(step, observations[out][:most], truth[:most], dataset.window),))
    whole = network_without(-1)
    if whole is None:
        return None
    positions = whole.passes.places.positions
    result = Followed(tuple(runs), followed.tuning, positions, dataset.velocity_noise)
    if not result.score_m < most_m:
        return None
    note = (
        f'followed as a network of roads that look alike: drives left out err by '
        f'{result.score_m:.2f} m on it, parts left out by {followed.score_m:.2f} m on a map of '
        'the route'
    )
    near_m = whole.passes.places.usual_mps * whole.passes.memory_s
    return whole, result, [note, *where_drives_begin(recordings, near_m)]


def where_drives_begin(recordings: Sequence[Recording], near_m: float) -> list[str]:
    """Return sentences on where recordings begin, those that begin alone by their names."""
    known = [
        (each.name, each.positions.positions[each.positions.usable][0])
        for each in recordings
        if each.positions is not None and each.positions.usable.any()
    ]
    said = []
    for number, (name, (x, y)) in enumerate(known):
        near = [i for i, (_, at) in enumerate(known) if math.dist(at, (x, y)) < near_m]
        if len(near) <= 1:
            said.append(
                f'{name} alone begins at ({x:.1f}, {y:.1f}) m: leave it out if that is on the way '
                'and not where drives begin'
            )
        elif near[0] == number:
            said.append(f'{len(near)} of {len(known)} drives begin at ({x:.1f}, {y:.1f}) m')
    return said
