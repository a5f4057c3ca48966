# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work for a process; a module, so that spawned processes find it."""

from multiprocessing.connection import Connection
import os
from time import sleep

from two_manifold_ros.adapting.worker import Worker
from two_manifold_ros.errors import InputError


def answer(given: float) -> int:
    """Work for some seconds and return the process; refuse what is negative, and fail at 1."""
    if given < 0:
        raise InputError('too little')
    sleep(given)
    return os.getpid() if given != 1 else 1 // 0


def work_for_long(pipe: Connection) -> None:
    worker = Worker()
    pipe.send(worker.run(answer, 0))
    worker.run(answer, 60)
