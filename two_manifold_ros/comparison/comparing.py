# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every method on the same lesson and the same exams, scored on the same ticks."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
import multiprocessing
from multiprocessing.connection import wait
from pathlib import Path
import pickle
import signal
from tempfile import TemporaryDirectory
from typing import cast, TYPE_CHECKING

from two_manifold_ros.comparison.cache import key_of
from two_manifold_ros.comparison.scoring import grade
from two_manifold_ros.comparison.trial import Failure, try_method

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from two_manifold_ros.comparison.cache import Cache
    from two_manifold_ros.comparison.method import Method
    from two_manifold_ros.comparison.outcome import Comparison
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.comparison.trial import Trial

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
