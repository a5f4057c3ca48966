# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The train and test splits of a comparison, the same for every method, and sanity checks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.comparison.method import SampledSegment, TrainSplit
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import check_imu
from two_manifold_ros.evaluation.scores import directions_ahead
from two_manifold_ros.inspection.positions import FEWEST_LAPS, WANTED_LAPS
from two_manifold_ros.recordings.recording import check_one_plane
from two_manifold_ros.ticks.segments import cut_segments, positions_at
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.held_out import follow_held_out, hold_out
from two_manifold_ros.training.settings import RouteSettings, TrainingSettings
from two_manifold_ros.training.summary import count_all_laps, measure_drives
from two_manifold_ros.training.train import with_time_scales

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.comparison.method import FittedMethod
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats


Settings = TypeVar('Settings')


def choose(
    candidates: Sequence[Settings],
    train: TrainSplit,
    fit: Callable[[TrainSplit, Settings], FittedMethod],
) -> Settings:
    """
    Fit every candidate to a part of the training part and return the best one on the rest.

    The same blocks are held out as in a training; the first is taken where none can be. One that
    raises ``InputError`` is passed over, but where all do, the first reason is raised.
    """
    seen, held = hold_out(train.dataset.segments, train.dataset.window)
    if not seen or not held:
        return candidates[0]
    part = train.of(seen)
    scores: dict[int, float] = {}
    reasons = []
    for index, candidate in enumerate(candidates):
        try:
            fitted = fit(part, candidate)
        except InputError as error:
            reasons.append(error)
            continue
        scores[index] = held_out_error(fitted, held, train)
    if not scores:
        raise reasons[0]
    return candidates[min(scores, key=scores.__getitem__)]


def held_out_error(fitted: FittedMethod, segments: Sequence[Segment], train: TrainSplit) -> float:
    """
    Return the root mean square error of a fitted method, metres, averaged over the horizons.

    It is what the table of a comparison shows. Ticks before the window has filled do not count;
    later ones without a prediction count with the spread of the training positions.
    """
    spread_m = float(np.sqrt(np.nanvar(train.positions, axis=0).sum()))

    def follow(segment: Segment) -> tuple[Floats]:
        # Of an unknown truth the error is not known, of a missing prediction it is infinite.
        return (np.nan_to_num(fitted.predict(segment).positions, nan=np.inf),)

    blocks = [(segment, train.targets_of(segment)) for segment in segments]
    found = follow_held_out(follow, blocks, train.dataset.window)
    squares = np.square(np.concatenate([errors for (errors,) in found])).sum(axis=2)
    squares[np.isinf(squares)] = spread_m**2
    counts = np.isfinite(squares).sum(axis=0)
    means = np.nansum(squares, axis=0)[counts > 0] / counts[counts > 0]
    return float(np.sqrt(means).mean()) if len(means) else spread_m


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
    """
    Cut a recording at its gaps; every tick counts once the window has filled.

    Raise ``InputError`` if the recording is not of the kind that the training part is of.
    """
    dataset = train.dataset
    check_imu(recording, dataset)
    check_one_plane([train.recordings[0], recording])
    channels = dataset.channels
    samples = channels.without_dead(recording.imu.samples)
    cleaned = replace(recording, imu=replace(recording.imu, samples=samples))
    segments, _ = cut_segments(cleaned, dataset.period_ns, dataset.max_gap_ns, channels.largest)
    for segment in segments:
        truth = [
            # Beyond the last tick of a segment positions may still be known.
            positions_at(recording.positions, segment.stamps + horizon * dataset.period_ns)
            for horizon in train.horizons
        ]
        yield ScoredSegment(
            recording.name,
            SampledSegment(segment.stamps, segment.values, segment.positions, recording.imu),
            np.stack(truth, axis=1),
            directions_ahead(
                recording.positions, segment.stamps, train.horizons, dataset.period_ns
            ),
            np.asarray(np.arange(len(segment)) >= dataset.window - 1),
        )


@dataclass(frozen=True)
class Plan:
    """
    Training and test data of a comparison: ``'share'``, ``'bags'`` or ``'slot-car'``.

    Of the tests, at least one, each has a tick that counts; the notes are sentences to know before
    believing the numbers.
    """

    protocol: str
    train: TrainSplit
    tests: tuple[ScoredSegment, ...]
    notes: tuple[str, ...] = ()


SHARE = 0.3
"""Of a single recording, at its end, that is followed by default; a share of laps that leaves
most for learning. Half as much makes errors depend on single laps."""


def plan_share(recording: Recording, settings: TrainingSettings, share: float = SHARE) -> Plan:
    """
    Learn from the start of one recording and follow its last share.

    Raises
    ------
    InputError
        If the share is not between 0 and 1, or either part is too short.

    """
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
    """
    Learn from some recordings and follow others.

    Every tick counts once the window has filled, as in the live filter.

    Raises
    ------
    InputError
        If nothing can be learned from, nothing counts, or the two do not fit together.

    """
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
            f'{train.dataset.window * train.period_s:.1f} s with positions after it; follow a '
            'longer part, or shorten --window'
        )
        raise InputError(msg)
    return Plan(protocol, train, tests, tuple(check_sanity(train, tests)))


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
    ticks later are predicted from each.

    Raises
    ------
    InputError
        If the recording is too short or too slow, or a gap is in the part to follow.

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
    return Plan('slot-car', train, (test,), tuple(check_sanity(train, [test])))


def check_sanity(train: TrainSplit, tests: Sequence[ScoredSegment]) -> Iterator[str]:
    """Yield a sentence for each thing that speaks against the numbers of a comparison."""
    yield from _check_places(train, tests)
    yield from _check_laps(train, tests)


def _check_places(
    train: TrainSplit,
    tests: Sequence[ScoredSegment],
    far: float = 0.1,
    most_unknown: float = 0.25,
) -> Iterator[str]:
    """
    Report test positions on another route than the training ones.

    A place is unknown further from all training positions than a share ``far`` of their spread;
    on one route next to none are.
    """
    learned = train.positions
    learned = learned[np.isfinite(learned).all(axis=1)]
    followed = np.concatenate([test.truth[test.scored].reshape(-1, 2) for test in tests])
    followed = followed[np.isfinite(followed).all(axis=1)]
    far_m = far * float(np.sqrt(learned.var(axis=0).sum()))
    unknown = float(np.mean(cKDTree(learned).query(followed)[0] > far_m))
    if unknown > most_unknown:
        yield (
            f'{unknown:.0%} of the positions to follow are more than {far_m:.2f} m from all that '
            'are learned from, as on another route or in another map: no method can predict them; '
            'follow the route that is learned from'
        )


def _check_laps(train: TrainSplit, tests: Sequence[ScoredSegment]) -> Iterator[str]:
    """Report parts that hold too few laps."""
    drives = measure_drives(train.recordings)
    times = [drive.laps.time_s for drive in drives if drive.laps is not None]
    if not times:
        yield (
            'what is learned from never closes a lap, so no place is known under more than one '
            'drive; record several laps of each route'
        )
        return
    lap_s, laps = float(np.median(times)), count_all_laps(drives)
    window = train.dataset.window
    _, blocks = hold_out(train.dataset.segments, window)
    held = sum(len(segment) - window for segment in blocks) * train.period_s / lap_s
    if laps < FEWEST_LAPS or held < 1.0:
        yield (
            f'what is learned from holds {laps:.1f} laps, {held:.1f} of them to choose settings '
            'on: the methods may have better settings than those chosen; '
            f'record {WANTED_LAPS}'
        )
    followed = sum(int(test.scored.sum()) for test in tests) * train.period_s / lap_s
    if followed < 1.0:
        yield (
            f'what is followed holds {followed:.1f} laps: the errors are those on a part of the '
            'route; follow a longer part'
        )
