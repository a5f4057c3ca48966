# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A training that is killed with its parent: spawned, so it is imported by name."""

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
    assert training._process is not None
    pipe.send(training._process.pid)
    training.train([recording], SETTINGS)
