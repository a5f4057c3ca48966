# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A process that trains in another one for long; a module, so that spawned processes find it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from two_manifold_ros.adapting.training_process import TrainingProcess
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from two_manifold_ros.recordings.recording import Recording

SETTINGS = TrainingSettings(window=20, horizons=(0, 5, 20))


def train_for_long(pipe: Connection, recording: Recording) -> None:
    training = TrainingProcess()
    with suppress(InputError):
        training.train([recording.between(0.0, 0.5)], SETTINGS)
    pipe.send(training.pid)
    training.train([recording], SETTINGS)
