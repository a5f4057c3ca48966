# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every method on the same lesson and the same exams, scored on the same ticks."""

from __future__ import annotations

from concurrent.futures import as_completed, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
import multiprocessing
import signal
from typing import TYPE_CHECKING

from two_manifold_ros.comparison.cache import key_of
from two_manifold_ros.comparison.scoring import grade
from two_manifold_ros.comparison.trial import Failure, try_method
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.comparison.cache import Cache
    from two_manifold_ros.comparison.method import Method
    from two_manifold_ros.comparison.outcome import Comparison
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.comparison.trial import Trial


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
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(processes, context, _end_when_interrupted) as pool:
        futures = {
            pool.submit(try_method, method, plan.lesson, segments): method.name
            for method in methods
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            msg = (
                'a process that ran one of the methods was killed, probably for want of memory; '
                'run one at a time with --jobs 1, or fewer --methods'
            )
            raise InputError(msg) from error
        except BaseException:
            # Leaving the pool waits for all that runs, and a signal may have come to us alone.
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _end_when_interrupted() -> None:
    """Without this every process would print a traceback of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
