# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learners along a stream as a node gets it, beside models trained offline of the same laps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.inspection.motion import count_laps, put_together, way_driven
from two_manifold_ros.recordings.excursions import usable_places
from two_manifold_ros.recordings.recording import median_interval_ns, Recording
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.typing import Bools, Floats, Table

if TYPE_CHECKING:
    from two_manifold_ros.adapting.stream_learner import StreamLearner
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.training.settings import TrainingSettings


OFFLINE, MEAN = 'offline', 'mean'
"""Names beside those of learners: a model trained of what came before, and the mean position."""

AFTERWARDS = 0
"""Stands for the number of a lap where positions have ended: the IMU is alone."""


@dataclass(frozen=True)
class Row:
    """Result of one learner, or of ``offline`` or ``mean`` beside it, on one lap."""

    lap: int  # from 1 on, or ``AFTERWARDS``
    seconds: float
    name: str
    rmse_m: float  # over all looks, valid or not
    median_m: float
    published: float  # share with a valid estimate


@dataclass(frozen=True)
class LearningCurve:
    """Errors by lap, or by tenths if no ``laps`` are counted, then in the order of ``names``."""

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

    def shown(self) -> Iterator[str | Table]:
        """Yield the errors by lap as a table, and a sentence on its columns."""
        found = {(row.lap, row.name): row for row in self.rows}
        header = ['lap' if self.laps else 'tenth', 'from, s']
        for name in self.names:
            published = [f'{name}:\npublished'] if name != MEAN else []
            header += [f'{name}:\nRMSE', *published]
        rows = []
        for lap in dict.fromkeys(row.lap for row in self.rows):
            first = next(row for row in self.rows if row.lap == lap)
            cells = ['IMU alone' if lap == AFTERWARDS else str(lap), f'{first.seconds:.0f}']
            for name in self.names:
                row = found.get((lap, name))
                cells.append('-' if row is None else f'{row.rmse_m:.3f}')
                if name != MEAN:
                    cells.append('-' if row is None else f'{100 * row.published:.0f} %')
            rows.append(cells)
        yield Table(
            'position error in metres over all ticks, published or not, before the position is '
            'given',
            header,
            rows,
        )
        yield (
            f'{OFFLINE}: the default, trained on all that came before the lap, where that is 1, '
            f'2, 3, 5, 8, ... laps; {MEAN}: always the mean of the positions so far'
        )


def learning_curve(
    recordings: Sequence[Recording],
    learners: Mapping[str, StreamLearner],
    settings: TrainingSettings,
    known_s: float = math.inf,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> LearningCurve:
    """
    Feed learners with a stream, and compare their estimates with the positions, lap by lap.

    A tick is estimated before its position is given. Offline models are trained on everything
    before some laps (1, 2, 3, 5, 8, ...), and before the positions end; each is shown the lap
    before, and followed over the next one, or to the end. An end of less than half a lap counts
    with the lap before. Positions are kept from the learners after ``known_s``.
    """
    stream = _Stream(recordings)
    known = stream.seconds < known_s
    given = known & np.isfinite(stream.truths).all(axis=1)
    if not given.any():
        names = ', '.join(recording.name for recording in recordings)
        raise InputError(f'{names}: there are no positions to learn from and to compare with')
    # Slow to import, and not needed to name the rows of a table.
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415

    # How much the mean of the positions errs that are known until then.
    sums = np.cumsum(np.where(given[:, None], stream.truths, 0.0), axis=0)
    counts = np.cumsum(given)[:, None]
    means = np.where(counts > 0, sums / np.maximum(counts, 1), stream.truths[given][0])
    mean: Floats = np.linalg.norm(means - stream.truths, axis=1)
    errors = {name: np.full(len(mean), np.nan) for name in (*learners, OFFLINE, MEAN)}
    published = {name: np.zeros(len(mean), dtype=np.bool_) for name in errors}
    errors[MEAN] = mean
    for name, learner in learners.items():
        progress(f'following with {name}', 0.0)
        errors[name], published[name] = stream.follow(
            learner, mean, (0.0, math.inf), learner.add_reference, known_s, progress
        )
    laps = np.where(known, stream.laps.astype(np.int64) + 1, AFTERWARDS)
    last = int(laps.max())
    # A shorter end of a stream counts with the lap before.
    if last > 1 and stream.laps[known].max() - (last - 1) < 0.5:
        last -= 1
        laps = np.minimum(laps, last)
    some, learned, before = list[int](), 1, 1
    while learned < last:
        some.append(learned + 1)
        learned, before = learned + before, learned
    for lap in np.intersect1d(laps, [*some, AFTERWARDS]).tolist():
        chosen = laps == lap
        progress('training offline', lap / last if lap else 1.0)
        begin_s, end_s = stream.seconds[chosen][0], stream.seconds[chosen][-1] + 1.0
        parts = [
            each.between(None, begin_s - since_s)
            for each, since_s in zip(recordings, stream.begins_s, strict=False)
            if since_s < begin_s
        ]
        try:
            live = Filter(train_model(parts, settings))
        except InputError:
            # Of less than a lap no model can be made; that is what the learners start with.
            continue
        found, valid = stream.follow(live, mean, (begin_s - stream.lap_s, end_s))
        errors[OFFLINE][chosen], published[OFFLINE][chosen] = found[chosen], valid[chosen]
    rows = []
    for lap in [*range(1, last + 1), AFTERWARDS]:
        for name, each in errors.items():
            chosen = (laps == lap) & np.isfinite(each)
            if chosen.any():
                rmse_m = float(np.sqrt(np.mean(each[chosen] ** 2)))
                median_m = float(np.median(each[chosen]))
                share = float(np.mean(published[name][chosen]))
                begin_s = float(stream.seconds[laps == lap][0])
                rows.append(Row(lap, begin_s, name, rmse_m, median_m, share))
    end_s = float(stream.seconds[known][-1])
    return LearningCurve(tuple(rows), tuple(errors), end_s, stream.counted)


class _Stream:
    """Recordings one after the other, and moments at which the newest estimate is looked at."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        look_hz = 20.0  # the tick of most models
        self.recordings = recordings
        # Of each look: its drive, the sample before it, seconds over all recordings, the true
        # position, and the laps driven until then, or tenths of the whole.
        lengths = [each.imu.span_ns for each in recordings]
        self.begins_s = np.concatenate([[0.0], np.cumsum(lengths)]) * 1e-9
        columns = []
        for index, each in enumerate(recordings):
            every = max(round(1e9 / look_hz / median_interval_ns(each.imu.stamps)), 1)
            samples = np.arange(0, len(each.imu.stamps), every)
            stamps = each.imu.stamps[samples]
            seconds = self.begins_s[index] + (stamps - each.imu.first_stamp) * 1e-9
            truths = positions_at(each.positions, stamps)
            columns.append((np.full(len(samples), index), samples, seconds, truths))
        self.drives, self.samples, self.seconds, self.truths = map(
            np.concatenate, zip(*columns, strict=True)
        )
        motions = [
            put_together(each.positions, each.imu) if each.positions is not None else None
            for each in recordings
        ]
        found = [count_laps(each) if each else None for each in motions]
        closed = [each for each in found if each is not None]
        self.counted = bool(closed)
        if not closed:
            self.lap_s = float(self.begins_s[-1]) / 10
            self.laps = self.seconds / self.lap_s
            return
        self.lap_s = float(np.median([each.time_s for each in closed]))
        length_m, driven = float(np.median([each.length_m for each in closed])), 0.0
        self.laps = np.zeros(len(self.seconds))
        for index, motion in enumerate(motions):
            here = self.drives == index
            self.laps[here] = driven
            if motion is not None:
                way = way_driven(motion)
                since_s = self.seconds[here] - self.begins_s[index]
                self.laps[here] += np.interp(since_s, motion.seconds, way) / length_m
                driven += float(way[-1]) / length_m

    def follow(
        self,
        live: Filter | StreamLearner,
        mean: Floats,
        span_s: tuple[float, float],
        add_reference: Callable[[int, float, float], bool] = lambda *_: False,
        known_s: float = 0.0,
        progress: Callable[[str, float], None] = lambda *_: None,
    ) -> tuple[Floats, Bools]:
        """Feed a span; return errors (T,), NaN without truth, and which are valid."""
        # An estimate is compared with the truth at its stamp; the mean position stands for none.
        errors, published = mean.copy(), np.zeros(len(mean), dtype=np.bool_)
        for index, recording in enumerate(self.recordings):
            looks = np.flatnonzero(self.drives == index)
            begin_s = float(self.begins_s[index])
            progress(f'following {recording.name}', begin_s / float(self.begins_s[-1]))
            imu, stream = recording.imu, recording.positions
            first, last, end = (
                imu.first_stamp + round(1e9 * min(each_s - begin_s, 1e9))
                for each_s in (*span_s, known_s)
            )
            fixes = [] if stream is None else stream.stamps[stream.stamps < end].tolist()
            places = np.zeros((0, 2)) if stream is None else stream.positions
            samples = self.samples[looks]
            ends, positions = imu.stamps[samples].copy(), np.full((len(looks), 2), np.nan)
            valid = np.zeros(len(looks), dtype=np.bool_)
            newest: Estimate | None = None
            look = fix = 0
            for sample, stamp in enumerate(imu.stamps.tolist()):
                if first <= stamp < last:
                    estimates = live.push(stamp, imu.samples[sample])
                    newest = estimates[-1] if estimates else newest
                    while fix < len(fixes) and fixes[fix] <= stamp:
                        add_reference(fixes[fix], float(places[fix, 0]), float(places[fix, 1]))
                        fix += 1
                if look < len(looks) and samples[look] == sample:
                    # The next one is due a tick later, or with the first sample after that.
                    running = (live if isinstance(live, Filter) else live.filter).running
                    held_ns = running.period_ns + running.max_gap_ns
                    if newest is not None and 0 <= stamp - newest.stamp_ns <= held_ns:
                        ends[look], valid[look] = newest.stamp_ns, newest.valid
                        positions[look] = newest.positions[0]
                    look += 1
            sound = usable_places(positions)
            apart = np.linalg.norm(positions - positions_at(recording.positions, ends), axis=1)
            errors[looks[sound]], published[looks] = apart[sound], valid & sound
        return errors, published
