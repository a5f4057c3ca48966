# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run every method on the same train and test split, in parallel, and cache the trials."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
import hashlib
from importlib import metadata
import json
import multiprocessing
from multiprocessing.connection import wait
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

from two_manifold_ros.comparison.method import fit_linear_track
from two_manifold_ros.comparison.outcome import Comparison, Failure, grade, Trial
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container, write_container
from two_manifold_ros.training.tuning_trials import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from numpy.typing import NDArray

    from two_manifold_ros.comparison.method import FittedMethod, Method, Predictions, TrainSplit
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Floats


def try_method(method: Method, train: TrainSplit, segments: Sequence[Segment]) -> Trial | Failure:
    """
    Fit a method and let it filter the segments, their positions hidden unless it sees them.

    Overflows and divisions by zero are left to the method: what is not finite is not scored. No
    exception holds up the other methods, but an interrupt ends all.
    """
    try:
        fitted = method.fit(train)
        predicted = [_predict(method, fitted, segment) for segment in segments]
        linear = None
        if all(each.states is not None for each in predicted):
            linear = _read_linearly(method, fitted, train, predicted)
        chosen = json.loads(json.dumps(fitted.chosen, sort_keys=True, allow_nan=False))
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return Failure(_explain(error))
    valid = tuple(each.valid for each in predicted if each.valid is not None)
    positions = tuple(each.positions for each in predicted)
    return Trial(positions, linear, chosen, valid if len(valid) == len(predicted) else None)


def _predict(method: Method, fitted: FittedMethod, segment: Segment) -> Predictions:
    if not method.sees_positions:
        segment = replace(segment, positions=np.full_like(segment.positions, np.nan))
    return fitted.predict(segment)


def _read_linearly(
    method: Method, fitted: FittedMethod, train: TrainSplit, predicted: Sequence[Predictions]
) -> tuple[Floats, ...] | None:
    """Return the positions (T, 2) that a linear regression on the states gives, if any."""
    if method.sees_positions:
        return tuple(each.positions[:, 0] for each in predicted)
    segments = train.dataset.segments
    states = [_states(_predict(method, fitted, segment)) for segment in segments]
    # As in the tests: before the window has filled a method may not know yet.
    window = train.dataset.window
    track = fit_linear_track(
        np.concatenate([each[window:] for each in states]),
        np.concatenate([segment.positions[window:] for segment in segments]),
    )
    return None if track is None else tuple(track.read(_states(each)) for each in predicted)


def _states(predictions: Predictions) -> Floats:
    if predictions.states is None:
        msg = 'a method has states along some segments and none along others'
        raise ValueError(msg)
    return predictions.states


def _explain(error: Exception) -> str:
    """Return a sentence about why a method failed, with a cure where there is one."""
    said = ' '.join(str(error).split())
    ours = (getattr(error, 'name', None) or '').startswith(__name__.split('.', maxsplit=1)[0])
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and not ours:
        return (
            f'the Python package {error.name!r} is missing: install the offline extra with pip '
            "install 'two_manifold_ros[train]'"
        )
    if isinstance(error, ImportError) and not ours:
        said = said or type(error).__name__
        return f'a Python package that it needs is there but cannot be loaded: {said}'
    if isinstance(error, MemoryError):
        return 'there is not enough memory; give a shorter recording or a lower --rate'
    if isinstance(error, ArithmeticError | np.linalg.LinAlgError | ArpackError):
        return f'the arithmetic failed: {said or type(error).__name__}'
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f'{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}'
        f'{": " if said else ""}{said}; this is a fault of the method, not of the recordings'
    )


def key_of(method: Method, train: TrainSplit, segments: Sequence[Segment]) -> str:
    """
    Return a name for all that a trial depends on.

    The method and its settings, what it learns from and filters, the source files that it is made
    of, and the versions of Python and of the libraries that compute.
    """
    libraries = {}
    for library in ('numpy', 'scipy', 'numba', 'scikit-learn', 'hmmlearn'):
        with suppress(metadata.PackageNotFoundError):
            libraries[library] = metadata.version(library)
    digest = hashlib.sha256()
    # Pickled to be hashed only; nothing is ever unpickled.
    digest.update(pickle.dumps((method, train, tuple(segments)), protocol=5))
    digest.update(fingerprint(type(method).__module__, __name__).encode())
    digest.update(repr((sys.version, platform.machine(), libraries)).encode())
    return digest.hexdigest()


class Cache:
    """
    A folder of trials.

    A damaged or missing entry is no error, nor is a folder that cannot be written.

    Parameters
    ----------
    folder
        Made when first written to.
    most
        Entries to keep, each a megabyte or less; the oldest go first.

    """

    def __init__(self, folder: Path, most: int = 200) -> None:
        self._folder = folder
        self._most = most

    def load(self, key: str) -> Trial | None:
        """Return the trial of a key, if it was kept and is whole."""
        try:
            header, arrays = read_container(self._path(key))
            parts: dict[str, tuple[NDArray[Any], ...] | None] = {
                name: tuple(arrays[f'{name}_{index}'] for index in range(int(header['segments'])))
                if header[name]
                else None
                for name in ('positions', 'linear', 'valid')
            }
            if parts['positions'] is None:
                return None
            chosen = dict(header['chosen'])
        except (InputError, OSError, LookupError, TypeError, ValueError):
            return None
        return Trial(parts['positions'], parts['linear'], chosen, parts['valid'])

    def keep(self, key: str, trial: Trial) -> None:
        """Keep a trial if the folder can be written, at the cost of the oldest ones."""
        header: dict[str, Any] = {'segments': len(trial.positions), 'chosen': trial.chosen}
        arrays: dict[str, NDArray[Any]] = {}
        for name in ('positions', 'linear', 'valid'):
            parts = getattr(trial, name)
            header[name] = parts is not None
            arrays |= {f'{name}_{index}': part for index, part in enumerate(parts or ())}
        # If it cannot be written, only the next run takes longer.
        with suppress(InputError, OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_container(self._path(key), header, arrays)
            kept = sorted(self._folder.glob('*.npz'), key=lambda path: path.stat().st_mtime_ns)
            for path in kept[: -self._most]:
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f'{key}.npz'


def compare(
    plan: Plan,
    methods: Sequence[Method],
    cache: Cache | None = None,
    processes: int = 1,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:
    """
    Run methods by a plan; the same plan and methods give the same numbers, bit by bit.

    Parameters
    ----------
    plan
        What is learned from and what is filtered.
    methods
        With different names.
    cache
        Where trials are kept between runs.
    processes
        How many methods are run at a time. With more than one, every process compiles again, and
        the caller's main module has to be importable (``multiprocessing``, method "spawn").
    progress
        Called with the last method that ended and the share done, 0 to 1.

    """
    trials: dict[str, Trial | Failure] = {}
    keys: dict[str, str] = {}
    if cache is not None:
        segments = [test.segment for test in plan.tests]
        keys = {method.name: key_of(method, plan.train, segments) for method in methods}
        found = {name: cache.load(key) for name, key in keys.items()}
        trials = {name: trial for name, trial in found.items() if trial is not None}
    missing = [method for method in methods if method.name not in trials]
    for name, trial in _run(missing, plan, min(processes, len(missing))):
        trials[name] = trial
        if cache is not None and not isinstance(trial, Failure):
            cache.keep(keys[name], trial)
        if progress is not None:
            progress(f'compared {name}', len(trials) / len(methods))
    return grade(plan, methods, trials)


def _run(
    methods: Sequence[Method], plan: Plan, processes: int
) -> Iterator[tuple[str, Trial | Failure]]:
    """Yield the trial of every method as soon as it has ended."""
    segments = [test.segment for test in plan.tests]
    if processes <= 1:
        for method in methods:
            yield method.name, try_method(method, plan.train, segments)
        return
    killed = Failure(
        'its process was killed, probably out of memory; run one at a time with --jobs 1, or '
        'fewer --methods'
    )
    with TemporaryDirectory() as folder:
        # In a file: a pipe to a process that is killed before it has read everything would hold
        # us up for good, as the executors of the standard library are then.
        given = Path(folder) / 'given.pickle'
        given.write_bytes(pickle.dumps((list(methods), plan.train, segments)))
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
                        trial = killed
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
    methods, train, segments = pickle.loads(given.read_bytes())  # noqa: S301 - our own
    with suppress(EOFError):
        while True:
            pipe.send(try_method(methods[pipe.recv()], train, segments))
