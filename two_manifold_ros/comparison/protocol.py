# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every method of a comparison learns from, predicts, chooses by and is scored on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TYPE_CHECKING, TypeVar

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_imu
from two_manifold_ros.evaluation.scores import truth_ahead
from two_manifold_ros.hse_hmm.readout import segment_targets
from two_manifold_ros.recordings.recording import check_one_plane
from two_manifold_ros.ticks.segments import cut_segments, Segment
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.held_out import hold_out
from two_manifold_ros.training.settings import RouteSettings, TrainingSettings
from two_manifold_ros.training.train import with_time_scales

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.recordings.recording import ImuStream, Recording
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.typing import Bools, Floats


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
        positions = self.positions
        known: Bools = np.all(np.isfinite(positions), axis=1)
        if not known.any():
            msg = 'no training position is known, so there is no mean; record positions as well'
            raise InputError(msg)
        mean: Floats = positions[known].mean(axis=0)
        return mean


class Predictions(NamedTuple):
    """
    Predictions of a method along a segment of T ticks.

    Positions at each horizon are (T, H, 2), metres, NaN where the method has none yet; row t
    depends on the ticks up to t alone. A method may have states (T, k) after each tick, and say
    whether it would publish its position (T,).
    """

    positions: Floats
    states: Floats | None = None
    valid: Bools | None = None


class Fitted(NamedTuple):
    """A causal filter of one segment from a cold start, and its settings, JSON by name."""

    predict: Callable[[Segment], Predictions]
    chosen: dict[str, Any]


class Method(NamedTuple):
    """
    A way to learn a route: its name on the command line, and its title in tables.

    ``fit`` raises ``InputError``, which says why, if it cannot learn. Only a method that
    ``sees_positions`` gets the positions of the segments that it filters.
    """

    name: str
    title: str
    fit: Callable[[TrainSplit], Fitted]
    sees_positions: bool = False


Settings = TypeVar('Settings')


def choose(
    candidates: Sequence[Settings],
    train: TrainSplit,
    prepare: Callable[[TrainSplit], Callable[[Settings], Fitted]],
) -> Settings:
    """
    Fit every candidate to a part of the training part and return the best one on the rest.

    The same blocks are held out as in a training; the first is taken where none can be. One that
    raises ``InputError`` is passed over, but where all do, the first reason is raised.
    """
    seen, held = hold_out(train.dataset.segments, train.dataset.window)
    if not seen or not held:
        return candidates[0]
    fit = prepare(replace(train, dataset=replace(train.dataset, segments=tuple(seen))))
    scores: dict[int, float] = {}
    reasons = []
    for index, candidate in enumerate(candidates):
        try:
            fitted = fit(candidate)
        except InputError as error:
            reasons.append(error)
            continue
        scores[index] = held_out_error(fitted, held, train)
    if not scores:
        raise reasons[0]
    return candidates[min(scores, key=scores.__getitem__)]


def held_out_error(fitted: Fitted, segments: Sequence[Segment], train: TrainSplit) -> float:
    """
    Return the root mean square error of a fitted method, metres, averaged over the horizons.

    It is what the table of a comparison shows. Ticks before the window has filled do not count;
    later ones without a prediction count with the spread of the training positions.
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


@dataclass(frozen=True)
class SampledSegment(Segment):
    """A segment of ticks with all samples of its recording, also those before the segment."""

    imu: ImuStream


@dataclass(frozen=True)
class ScoredSegment:
    """
    A segment of T ticks of the recording of that name, and the truth to score predictions with.

    True positions and directions of travel (unit vectors) at the horizons are (T, H, 2), NaN where
    unknown; predictions at ``scored`` ticks (T,) count.
    """

    recording: str
    segment: SampledSegment
    truth: Floats
    directions: Floats
    scored: Bools

    @property
    def has_truth(self) -> bool:
        """True if any prediction can be scored."""
        return bool(np.isfinite(self.truth[self.scored]).all(axis=2).any())


def cut_tests(recording: Recording, train: TrainSplit) -> Iterator[ScoredSegment]:
    """Cut a recording like the training part at its gaps; ticks after the first window count."""
    dataset = train.dataset
    check_imu(recording, dataset)
    check_one_plane([train.recordings[0], recording])
    channels = dataset.channels
    samples = channels.without_dead(recording.imu.samples)
    cleaned = replace(recording, imu=replace(recording.imu, samples=samples))
    segments, _ = cut_segments(cleaned, dataset.period_ns, dataset.max_gap_ns, channels.largest)
    for segment in segments:
        # Beyond the last tick of a segment positions may still be known.
        yield ScoredSegment(
            recording.name,
            SampledSegment(segment.stamps, segment.values, segment.positions, recording.imu),
            *truth_ahead(recording.positions, segment.stamps, train.horizons, dataset.period_ns),
            np.asarray(np.arange(len(segment)) >= dataset.window - 1),
        )


@dataclass(frozen=True)
class Plan:
    """Training part and tests of a comparison: ``'share'``, ``'bags'`` or ``'slot-car'``."""

    protocol: str
    train: TrainSplit
    tests: tuple[ScoredSegment, ...]


FAR, MOST_UNKNOWN = 0.1, 0.25
"""
Share of the spread of the learned positions from which a place is unknown, and the largest share
of such places that one route may have: next to none are, and on another one nearly all.
"""


def check_places(plan: Plan) -> Iterator[str]:
    """Report positions to follow that are on another route than the learned ones."""
    learned = plan.train.positions
    learned = learned[np.isfinite(learned).all(axis=1)]
    followed = np.concatenate([test.truth[test.scored].reshape(-1, 2) for test in plan.tests])
    followed = followed[np.isfinite(followed).all(axis=1)]
    far_m = FAR * float(np.sqrt(learned.var(axis=0).sum()))
    unknown = float(np.mean(cKDTree(learned).query(followed)[0] > far_m))
    if unknown > MOST_UNKNOWN:
        yield (
            f'{unknown:.0%} of the positions to follow are more than {far_m:.2f} m from all that '
            'are learned from, as on another route or in another map: no method can predict them; '
            'follow the route that is learned from'
        )


SHARE = 0.3
"""Of a single recording, at its end, that is followed by default; a share of laps that leaves
most for learning. Half as much makes errors depend on single laps."""


def plan_share(recording: Recording, settings: TrainingSettings, share: float = SHARE) -> Plan:
    """Learn from the start of one recording and follow its last share, between 0 and 1."""
    if not 0.0 < share < 1.0:
        msg = f'a share of {share:g} cannot be followed; give a number between 0 and 1'
        raise InputError(msg)
    if len(recording.imu.stamps) < 2:
        msg = f'{recording.name}: there are no two IMU samples; record longer'
        raise InputError(msg)
    cut_s = (1.0 - share) * (recording.imu.span_ns * 1e-9)
    first, last = recording.between(None, cut_s), recording.between(cut_s, None)
    return _plan('share', [first], [last], settings)


def plan_bags(
    learned: Sequence[Recording], followed: Sequence[Recording], settings: TrainingSettings
) -> Plan:
    """Learn from some recordings and follow others; every tick counts after the first window."""
    twice = {recording.name for recording in learned} & {each.name for each in followed}
    if twice:
        msg = f'{", ".join(sorted(twice))}: learned from and followed; name other bags with --test'
        raise InputError(msg)
    return _plan('bags', learned, followed, settings)


def _plan(
    protocol: str,
    learned: Sequence[Recording],
    followed: Sequence[Recording],
    settings: TrainingSettings,
) -> Plan:
    settings = with_time_scales(learned, settings)
    train = TrainSplit(tuple(learned), build_dataset(learned, settings), settings)
    cut = [test for each in followed for test in cut_tests(each, train)]
    tests = tuple(test for test in cut if test.has_truth)
    if not tests:
        names = ', '.join(dict.fromkeys(recording.name for recording in followed))
        msg = (
            f'{names}: the part to follow has no stretch longer than a window of '
            f'{train.dataset.window * train.dataset.period_s:.1f} s with positions after it; '
            'follow a longer part, or shorten --window'
        )
        raise InputError(msg)
    return Plan(protocol, train, tests)


@dataclass(frozen=True)
class SlotCarProtocol:
    """
    Protocol by which a slot car is learned and followed.

    Up to ``farthest`` ticks ahead are predicted, after the fewest to the most ticks of ``extents``
    were filtered, of those that are followed at the end. The rest is as in ``TrainingSettings``.
    """

    rate_hz: float
    window: int
    states: int
    neighbours: int
    farthest: int
    learned_ticks: int
    followed_ticks: int
    all_ticks: int
    extents: tuple[int, int]

    @property
    def settings(self) -> TrainingSettings:
        """Settings of a training; horizon 0 comes with every one."""
        return RouteSettings(
            rate_hz=self.rate_hz,
            window=self.window,
            states=self.states,
            neighbours=self.neighbours,
            horizons=tuple(range(self.farthest + 1)),
        )


SLOT_CAR = SlotCarProtocol(
    rate_hz=10.0,
    window=150,
    states=20,
    neighbours=50,
    farthest=100,
    learned_ticks=2_000,
    followed_ticks=500,
    all_ticks=3_000,
    extents=(100, 350),
)
"""That of the paper, Boots & Gordon (2012), Fig. 3."""


def plan_slot_car(recording: Recording, protocol: SlotCarProtocol = SLOT_CAR) -> Plan:
    """
    Do as the paper does with its slot car: 2,000 ticks learned, the last 500 of 3,000 followed.

    The first 100 to 350 ticks of the part that is followed are filtered, and positions 1 to 100
    ticks later are predicted from each. Raise ``InputError`` if the recording is too short or too
    slow, or a gap is in the part to follow.
    """
    fewest, most = protocol.extents
    all_s = protocol.all_ticks / protocol.rate_hz
    followed_s = protocol.followed_ticks / protocol.rate_hz
    learned = recording.between(None, protocol.learned_ticks / protocol.rate_hz)
    followed = recording.between(all_s - followed_s, all_s)
    settings = protocol.settings
    train = TrainSplit((learned,), build_dataset([learned], settings), settings)
    tests = list(cut_tests(followed, train)) if len(followed.imu.stamps) else []
    needed = most + protocol.farthest
    if max((len(test.segment) for test in tests), default=0) < needed:
        msg = (
            f'{recording.name}: the protocol of the slot car needs {all_s:g} s, '
            f'{needed / protocol.rate_hz:g} s without a gap among the last {followed_s:g} s of '
            'them; record longer, or leave out --protocol'
        )
        raise InputError(msg)
    longest = max(tests, key=lambda test: len(test.segment))
    filtered = np.arange(1, len(longest.segment) + 1)
    test = replace(longest, scored=(filtered >= fewest) & (filtered <= most))
    if not test.has_truth:
        msg = f'{recording.name}: no position is known where the slot car is followed'
        raise InputError(msg)
    return Plan('slot-car', train, (test,))
