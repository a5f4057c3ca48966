# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials of learners: drives learned live, changes, a spoiled lap, ten minutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
import math
from multiprocessing import get_context
from time import process_time
from typing import Any, TYPE_CHECKING

from changed_streams import (
    Change,
    changed_stream,
    CHANGES,
    motion_of,
    poisoned,
    Stream,
)
from gauntlet_scores import accuracy, listen, run_case
import numpy as np
from runner import resident_mb
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.adapting.checkpoints import saved
from two_manifold_ros.adapting.stream_learner import make_learner
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.inspection.motion import count_laps, way_driven
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from gauntlet_drives import Case

    from two_manifold_ros.adapting.stream_learner import StreamLearner
    from two_manifold_ros.recordings.recording import Recording

OFFLINE = {'map': 'route', 'tpsr': 'spectral', 'hse_hmm': 'spectral'}
"""The offline method that a learner is held against."""

BACK, OLD_LAPS, AS_GOOD = 1.5, 3, 1.1

BRANCH = 0.15
"""Laps before the change from which on drives of a seed differ: faster ones brake earlier."""

COST_S, MINUTE_S, WARM_S = 600.0, 60.0, 40.0

WINDOW_S, PAUSE_NS = 3.0, 1_000_000_000
"""What the default filter sees before it publishes, and a step after which it starts again."""

LAP, ERROR, VALID, MEAN, FILLED = range(5)
"""Columns of the ticks that ``feed`` returns."""


def feed(
    live: StreamLearner | Filter, stream: Stream, first: int, stop: int, *, positions: bool = True
) -> Floats:
    """
    Feed some samples of a stream; positions of their time come after its estimates.

    Returned is ``ticks`` (T, 5): lap, error in metres, whether it was valid, the error of the mean
    position, which also stands for a position that is no number, and whether a drive has lasted
    for a window. Ticks whose truth is unknown are left out.
    """
    given = stream.given
    if given is None:
        given = np.searchsorted(stream.stamps, stream.fix_stamps)
    fix, last = (int(np.searchsorted(given, each)) for each in (first, stop))
    estimates = []
    for index in range(first, stop):
        estimates += [
            (index, each.stamp_ns, each.valid, *each.positions[0].tolist())
            for each in live.push(int(stream.stamps[index]), stream.samples[index])
        ]
        while fix < last and given[fix] <= index:
            if positions and not isinstance(live, Filter):
                live.add_reference(int(stream.fix_stamps[fix]), *stream.fixes[fix].tolist())
            fix += 1
    rows = np.array([each[2:] for each in estimates], dtype=np.float64).reshape(-1, 3)
    indices, ends = (np.array([each[n] for each in estimates], dtype=np.int64) for n in (0, 1))
    truths = _truths_at(stream, indices, ends)
    mean = np.linalg.norm(truths - np.nanmean(stream.fixes, axis=0), axis=1)
    errors = np.linalg.norm(rows[:, 1:] - truths, axis=1)
    errors = np.where(np.isfinite(errors), errors, mean)
    filled = _driven_s(stream, indices) >= WINDOW_S
    ticks = np.column_stack([stream.laps[indices], errors, rows[:, 0], mean, filled])
    return np.asarray(ticks[np.isfinite(mean)])


def _driven_s(stream: Stream, indices: Ints) -> Floats:
    """Return how long the drive has lasted at some samples, since the last pause: (T,)."""
    steps = np.diff(stream.stamps)
    begins = np.append(0, np.flatnonzero((steps < 0) | (steps > PAUSE_NS)) + 1)
    begin = begins[np.searchsorted(begins, indices, 'right') - 1]
    return np.asarray((stream.stamps[indices] - stream.stamps[begin]) * 1e-9)


def _truths_at(stream: Stream, indices: Ints, ends: Ints) -> Floats:
    """Return the truth at ends of ticks that were estimated after some samples: (T, 2)."""
    low = indices.copy()
    # Between two samples mostly; not searched for, because stamps of recordings may go back.
    while (late := (stream.stamps[low] > ends) & (low > 0)).any():
        low -= late
    high = np.minimum(low + 1, indices)
    step = np.maximum(stream.stamps[high] - stream.stamps[low], 1)
    share = np.clip((ends - stream.stamps[low]) / step, 0.0, 1.0)[:, None]
    return np.asarray((1.0 - share) * stream.truths[low] + share * stream.truths[high])


def apart(work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what work returns
    """Return the result of work in a separate process, so that its side effects are lost."""
    context = get_context('fork')
    ours, its = context.Pipe(duplex=False)
    child = context.Process(target=lambda: its.send(work()))
    child.start()
    its.close()
    try:
        return ours.recv()
    except EOFError as error:
        msg = f'a trial has failed in process {child.pid}; its traceback is above'
        raise RuntimeError(msg) from error
    finally:
        child.join()


def rms(errors: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(errors)))) if len(errors) else math.nan


def joined(recordings: Sequence[Recording], lap_s: float) -> Stream:
    """Return recordings one after the other, stamps as they are; laps count from 0."""
    motions = [motion_of(each) for each in recordings]
    found = [count_laps(each) for each in motions]
    lengths = [each.length_m for each in found if each is not None]
    parts, driven, samples = [], 0.0, 0
    for recording, motion in zip(recordings, motions, strict=True):
        imu, positions = recording.imu, recording.positions
        assert positions is not None  # noqa: S101 - motion_of has asked
        since_s = (imu.stamps - imu.first_stamp) * 1e-9
        laps = driven + since_s / lap_s
        if lengths:
            way = way_driven(motion) / float(np.median(lengths))
            laps = driven + np.interp(since_s, motion.seconds, way)
        driven = float(laps[-1])
        order = np.argsort(positions.stamps, kind='stable')
        fixed = positions.stamps[order], positions.positions[order]
        given = np.searchsorted(imu.stamps, fixed[0]).clip(max=len(imu.stamps) - 1) + samples
        samples += len(imu.stamps)
        truths = positions_at(positions, imu.stamps)
        parts.append((imu.stamps, imu.samples, truths, laps, *fixed, given))
    stamps, all_samples, truths, laps, fix_stamps, fixes, given = (
        np.concatenate(each) for each in zip(*parts, strict=True)
    )
    return Stream(stamps, all_samples, truths, laps, fix_stamps, fixes, lap_s, given)


def learn_live(case: Case, name: str) -> dict[str, Any]:
    """Learn the training part live, then follow with the IMU alone."""
    stream = joined(case.training, case.lap_s)
    learner = make_learner(name)
    ticks = feed(learner, stream, 0, len(stream.stamps))
    following = listen(learner.push, lambda: learner.filter.running, case.followed)
    found = accuracy(learner.filter.running, case, following)
    learner.close()
    offline = run_case(case, OFFLINE[name], ('accuracy',)).get('accuracy', {})
    laps = math.floor(ticks[-1, LAP] + 0.3)
    errors = np.where(ticks[:, VALID] > 0.0, ticks[:, ERROR], ticks[:, MEAN])
    # Where a drive starts nothing can be published, however much was learned.
    filled = ticks[:, FILLED] > 0.0
    here = [(np.floor(ticks[:, LAP]) == lap) & filled for lap in range(laps)]
    return {
        'laps': float(ticks[-1, LAP]),
        'accuracy': found,
        'offline': offline,
        'mean_m': rms(ticks[:, MEAN]),
        'rmse_m': [rms(errors[each]) for each in here],
    }


def try_changes(case: str, seed: int, name: str) -> dict[str, Any]:
    """Return what each change did after laps that were learned from nothing."""
    trials: dict[str, Any] = {}
    learner: StreamLearner | None = None
    before = np.zeros((0, 5))
    for change in ['none', *CHANGES]:
        stream = changed_stream(case, seed, CHANGES.get(change, Change()))
        branch = int(np.searchsorted(stream.laps, -BRANCH))
        if learner is None:
            learner = make_learner(name)
            before = feed(learner, stream, 0, branch)
        rows, after, frozen = apart(partial(_go_on, learner, stream, branch))
        trials[change] = _judged(np.concatenate([before, rows]), after, frozen)
    return {'changes': trials}


def _go_on(learner: StreamLearner, stream: Stream, branch: int) -> tuple[Floats, Floats, Floats]:
    begin, stop = stream.begin, len(stream.stamps)
    rows = feed(learner, stream, branch, begin)
    frozen = apart(lambda: _frozen(learner, stream, begin, stop))
    return rows, feed(learner, stream, begin, stop), frozen


def _frozen(learner: StreamLearner, stream: Stream, begin: int, stop: int) -> Floats:
    """Follow with what was learned until then, which has seen the lap before."""
    model = learner.model()
    if model is None:
        return np.zeros((0, 5))
    live = Filter(model)
    seen_ns = round(1e9 * max(stream.lap_s, 2.0 * model.window / model.rate_hz))
    first = int(np.searchsorted(stream.stamps, stream.stamps[begin] - seen_ns))
    feed(live, stream, first, begin, positions=False)
    return feed(live, stream, begin, stop, positions=False)


def try_poisons(case: str, seed: int, name: str) -> dict[str, Any]:
    """Return errors of the second and third lap after a lap that was spoiled in each way."""
    stream = changed_stream(case, seed, Change())
    first, stop, later, end = np.searchsorted(stream.laps, (-2.0, -1.0, 0.0, 2.0)).tolist()
    learner = make_learner(name)
    feed(learner, stream, 0, first)

    def after(spoiled: Stream) -> dict[str, float]:
        frozen = apart(lambda: _frozen(learner, spoiled, later, end))
        feed(learner, spoiled, first, later)
        ticks = feed(learner, spoiled, later, end)
        errors = (ticks[:, ERROR], ticks[:, MEAN], frozen[:, ERROR])
        return dict(zip(('rmse_m', 'mean_m', 'frozen_m'), map(rms, errors), strict=True))

    spoiled = poisoned(stream, first, stop, seed)
    return {'poisons': {each: apart(partial(after, spoiled[each])) for each in spoiled}}


def _judged(before: Floats, after: Floats, frozen: Floats) -> dict[str, Any]:
    laps = math.floor(after[-1, LAP] + 0.3)
    old = rms(before[before[:, LAP] >= -OLD_LAPS, ERROR])
    errors, still = (
        np.array([rms(rows[np.floor(rows[:, LAP]) == lap, ERROR]) for lap in range(laps)])
        for rows in (after, frozen)
    )
    return {
        'old_m': old,
        'mean_m': rms(before[:, MEAN]),
        'back': laps_until_back(errors, BACK * old),
        'worse': longest_run((errors > AS_GOOD * still).tolist()),
    }


def laps_until_back(errors: Floats, limit: float) -> int | None:
    """Return after how many laps errors of two in a row are within a limit."""
    ratios = errors / limit
    # Together, so that one that went well by chance does not count.
    return next((lap for lap in range(len(ratios)) if rms(ratios[lap : lap + 2]) <= 1.0), None)


def longest_run(flags: list[bool]) -> int:
    return max((sum(run) for _, run in groupby(flags)), default=0)


def measure_cost(world: str, name: str) -> dict[str, Any]:
    """Return shares of a core and what is kept over ten minutes with positions."""
    made = drive(world_named(world), seconds=COST_S).recording
    laps = count_laps(motion_of(made))
    stream = joined([made], laps.time_s if laps else COST_S)
    cost: dict[str, Any] = apart(lambda: _cost(name, stream))
    return {'lap_s': stream.lap_s} | cost


def _cost(name: str, stream: Stream) -> dict[str, Any]:
    seconds = (stream.stamps - stream.stamps[0]) * 1e-9
    # Compilation is once for a robot, and no part of its learning.
    other = joined([drive(world_named('slot_car'), seconds=WARM_S).recording], WARM_S)
    warm = make_learner(name)
    feed(warm, other, 0, len(other.stamps))
    warm.close()
    del warm, other
    empty_mb = resident_mb()
    busy, kept_mb, grown_mb = [], 0.0, 0.0
    learner = make_learner(name)
    for minute in range(round(COST_S / MINUTE_S)):
        ends = np.searchsorted(seconds, [MINUTE_S * minute, MINUTE_S * (minute + 1)])
        began = process_time()
        feed(learner, stream, int(ends[0]), int(ends[1]))
        busy.append(process_time() - began)
        kept_mb = max(kept_mb, sum(each.nbytes for each in saved(learner)[1].values()) / 1e6)
        grown_mb = max(grown_mb, resident_mb() - empty_mb)
    learner.close()
    return {
        'first_core': busy[0] / MINUTE_S,
        'core': sum(busy) / COST_S,
        'kept_mb': kept_mb,
        'grown_mb': grown_mb,
    }
