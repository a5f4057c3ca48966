# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A training that runs in a thread of its own."""

from __future__ import annotations

from collections import deque
from threading import Lock, Thread
import traceback
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import training_warnings
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings


class TrainingJob:
    """
    Reads, inspects, trains and saves without blocking the node; never touches ROS.

    Parameters
    ----------
    read
        Returns the recordings.
    settings
        Of the training.
    path
        Where the model goes, atomically.

    Attributes
    ----------
    warnings
        What inspection says of the recordings; whoever tells it takes it out.

    """

    def __init__(
        self,
        read: Callable[[], Sequence[Recording]],
        settings: TrainingSettings,
        path: str,
    ) -> None:
        self.stage = 'reading recordings'
        self.share = 0.0
        self.model: ModelHead | None = None
        self.failure = ''
        self.details = ''
        self.warnings: deque[str] = deque()
        self._writing = Lock()
        # A daemon, so that Ctrl-C ends the node in the middle of a training. Its arguments, which
        # hold the recordings, are forgotten when it ends.
        self._thread = Thread(
            target=self._work, args=(read, settings, path), name='training', daemon=True
        )
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended, with a ``model`` or with a ``failure``."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Wait until the model is written if that has begun, or see that it never begins."""
        # For good: a thread that a process leaves behind while it writes leaves half a file.
        self._writing.acquire()

    def _work(
        self, read: Callable[[], Sequence[Recording]], settings: TrainingSettings, path: str
    ) -> None:
        try:
            recordings = read()
            self.stage = 'inspecting recordings'
            self.warnings.extend(training_warnings(recordings))
            model = train_model(recordings, settings, self._progress)
            with self._writing:
                save_model(model, path)
            self.model = model
        except InputError as error:
            self.failure = str(error)
        # A thread that dies leaves no trace but what it tells here.
        except Exception as error:  # noqa: BLE001 - told in log and diagnostics
            self.failure = f'{type(error).__name__}, please report it: {error}'
            self.details = traceback.format_exc()

    def _progress(self, stage: str, share: float) -> None:
        self.stage, self.share = stage, share
