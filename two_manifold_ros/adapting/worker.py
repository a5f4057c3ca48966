# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A process that trains, so that a filter beside it does not wait for a training.

A thread would hold the interpreter for milliseconds at a time, in which samples at 1 kHz pile up.
Learning a TPSR between trainings takes milliseconds and is done where the filter runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
import os
from subprocess import PIPE, Popen
import sys
from threading import Lock, Thread
from typing import cast, TYPE_CHECKING, TypeVar

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    Given = TypeVar('Given')
    Result = TypeVar('Result')


class Worker:
    """One process for one learner, which is there from the start and ends with this process."""

    def __init__(self, method: str = 'route') -> None:
        self._method = method
        # One call after the other; a service may close it while a thread waits for a training.
        self._calling, self._lock, self._closed = Lock(), Lock(), False
        self._start()

    def run(self, work: Callable[[Given], Result], given: Given) -> Result:
        """Call a function of a module in the process, and wait for what it returns or raises."""
        with self._calling:
            with self._lock:
                if self.process.poll() is not None and not self._closed:
                    self._start()
            try:
                self._pipe.send((work, given))
                answer = self._pipe.recv()
            except (EOFError, OSError) as error:
                msg = (
                    f'the training process has ended with status {self.process.wait()} (-9 mostly '
                    'means out of memory); it is started again when there is more to learn'
                )
                if self._closed:
                    msg = 'the model is not needed any more'
                raise InputError(msg) from error
        if isinstance(answer, Exception):
            raise answer
        return cast('Result', answer)

    def close(self) -> None:
        """End the process at once; nothing can be run afterwards."""
        with self._lock:
            self._closed = True
            self.process.kill()
            self.process.wait()

    def _start(self) -> None:
        self._pipe, its = Pipe()
        # In a session of its own Ctrl-C does not reach it. It ends when its input is closed, as
        # this process does whatever ends it.
        self.process = Popen(
            [sys.executable, '-m', __name__, str(its.fileno()), self._method],
            stdin=PIPE,
            pass_fds=[its.fileno()],
            # Nor is the current folder put before them, whose modules may have names of others.
            env=os.environ
            | {'PYTHONPATH': os.pathsep.join(filter(None, sys.path)), 'PYTHONSAFEPATH': '1'},
            start_new_session=True,
        )
        its.close()


def end_with_parent() -> None:
    """End at once, also in the middle of a training, when the parent is gone."""
    os.read(0, 1)
    os._exit(1)


def main(handle: str, method: str) -> None:
    """Do what comes over a pipe, with the processor left to the filters."""
    Thread(target=end_with_parent, daemon=True).start()
    with suppress(OSError):
        os.nice(10)
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate  # noqa: PLC0415
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import learn_model  # noqa: PLC0415

    # Its loops are compiled before the first training is due.
    laps = simulate(SlotCarSettings(rate_hz=20.0), laps=3)
    learn_model([run_to_recording(laps)], TrainingSettings(method=method).at_one_rate())
    pipe = Connection(int(handle))
    while True:
        work, given = pipe.recv()
        try:
            answer = work(given)
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            answer = error
        pipe.send(answer)


if __name__ == '__main__':
    main(*sys.argv[1:])
