# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Train in a process beside a node, and from bags or a live recording in a thread."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
import os
from pathlib import Path
from subprocess import PIPE, Popen
import sys
from threading import Lock, Thread
from typing import Any, cast, TYPE_CHECKING

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
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording

    Given = TypeVar('Given')
    Result = TypeVar('Result')


class Worker:
    """
    One process for one learner, which is there from the start and ends with this process.

    The loops of trainings by ``method`` are compiled before the first training is due.
    """

    def __init__(self, method: str = 'route') -> None:
        self._method = method
        # One call after the other; a service may close it while a thread waits for a training.
        self._calling, self._lock, self._closed = Lock(), Lock(), False
        self._start()

    def run(self, work: Callable[[Given], Result], given: Given) -> Result:
        """
        Call a function of a module in the process, and wait for what it returns or raises.

        Raises `InputError` if the process was killed or closed; after a kill the next call starts
        another process.
        """
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
            env=os.environ | {'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
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
        elif not os.access(target.parent, os.W_OK):
            why = f'the folder {target.parent} is missing or not writable'
    except OSError as error:
        raise of_system(path, 'the model cannot be written', error, 'name another') from error
    if why:
        msg = f'Model {path} cannot be written: {why}.'
        raise InputError(msg)


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
