# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A process that trains, so that a filter beside it does not wait for a training.

A thread would hold the interpreter for milliseconds at a time, in which samples at 1 kHz pile up.
Learning a TPSR between trainings takes milliseconds and is done where the filter runs.
"""

from __future__ import annotations

from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
import multiprocessing
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
import os
from pathlib import Path
import pickle
import signal
from threading import RLock, Thread
from time import monotonic
from typing import Any, cast, TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess
    from typing import TypeVar

    Given = TypeVar('Given')
    Result = TypeVar('Result')


class Worker:
    """
    One process for one learner, which is there from the start and ends with this process.

    The loops of trainings by ``method`` are compiled before the first training is due.
    """

    def __init__(self, method: str = 'route') -> None:
        self._method = method
        # Guards what follows: a service may close it while a thread waits for a training.
        self._lock = RLock()
        self._closed = False
        self._pool: ProcessPoolExecutor | None = None
        self.process: BaseProcess | None = None
        self._ready()

    def run(self, work: Callable[[Given], Result], given: Given) -> Result:
        """
        Call a function of a module in the process, and wait for what it returns or raises.

        Raises `InputError` if the process was killed or closed; after a kill the next call starts
        another process.
        """
        # Data in the pipe of a process that is killed hold up the end of this one for ever before
        # Python 3.11.6: it gets the address of a file in memory, which ends with both.
        with os.fdopen(os.memfd_create('training'), 'wb') as file:
            pickle.dump((work, given), file)
            file.flush()
            try:
                address = Path(f'/proc/{os.getpid()}/fd/{file.fileno()}')
                with self._lock:
                    future = self._ready().submit(_run, address)
                return cast('Result', future.result())
            except (BrokenProcessPool, CancelledError) as error:
                with self._lock:
                    self._refuse_if_closed()
                    process, self._pool, self.process = self.process, None, None
                until_s = monotonic() + 2.0
                # The pool waits for it too, and one of both is told its status a moment later.
                while process is not None and process.exitcode is None and monotonic() < until_s:
                    process.join(0.01)
                msg = (
                    f'the training process has ended with status {process and process.exitcode} '
                    '(-9 mostly means out of memory); it is started again when there is more to '
                    'learn'
                )
                raise InputError(msg) from error

    def close(self) -> None:
        """End the process at once; nothing can be run afterwards."""
        with self._lock:
            self._closed = True
            pool, process, self.process = self._pool, self.process, None
        if process is not None:
            process.kill()
        if pool is not None:
            pool.shutdown(cancel_futures=True)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            msg = 'the model is not needed any more'
            raise InputError(msg)

    def _ready(self) -> ProcessPoolExecutor:
        with self._lock:
            self._refuse_if_closed()
            if self._pool is not None:
                return self._pool
            # Not forked: a copy of a process with threads of a middleware may hang.
            context = multiprocessing.get_context('spawn')
            pool = ProcessPoolExecutor(1, context, _begin)
            # Ctrl-C goes to the whole group, and a Python that is starting prints a traceback of
            # it: it is held back for this thread, and for good for the process. The tracker of
            # resources lets signals through again when it starts.
            resource_tracker.ensure_running()
            there = multiprocessing.active_children()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                pool.submit(_compile, self._method)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            new = [each for each in multiprocessing.active_children() if each not in there]
            self._pool, self.process = pool, new[0] if new else None
            return pool


def _run(path: Path) -> Any:  # noqa: ANN401 - whatever the function returns
    with path.open('rb') as file:
        work, given = pickle.load(file)  # noqa: S301 - of the parent
    return work(given)


def _begin() -> None:
    """Leave Ctrl-C and the end to the parent, and the processor to the filters."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        os.nice(10)


def _end_with_parent() -> None:
    """End at once, also in the middle of a training, when the parent is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _compile(method: str) -> None:
    """Train on a simulated drive."""
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import (  # noqa: PLC0415
        run_to_recording,
        simulate,
    )
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import learn_model  # noqa: PLC0415

    laps = simulate(SlotCarSettings(rate_hz=20.0), laps=3)
    learn_model([run_to_recording(laps)], TrainingSettings(method=method).at_one_rate())
