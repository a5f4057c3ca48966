# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training in a process of its own, so that a filter beside it never waits for it."""

from __future__ import annotations

from contextlib import suppress
import multiprocessing
import os
import signal
from threading import Lock
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

NICE = 10
"""Nicer by so much than who filters: on a busy robot training takes what is left."""


class TrainingProcess:
    """
    Train models in another process, which is started for the first one and stays.

    A thread of the same process would hold the interpreter for milliseconds at a time, in which
    samples at 1 kHz pile up. The process ends with this one, however that ends.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def train(self, recordings: Sequence[Recording], settings: TrainingSettings) -> TrainedModel:
        """
        Return what ``train_model`` returns; one at a time, and waits for it.

        Raises
        ------
        InputError
            What ``train_model`` raises, or if the process was killed; the next one starts another.
        RuntimeError
            If there is a bug in the training; with its traceback.

        """
        with self._lock:
            if self._process is None or not self._process.is_alive() or self._pipe is None:
                self._start()
            pipe = self._pipe
            try:
                pipe.send((list(recordings), settings))  # type: ignore[union-attr]
                model, refusal, bug = pipe.recv()  # type: ignore[union-attr]
            except (EOFError, OSError) as error:
                self._process = None
                msg = (
                    'the process that trains the map was killed, probably for want of memory; '
                    'it is started again when there is more to learn'
                )
                raise InputError(msg) from error
        if refusal:
            raise InputError(refusal)
        if bug:
            raise RuntimeError(bug)
        return model  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.terminate()
            self._process.join()

    def _start(self) -> None:
        # Not forked: a copy of a process with threads of a middleware may hang.
        context = multiprocessing.get_context('spawn')
        self._pipe, its = context.Pipe()
        self._process = context.Process(target=_work, args=(its,), daemon=True, name='training')
        self._process.start()
        # With a copy of its end here, its death would go unnoticed.
        its.close()


def _work(pipe: Connection) -> None:
    # Ctrl-C goes to the whole group, and who started this process ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(NICE)
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415 - a second, as nice

    with suppress(EOFError, OSError):
        while True:
            recordings, settings = pipe.recv()
            try:
                answer = train_model(recordings, settings), '', ''
            except InputError as error:
                answer = None, str(error), ''  # type: ignore[assignment]
            # It must not end the process without a word.
            except Exception:  # noqa: BLE001 - told where the training was asked for
                answer = None, '', traceback.format_exc()  # type: ignore[assignment]
            pipe.send(answer)
