# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train from bags or a live recording in a thread, with the settings of a node."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
import os
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError, NO_USE, of_system, why_it_fails
from two_manifold_ros.inspection.inspecting import inspect_recording, training_warnings
from two_manifold_ros.inspection.lag import parse_position_lag, put_in_step
from two_manifold_ros.interface.parameters import TrainerParameters
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.recordings.reading import read_recordings, ReadingOptions
from two_manifold_ros.sources import identity
from two_manifold_ros.training.settings import FIELDS, TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording


def training_settings(values: Mapping[str, Any]) -> TrainingSettings:
    """Return the settings of a training by the parameters that differ from their defaults."""
    if values['position_lag']:
        parse_position_lag(values['position_lag'])
    usual = vars(TrainerParameters())
    given = {name: values[name] for name in FIELDS if values[name] != usual[name]}
    if 'horizons' in given:
        given['horizons'] = tuple(given['horizons'])
    return TrainingSettings(**given)


def check_target(path: str) -> None:
    """Refuse a model path that cannot be written early, before anybody has driven for an hour."""
    if not path:
        msg = 'No model is named: set the parameter model to the path of the file to write.'
        raise InputError(msg)
    target, why = Path(path).absolute(), ''
    try:
        if target.is_dir():
            why = 'it is a folder; name a file in it'
        elif not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            why = f'the folder {target.parent} is missing or not writable'
    except OSError as error:
        raise of_system(path, 'the model cannot be written', error, 'name another') from error
    if why:
        raise InputError(f'Model {path} cannot be written: {why}.')


def read_bags(values: Mapping[str, Any]) -> list[Recording]:
    """Read all bags, and put their positions in step with the IMU as the parameters say."""
    options = ReadingOptions(
        imu_topic=values['imu_topic'] or None,
        position_topic=values['position_topic'] or None,
        use_receive_time=values['use_receive_time'],
    )
    # In this order `two-manifold train` has them, too.
    bags = sorted(values['bags'], key=identity)
    return put_in_step(list(read_recordings(bags, options)), values['position_lag'])


class TrainingJob:
    """
    Reads, inspects, trains and saves in a thread, without ROS.

    It has a ``stage`` and the ``share`` of it done, then the ``model`` that was written, or a
    ``failure`` in a sentence with its ``exit_status``, and ``details`` of a bug. The caller takes
    the ``warnings`` of the inspection out. A model of no use is written only with ``force``.
    """

    def __init__(
        self,
        read: Callable[[], Sequence[Recording]],
        settings: TrainingSettings,
        path: str,
        *,
        force: bool = False,
    ) -> None:
        self.stage, self.share = 'reading recordings', 0.0
        self.model: ModelHead | None = None
        self.failure = self.details = ''
        self.exit_status = 1
        self.warnings: deque[str] = deque()
        self._writing = Lock()

        def progress(stage: str, share: float) -> None:
            self.stage, self.share = stage, share

        def work() -> None:
            recordings = read()
            self.stage = 'inspecting recordings'
            reports = [inspect_recording(each) for each in recordings]
            self.warnings.extend(training_warnings(reports))
            drives = [each.positions for each in reports if each.positions is not None]
            model = train_model(recordings, settings, progress, drives)
            refusal = model.summary['refusal']
            # The filter of the paper is for study, not for a robot.
            if refusal and not (force or settings.method == 'paper'):
                self.exit_status = NO_USE
                msg = f'{refusal["sentence"]}; set force to write the model all the same'
                raise InputError(msg)
            with self._writing:
                save_model(model, path)
                self.model = model

        def attempt() -> None:
            self.failure, self.details = why_it_fails(work)

        # A daemon, so that Ctrl-C ends the node in the middle of a training.
        self._thread = Thread(target=attempt, name='training', daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """True if the job has ended, with a ``model`` or with a ``failure``."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Wait until the model is written if that has started, or see that it never starts."""
        # For good: a thread that a process leaves behind while it writes leaves half a file.
        self._writing.acquire()
