# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learners along a stream as a node gets it, beside models trained offline of the same laps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.inspection.motion import count_laps, put_together, way_driven
from two_manifold_ros.ticks.segments import median_interval_ns, positions_at, usable_places
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from two_manifold_ros.adapting.stream_learner import StreamLearner
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Bools, Floats, Ints


LOOK_HZ = 20.0
"""How often in a second it is looked at what a learner tells; the tick of most models."""

OLD_NS = 500_000_000
"""Age of an estimate after which the learner is silent; no model has longer ticks."""

PARTS = 10
"""Parts of equal time that stand for laps where none can be counted."""

OFFLINE, MEAN = 'offline', 'mean'
"""What stands beside the learners: a model trained of what came before, and the mean position."""

AFTERWARDS = 0
"""Stands for the number of a lap where positions have ended: the IMU is alone."""


@dataclass(frozen=True)
class Row:
    """
    What one learner, or what stands beside it, reached on one lap.

    Parameters
    ----------
    lap
        Number from 1; ``AFTERWARDS`` for everything after the positions ended.
    seconds
        When the lap begins.
    name
        Of the learner, ``offline`` or ``mean``.
    rmse_m, median_m
        Over all looks, told or not, metres.
    told
        Share of them with a valid estimate.

    """

    lap: int
    seconds: float
    name: str
    rmse_m: float
    median_m: float
    told: float


@dataclass(frozen=True)
class LearningCurve:
    """
    Errors by lap.

    Parameters
    ----------
    rows
        By lap, then in the order of ``names``.
    names
        Of all that are compared.
    known_s
        Seconds with positions.
    laps
        Whether laps could be counted, or parts of equal time stand for them.

    """

    rows: tuple[Row, ...]
    names: tuple[str, ...]
    known_s: float
    laps: bool

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            'known_s': self.known_s,
            'laps_counted': self.laps,
            'rows': [asdict(row) for row in self.rows],
        }


def learning_curve(
    recordings: Sequence[Recording],
    learners: Mapping[str, StreamLearner],
    settings: TrainingSettings,
    known_s: float = math.inf,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> LearningCurve:
    """
    Feed learners with a stream, and compare what they tell with the positions, lap by lap.

    What is told of a tick is told before its position is given. Offline models are trained on
    everything before some laps (1, 2, 3, 5, 8, ...), and before the positions end; each is shown
    the lap before, and followed over the next one, or to the end.

    Parameters
    ----------
    recordings
        With positions, in the order of time.
    learners
        By name; they have learned from the stream afterwards.
    settings
        Of the offline models.
    known_s
        Seconds of the stream after which positions are kept from the learners.
    progress
        Called with the stage and the share done.

    Raises
    ------
    InputError
        If there are no positions to learn from and to compare with.

    """
    stream = _Stream(recordings)
    known = stream.seconds < known_s
    if not (np.isfinite(stream.truths).all(axis=1) & known).any():
        names = ', '.join(recording.name for recording in recordings)
        msg = f'{names}: there are no positions to learn from and to compare with'
        raise InputError(msg)
    mean = stream.mean_errors(known)
    errors = {name: np.full(len(mean), np.nan) for name in (*learners, OFFLINE, MEAN)}
    told = {name: np.zeros(len(mean), dtype=np.bool_) for name in errors}
    errors[MEAN] = mean
    for name, learner in learners.items():
        progress(f'following with {name}', 0.0)
        live = _Live(learner.push, learner.add_reference)
        errors[name], told[name] = stream.follow(live, mean, (0.0, math.inf), known_s, progress)
    laps = np.where(known, stream.laps.astype(np.int64) + 1, AFTERWARDS)
    last = int(laps.max())
    for lap in [*_some_laps(last), AFTERWARDS]:
        chosen = laps == lap
        if not chosen.any():
            continue
        progress('training offline', lap / last if lap else 1.0)
        begin_s, end_s = stream.seconds[chosen][0], stream.seconds[chosen][-1] + 1.0
        try:
            model = train_model(stream.part(begin_s), settings)
        except InputError:
            # Of less than a lap no model can be made; that is what the learners begin with.
            continue
        span = begin_s - stream.lap_s, end_s
        found, valid = stream.follow(_Live(Filter(model).push), mean, span, 0.0)
        errors[OFFLINE][chosen], told[OFFLINE][chosen] = found[chosen], valid[chosen]
    rows = [
        _row(lap, name, float(stream.seconds[chosen][0]), errors[name][chosen], told[name][chosen])
        for lap in [*range(1, last + 1), AFTERWARDS]
        if (chosen := laps == lap).any()
        for name in errors
        if np.isfinite(errors[name][chosen]).any()
    ]
    end_s = float(stream.seconds[known][-1])
    return LearningCurve(tuple(rows), tuple(errors), end_s, stream.counted)


def _some_laps(last: int) -> list[int]:
    """Return 2, 3, 4, 6, 9, ...: the laps after 1, 2, 3, 5, 8, ... of them, and the last one."""
    learned, following = 1, 2
    some = []
    while learned < last:
        some.append(learned + 1)
        learned, following = following, learned + following
    return some


def _row(lap: int, name: str, seconds: float, errors: Floats, told: Bools) -> Row:
    known = np.isfinite(errors)
    found = errors[known]
    return Row(
        lap,
        seconds,
        name,
        float(np.sqrt(np.mean(found**2))),
        float(np.median(found)),
        float(np.mean(told[known])),
    )


@dataclass(frozen=True)
class _Live:
    """A filter, or a learner that is given positions as well."""

    push: Callable[[int, Floats], list[Estimate]]
    add_reference: Callable[[int, float, float], bool] = lambda *_: False


class _Stream:
    """
    Recordings one after the other, and moments at which it is looked what is told.

    Attributes
    ----------
    drives, samples : (T,) int64
        Recording of each look, and the sample after which it is.
    seconds : (T,)
        Of all recordings one after the other.
    truths : (T, 2)
        Positions, NaN where unknown.
    laps : (T,)
        Laps driven until then; tenths of the whole where none can be counted.
    lap_s
        How long a lap takes.
    counted
        Whether laps could be counted.

    """

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self.recordings = recordings
        lengths = [int(each.imu.stamps[-1]) - each.imu.first_stamp for each in recordings]
        self._begins_s = np.concatenate([[0.0], np.cumsum(lengths)]) * 1e-9
        drives, samples, seconds, truths = [], [], [], []
        for index, each in enumerate(recordings):
            every = max(round(1e9 / LOOK_HZ / median_interval_ns(each.imu.stamps)), 1)
            chosen = np.arange(0, len(each.imu.stamps), every)
            stamps = each.imu.stamps[chosen]
            drives.append(np.full(len(chosen), index))
            samples.append(chosen)
            seconds.append(self._begins_s[index] + (stamps - each.imu.first_stamp) * 1e-9)
            truths.append(positions_at(each.positions, stamps))
        self.drives, self.samples = np.concatenate(drives), np.concatenate(samples)
        self.seconds, self.truths = np.concatenate(seconds), np.concatenate(truths)
        self._count_laps()

    def _count_laps(self) -> None:
        motions = [
            put_together(each.positions, each.imu) if each.positions is not None else None
            for each in self.recordings
        ]
        found = [count_laps(each.motion) if each else None for each in motions]
        lengths = [each.length_m for each in found if each is not None]
        self.counted = bool(lengths)
        if not lengths:
            self.lap_s = float(self._begins_s[-1]) / PARTS
            self.laps = self.seconds / self.lap_s
            return
        self.lap_s = float(np.median([each.time_s for each in found if each is not None]))
        length_m, driven = float(np.median(lengths)), 0.0
        self.laps = np.zeros(len(self.seconds))
        for index, each in enumerate(motions):
            here = self.drives == index
            if each is not None:
                way = way_driven(each.motion)
                since_s = self.seconds[here] - self._begins_s[index]
                self.laps[here] = driven + np.interp(since_s, each.motion.seconds, way) / length_m
                driven += float(way[-1]) / length_m
            else:
                self.laps[here] = driven

    def part(self, end_s: float) -> list[Recording]:
        """Return what comes before a time."""
        return [
            each.between(None, end_s - begin_s)
            for each, begin_s in zip(self.recordings, self._begins_s, strict=False)
            if begin_s < end_s
        ]

    def mean_errors(self, known: Bools) -> Floats:
        """Return how much the mean of the positions errs that are known until then: (T,)."""
        given = known & np.isfinite(self.truths).all(axis=1)
        sums = np.cumsum(np.where(given[:, None], self.truths, 0.0), axis=0)
        counts = np.maximum(np.cumsum(given), 1)[:, None]
        means = np.where(np.cumsum(given)[:, None] > 0, sums / counts, self.truths[given][0])
        errors: Floats = np.linalg.norm(means - self.truths, axis=1)
        return errors

    def follow(
        self,
        live: _Live,
        mean: Floats,
        span_s: tuple[float, float],
        known_s: float,
        progress: Callable[[str, float], None] = lambda *_: None,
    ) -> tuple[Floats, Bools]:
        """
        Feed a filter or a learner, and look what it tells.

        Parameters
        ----------
        live
            To be fed.
        mean : (T,)
            Error of the mean position, which stands for a position that is not told at all.
        span_s
            Part of the stream that it is fed with.
        known_s
            Until when positions are given.
        progress
            Called with the share done.

        Returns
        -------
        errors : (T,), told : (T,) bool
            NaN where the truth is unknown.

        """
        errors, told = mean.copy(), np.zeros(len(mean), dtype=np.bool_)
        for index, recording in enumerate(self.recordings):
            looks = np.flatnonzero(self.drives == index)
            begin_s = float(self._begins_s[index])
            progress(f'following {recording.name}', begin_s / float(self._begins_s[-1]))
            ends, positions, valid = _along(
                live, recording, self.samples[looks], (span_s[0] - begin_s, span_s[1] - begin_s),
                known_s - begin_s,
            )  # fmt: skip
            sound = usable_places(positions)
            apart = np.linalg.norm(positions - positions_at(recording.positions, ends), axis=1)
            errors[looks[sound]], told[looks] = apart[sound], valid & sound
        return errors, told


def _along(
    live: _Live,
    recording: Recording,
    looks: Ints,
    span_s: tuple[float, float],
    known_s: float,
) -> tuple[Ints, Floats, Bools]:
    """Return ends of ticks (T,), positions (T, 2) and whether they are valid at the looks."""
    imu, stream = recording.imu, recording.positions
    first, last, end = (imu.first_stamp + round(1e9 * min(s, 1e9)) for s in (*span_s, known_s))
    fixes = [] if stream is None else stream.stamps[stream.stamps < end].tolist()
    places = np.zeros((0, 2)) if stream is None else stream.positions
    ends, positions = imu.stamps[looks].copy(), np.full((len(looks), 2), np.nan)
    valid = np.zeros(len(looks), dtype=np.bool_)
    newest: Estimate | None = None
    look = fix = 0
    for index, (stamp, sample) in enumerate(zip(imu.stamps.tolist(), imu.samples, strict=True)):
        if first <= stamp < last:
            told = live.push(stamp, sample)
            newest = told[-1] if told else newest
            while fix < len(fixes) and fixes[fix] <= stamp:
                live.add_reference(fixes[fix], float(places[fix, 0]), float(places[fix, 1]))
                fix += 1
        if look < len(looks) and looks[look] == index:
            if newest is not None and 0 <= stamp - newest.stamp_ns <= OLD_NS:
                ends[look], valid[look] = newest.stamp_ns, newest.valid
                positions[look] = newest.positions[0]
            look += 1
    return ends, positions, valid
