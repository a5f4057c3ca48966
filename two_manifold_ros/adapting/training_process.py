# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Training in a process of its own, so that a filter beside it does not wait for a training.

It waits while a TPSR goes on learning between trainings, four times a lap: 40 ms and 1 ms for each
tick of the quarter, which is 57 ms, at most 137 ms on busy cores, on a slot car with laps of 9 s.
"""

from __future__ import annotations

from contextlib import suppress
import multiprocessing
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
import os
import signal
from threading import Lock, Thread
import traceback
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.tpsr import LearnedTpsr


class Trainer:
    """Train models in this process, in the thread that asks."""

    def train(
        self, recordings: Sequence[Recording], settings: TrainingSettings
    ) -> tuple[TrainedModel, LearnedTpsr | None]:
        """Train a model; returns and raises as ``learn_model`` does."""
        from two_manifold_ros.training.train import learn_model  # noqa: PLC0415 - see `_work`

        return learn_model(recordings, settings)

    def close(self) -> None:
        """End the training that runs; there is none."""


class TrainingProcess(Trainer):
    """
    Train models in another process, which is started for the first one and stays.

    A thread of the same process would hold the interpreter for milliseconds at a time, in which
    samples at 1 kHz pile up. The process ends with this one, however that ends. The loops of
    ``method`` are compiled at the start; any other method can be trained as well.
    """

    def __init__(self, method: str = 'route') -> None:
        self._method = method
        self._one_at_a_time = Lock()
        # Guards what follows: a service may close it while a thread trains.
        self._lock = Lock()
        self._closed = False
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Number of the process, if there is one."""
        return self._process.pid if self._process is not None else None

    def begin(self) -> None:
        """Start the process, which compiles what it needs before the first training is due."""
        self._ready()

    def train(
        self, recordings: Sequence[Recording], settings: TrainingSettings
    ) -> tuple[TrainedModel, LearnedTpsr | None]:
        """
        Train a model in the process and wait for it; one at a time.

        Raises `InputError` as ``learn_model`` does, or if the process was killed or closed; after
        a kill the next training starts another one. A bug in the training raises ``RuntimeError``
        with its traceback.
        """
        with self._one_at_a_time:
            pipe = self._ready()
            try:
                pipe.send((list(recordings), settings))
                learned, refusal, bug = pipe.recv()
            except (EOFError, OSError) as error:
                raise InputError(self._why_gone()) from error
        if refusal:
            raise InputError(refusal)
        if bug:
            raise RuntimeError(bug)
        return learned  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the process, by force after two seconds; no model can be trained afterwards."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.join(2.0)
            process.kill()
            process.join()

    def _ready(self) -> Connection:
        """Return the pipe to a process that is there."""
        with self._lock:
            self._refuse_if_closed()
            if self._process is None or self._pipe is None or not self._process.is_alive():
                # Not forked: a copy of a process with threads of a middleware may hang.
                context = multiprocessing.get_context('spawn')
                ours, its = context.Pipe()
                process = context.Process(
                    target=_work, args=(its, self._method), daemon=True, name='training'
                )
                # Ctrl-C goes to the whole group, and a Python that is starting prints a traceback
                # of it: it is held back for this thread, and for good for the process. The tracker
                # of resources lets signals through again when it starts.
                resource_tracker.ensure_running()
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                try:
                    process.start()
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)
                # With a copy of its end here, its death would go unnoticed.
                its.close()
                self._process, self._pipe = process, ours
            return self._pipe

    def _refuse_if_closed(self) -> None:
        if self._closed:
            msg = 'the model is not needed any more'
            raise InputError(msg)

    def _why_gone(self) -> str:
        with self._lock:
            self._refuse_if_closed()
            process, self._process = self._process, None
        code = None
        if process is not None:
            process.join(2.0)
            code = process.exitcode
        return (
            f'the training process has ended with status {code} (-9 mostly means out of '
            'memory); it is started again when there is more to learn'
        )


def _work(pipe: Connection, method: str) -> None:
    """Train what comes through the pipe, after compiling the loops of a method."""
    # Which was held back until here; the parent ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        # Importing, compiling and training take what the filters leave of a busy robot.
        os.nice(10)
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import (  # noqa: PLC0415
        run_to_recording,
        simulate,
    )
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import learn_model  # noqa: PLC0415

    laps = simulate(SlotCarSettings(rate_hz=20.0), laps=3)
    learn_model([run_to_recording(laps)], TrainingSettings(method=method).at_one_rate())
    with suppress(EOFError, OSError):
        while True:
            recordings, settings = pipe.recv()
            learned, refusal, bug = None, '', ''
            try:
                learned = learn_model(recordings, settings)
            except InputError as error:
                refusal = str(error)
            # It must not end the process without a word.
            except Exception:  # noqa: BLE001 - raised where the training was asked for
                bug = traceback.format_exc()
            pipe.send((learned, refusal, bug))


def _end_with_parent() -> None:
    """End at once, also in the middle of a training, when the parent is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
