# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every method on the same lesson and the same exams, scored on the same ticks."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
import hashlib
from importlib import metadata
import json
import multiprocessing
from multiprocessing.connection import wait
import os
from pathlib import Path
import pickle
import platform
import signal
import sys
from tempfile import TemporaryDirectory
import traceback
from typing import Any, cast, TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import ArpackError

from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.comparison.baselines import mean_of
from two_manifold_ros.comparison.method import fit_linear_track
from two_manifold_ros.comparison.outcome import Comparison, errors_of, Result
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.ticks.segments import usable_places
from two_manifold_ros.training.tuning_trials import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from numpy.typing import NDArray

    from two_manifold_ros.comparison.method import Course, FittedMethod, Lesson, Method
    from two_manifold_ros.comparison.outcome import Errors
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats


_ARITHMETIC = (ArithmeticError, np.linalg.LinAlgError, ArpackError)
_OWN = __name__.split('.', maxsplit=1)[0]


@dataclass(frozen=True)
class Trial:
    """
    What one method told.

    Parameters
    ----------
    positions
        For each segment that was followed (T, H, 2), NaN where the method could not tell.
    linear
        For each segment (T, 2) positions now, read from the method's states by a linear
        regression on the lesson; what a method that is told positions says itself, because it
        has them in its state; ``None`` without states.
    chosen
        See ``FittedMethod``.
    valid
        For each segment (T,), see ``Course``; ``None`` for a method that withholds nothing.

    """

    positions: tuple[Floats, ...]
    linear: tuple[Floats, ...] | None
    chosen: dict[str, Any]
    valid: tuple[Bools, ...] | None = None


@dataclass(frozen=True)
class Failure:
    """
    Why a method has nothing to tell.

    Parameters
    ----------
    reason
        One sentence.

    """

    reason: str


def try_method(method: Method, lesson: Lesson, segments: Sequence[Segment]) -> Trial | Failure:
    """
    Fit a method and let it follow the segments, their positions hidden unless it is told them.

    Overflows and divisions by zero are left to the method: what is not finite is not scored. No
    exception holds up the other methods, but an interrupt ends all.
    """
    try:
        fitted = method.fit(lesson)
        courses = [_follow(method, fitted, segment) for segment in segments]
        linear = None
        if all(course.states is not None for course in courses):
            linear = _linear(method, fitted, lesson, courses)
        chosen = json.loads(json.dumps(fitted.chosen, sort_keys=True, allow_nan=False))
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return Failure(_sentence(error))
    valid = tuple(course.valid for course in courses if course.valid is not None)
    positions = tuple(course.positions for course in courses)
    return Trial(positions, linear, chosen, valid if len(valid) == len(courses) else None)


def _follow(method: Method, fitted: FittedMethod, segment: Segment) -> Course:
    if not method.told:
        segment = replace(segment, positions=np.full_like(segment.positions, np.nan))
    return fitted.follow(segment)


def _linear(
    method: Method, fitted: FittedMethod, lesson: Lesson, courses: Sequence[Course]
) -> tuple[Floats, ...] | None:
    if method.told:
        return tuple(course.positions[:, 0] for course in courses)
    learned = lesson.dataset.segments
    states = [_states(_follow(method, fitted, segment)) for segment in learned]
    # As in the exams: before the window has filled a method may not know yet.
    window = lesson.dataset.window
    track = fit_linear_track(
        np.concatenate([each[window:] for each in states]),
        np.concatenate([segment.positions[window:] for segment in learned]),
    )
    return None if track is None else tuple(track.read(_states(course)) for course in courses)


def _states(course: Course) -> Floats:
    if course.states is None:
        msg = 'a method has states along some segments and none along others'
        raise ValueError(msg)
    return course.states


def _sentence(error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, ImportError) and not (error.name or '').startswith(_OWN):
        return _import_sentence(error)
    if isinstance(error, MemoryError):
        return 'there is not enough memory; give a shorter recording or a lower --rate'
    said = ' '.join(str(error).split())
    if isinstance(error, _ARITHMETIC):
        return f'the arithmetic failed: {said or type(error).__name__}'
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f'{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}'
        f'{": " if said else ""}{said}; this is a fault of the method, not of the recordings'
    )


def _import_sentence(error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError):
        return (
            f'the Python package {error.name!r} is missing: install the offline extra with pip '
            "install 'two_manifold_ros[train]'"
        )
    said = ' '.join(str(error).split()) or type(error).__name__
    return f'a Python package that it needs is there but cannot be loaded: {said}'


MOST_TRIALS = 200
"""Kept; the oldest go first. One takes a megabyte or less."""

_LIBRARIES = ('numpy', 'scipy', 'numba', 'scikit-learn', 'hmmlearn')


def usual_folder() -> Path | None:
    """Return the folder for caches that the user's system prescribes (XDG), if there is one."""
    base = Path(os.environ.get('XDG_CACHE_HOME', ''))
    if not base.is_absolute():
        try:
            base = Path.home() / '.cache'
        except RuntimeError:
            return None
    return base / 'two_manifold_ros' / 'comparison'


def key_of(method: Method, lesson: Lesson, segments: Sequence[Segment]) -> str:
    """
    Return a name for all that a trial depends on.

    The method and its settings, what it learns from and follows, the source files that it is
    made of, and the versions of the libraries below.
    """
    digest = hashlib.sha256()
    # Pickled to be hashed only; nothing is ever unpickled.
    digest.update(pickle.dumps((method, lesson, tuple(segments)), protocol=5))
    digest.update(fingerprint(type(method).__module__, Trial.__module__).encode())
    machine = [sys.version, platform.machine(), HAVE_NUMBA, *map(_version, _LIBRARIES)]
    digest.update(repr(machine).encode())
    return digest.hexdigest()


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


class Cache:
    """
    A folder of trials.

    A damaged or missing entry is no error, nor is a folder that cannot be written.

    Parameters
    ----------
    folder
        Made when first written to.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: str) -> Trial | None:
        """Return the trial of a key, if it was kept and is whole."""
        try:
            header, arrays = read_container(self._path(key))
            count = int(header['segments'])

            def kept(name: str) -> tuple[NDArray[Any], ...] | None:
                """Return the array of each segment, if the trial had such arrays."""
                return tuple(arrays[f'{name}_{i}'] for i in range(count)) if header[name] else None

            positions = tuple(arrays[f'positions_{index}'] for index in range(count))
            return Trial(positions, kept('linear'), dict(header['chosen']), kept('valid'))
        except (InputError, OSError, LookupError, TypeError, ValueError):
            return None

    def keep(self, key: str, trial: Trial) -> None:
        """Keep a trial if the folder can be written, at the cost of the oldest ones."""
        header = {
            'segments': len(trial.positions),
            'linear': trial.linear is not None,
            'valid': trial.valid is not None,
            'chosen': trial.chosen,
        }
        arrays: dict[str, NDArray[Any]] = {}
        for index, positions in enumerate(trial.positions):
            arrays[f'positions_{index}'] = positions
        for index, positions in enumerate(trial.linear or ()):
            arrays[f'linear_{index}'] = positions
        for index, valid in enumerate(trial.valid or ()):
            arrays[f'valid_{index}'] = valid
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_container(self._path(key), header, arrays)
            self._forget_oldest()
        except (InputError, OSError):
            # Only the next run takes longer.
            return

    def _path(self, key: str) -> Path:
        return self._folder / f'{key}.npz'

    def _forget_oldest(self) -> None:
        kept = sorted(self._folder.glob('*.npz'), key=lambda path: path.stat().st_mtime_ns)
        for path in kept[:-MOST_TRIALS]:
            path.unlink(missing_ok=True)


MOST_MISSING = 0.5
"""Share of the predictions that a method may owe; one that owes more fails: its errors would be
mostly those of the mean position."""


def grade(
    plan: Plan, methods: Sequence[Method], trials: Mapping[str, Trial | Failure]
) -> Comparison:
    """
    Score trials, one for each method by its name.

    A prediction counts where its truth is known and its tick is scored by the plan, for every
    method, whether it would have published it or not. Where a method has no usable position the
    mean training position stands for it.
    """
    truth = np.concatenate([exam.truth for exam in plan.exams])
    directions = np.concatenate([exam.directions for exam in plan.exams])
    scored = np.concatenate([exam.scored for exam in plan.exams])
    wanted = np.isfinite(truth).all(axis=2) & scored[:, None]
    truth = np.where(wanted[..., None], truth, np.nan)
    mean, results, owing = mean_of(plan.lesson), [], []
    for method in methods:
        trial = trials[method.name]
        owed = np.zeros_like(wanted) if isinstance(trial, Failure) else _owed(trial, wanted)
        if owed.sum() > MOST_MISSING * wanted.sum():
            trial = Failure(
                f'it has no usable position in {owed.sum()} of the {wanted.sum()} predictions '
                'asked of it'
            )
        elif owed.any():
            owing.append(
                f'{method.title} has no usable position at {owed.any(axis=1).sum()} of '
                f'{wanted.any(axis=1).sum()} ticks, for which the mean training position counts'
            )
        scores = None
        if isinstance(trial, Trial):
            told = np.where(owed[..., None], mean, np.concatenate(trial.positions))
            scores = _scores(told - truth, directions, trial)
        results.append(_result(method, trial, scores))
    return _comparison(plan, wanted, [*plan.notes, *owing], results)


def _owed(trial: Trial, wanted: Bools) -> Bools:
    """Return which predictions that are wanted, (T, H), are not usable."""
    positions = np.concatenate(trial.positions)
    usable = usable_places(positions.reshape(-1, 2)).reshape(wanted.shape)
    return np.asarray(wanted & ~usable)


def _scores(errors: Floats, directions: Floats, trial: Trial) -> tuple[Errors, ...]:
    valid = None if trial.valid is None else np.concatenate(trial.valid)
    return tuple(
        errors_of(errors[:, column], directions[:, column], valid)
        for column in range(errors.shape[1])
    )


def _result(method: Method, trial: Trial | Failure, scores: tuple[Errors, ...] | None) -> Result:
    about = (method.name, method.title, method.told)
    if isinstance(trial, Failure):
        return Result(*about, failure=trial.reason)
    return Result(*about, chosen=trial.chosen, scores=scores, linear=trial.linear)


def _comparison(
    plan: Plan, wanted: Bools, notes: Sequence[str], results: Sequence[Result]
) -> Comparison:
    dataset = plan.lesson.dataset
    tracks = [np.where(exam.scored[:, None], exam.truth[:, 0], np.nan) for exam in plan.exams]
    return Comparison(
        protocol=plan.protocol,
        rate_hz=dataset.rate_hz,
        window=dataset.window,
        horizons=plan.lesson.horizons,
        learned=tuple((each.name, _seconds(each)) for each in plan.lesson.recordings),
        followed=_followed(plan),
        scored=tuple(wanted.sum(axis=0).tolist()),
        notes=tuple(notes),
        tracks=tuple(tracks),
        results=tuple(results),
    )


def _seconds(recording: Recording) -> float:
    stamps = recording.imu.stamps
    return int(stamps.max() - recording.imu.first_stamp) * 1e-9


def _followed(plan: Plan) -> tuple[tuple[str, float], ...]:
    seconds: dict[str, float] = {}
    for exam in plan.exams:
        took_s = len(exam.segment) * plan.lesson.period_s
        seconds[exam.recording] = seconds.get(exam.recording, 0.0) + took_s
    return tuple(seconds.items())


_KILLED = (
    'its process was killed, probably for want of memory; run one at a time with --jobs 1, or '
    'fewer --methods'
)


def _silent(stage: str, share: float) -> None:
    pass


def compare(
    plan: Plan,
    methods: Sequence[Method],
    cache: Cache | None = None,
    processes: int = 1,
    progress: Callable[[str, float], None] = _silent,
) -> Comparison:
    """
    Run methods by a plan; the same plan and methods give the same numbers, bit by bit.

    Parameters
    ----------
    plan
        What is learned from and what is followed.
    methods
        With different names.
    cache
        Where trials are kept between runs.
    processes
        How many methods are run at a time. With more than one, every process compiles anew, and
        the caller's main module has to be importable (``multiprocessing``, method "spawn").
    progress
        Called with the last method that ended and the share done, 0 to 1.

    """
    trials: dict[str, Trial | Failure] = {}
    segments = [exam.segment for exam in plan.exams]
    keys = {}
    if cache is not None:
        keys = {method.name: key_of(method, plan.lesson, segments) for method in methods}
        found = {name: cache.load(key) for name, key in keys.items()}
        trials = {name: trial for name, trial in found.items() if trial is not None}
    missing = [method for method in methods if method.name not in trials]
    for name, trial in _run(missing, plan, min(processes, len(missing))):
        trials[name] = trial
        if cache is not None and not isinstance(trial, Failure):
            cache.keep(keys[name], trial)
        progress(f'compared {name}', len(trials) / len(methods))
    return grade(plan, methods, trials)


def _run(
    methods: Sequence[Method], plan: Plan, processes: int
) -> Iterator[tuple[str, Trial | Failure]]:
    """Yield the trial of every method as soon as it has ended."""
    segments = [exam.segment for exam in plan.exams]
    if processes <= 1:
        for method in methods:
            yield method.name, try_method(method, plan.lesson, segments)
        return
    with TemporaryDirectory() as folder:
        # In a file: a pipe to a process that is killed before it has read everything would hold
        # us up for good, as the executors of the standard library are then.
        given = Path(folder) / 'given.pickle'
        given.write_bytes(pickle.dumps((list(methods), plan.lesson, segments)))
        waiting = deque(range(len(methods)))
        free = [_start(given) for _ in range(processes)]
        busy: dict[Connection, tuple[SpawnProcess, int]] = {}
        try:
            while waiting or busy:
                while waiting and free:
                    worker, process = free.pop()
                    busy[worker] = process, waiting.popleft()
                    with suppress(OSError):
                        worker.send(busy[worker][1])
                for worker in cast('list[Connection]', wait(list(busy))):
                    process, index = busy.pop(worker)
                    try:
                        trial = worker.recv()
                        free.append((worker, process))
                    except (EOFError, OSError):
                        trial = Failure(_KILLED)
                        free += [_start(given)] if waiting else []
                    yield methods[index].name, trial
        finally:
            for process in [process for _, process in free] + [each for each, _ in busy.values()]:
                process.terminate()
                process.join()


def _start(given: Path) -> tuple[Connection, SpawnProcess]:
    """Start a process that tries the methods whose numbers it is sent."""
    context = multiprocessing.get_context('spawn')
    ours, its = context.Pipe()
    process = context.Process(target=_work, args=(its, given), daemon=True)
    process.start()
    # With a copy of its end here, its death would go unnoticed.
    its.close()
    return ours, process


def _work(pipe: Connection, given: Path) -> None:
    # Without this every process would print a traceback of its own when interrupted.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    methods, lesson, segments = pickle.loads(given.read_bytes())  # noqa: S301 - our own
    with suppress(EOFError):
        while True:
            pipe.send(try_method(methods[pipe.recv()], lesson, segments))
