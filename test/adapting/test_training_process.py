# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training in a process of its own, which may be killed at any time."""

from collections.abc import Iterator
import multiprocessing
from multiprocessing.process import BaseProcess
import os
from pathlib import Path
import signal
from threading import Thread
from time import sleep

from long_training import SETTINGS, train_for_long
import numpy as np
import pytest

from two_manifold_ros.adapting.training_process import TrainingProcess
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training.train import train_model


@pytest.fixture
def training() -> Iterator[TrainingProcess]:
    training = TrainingProcess()
    yield training
    training.close()


@pytest.fixture(scope='session')
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[0]


def train_too_little(training: TrainingProcess, laps: Recording) -> None:
    """Make the process start, and refuse."""
    with pytest.raises(InputError, match=r'^(?!.*ended with status)'):
        training.train([laps.between(0.0, 0.5)], SETTINGS)


def process_of(training: TrainingProcess) -> BaseProcess:
    return next(each for each in multiprocessing.active_children() if each.pid == training.pid)


def test_it_trains_as_here_and_ctrl_c_does_not_end_it(training, laps):
    train_too_little(training, laps)
    process = process_of(training)
    assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    # Of a terminal it goes to the whole group.
    os.kill(process.pid, signal.SIGINT)
    with pytest.raises(RuntimeError, match='Traceback'):
        training.train([None], SETTINGS)  # type: ignore[list-item]
    part = laps.between(0.0, 40.0)
    (model, _), here = training.train([part], SETTINGS), train_model([part], SETTINGS)
    assert training.pid == process.pid
    np.testing.assert_allclose(
        model.route.likelihood.means, here.route.likelihood.means, rtol=1e-6, atol=1e-9
    )
    training.close()
    assert not process.is_alive()


def test_ctrl_c_while_it_starts_leaves_no_trace(training, laps, capfd):
    training.begin()
    pid = training.pid
    # Python starts for about as long.
    for _ in range(20):
        os.kill(pid, signal.SIGINT)
        sleep(0.01)
    train_too_little(training, laps)
    assert (training.pid, capfd.readouterr().err) == (pid, '')
    # Here it is heard as before.
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_killed_process_is_reported_and_another_one_goes_on(training, laps):
    train_too_little(training, laps)
    first = process_of(training)
    killer = Thread(target=lambda: (until_busy(first.pid), first.kill()))
    killer.start()
    with pytest.raises(InputError, match='ended with status -9'):
        training.train([laps], SETTINGS)
    killer.join()
    train_too_little(training, laps)
    assert training.pid != first.pid


def stat_of(pid: int | None) -> list[str]:
    """Return the state of a process and what follows it; times are the fields 11 and 12."""
    return Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()


def until_busy(pid: int | None) -> None:
    """Wait until a process has computed for a while from now on."""

    def ticks() -> int:
        return sum(map(int, stat_of(pid)[11:13]))

    begun = ticks()
    while ticks() < begun + 10:
        sleep(0.02)


def test_it_is_closed_in_the_middle_of_a_training_and_trains_no_more(training, laps):
    train_too_little(training, laps)
    process = process_of(training)
    closer = Thread(target=lambda: (until_busy(process.pid), training.close()))
    closer.start()
    with pytest.raises(InputError, match='not needed any more'):
        training.train([laps], SETTINGS)
    closer.join()
    assert not process.is_alive()
    with pytest.raises(InputError, match='not needed any more'):
        training.train([laps], SETTINGS)
    assert training.pid is None


@pytest.mark.parametrize('delay_s', [0.0, 0.002, 0.01])
def test_closing_it_while_it_starts_leaves_nothing_behind(training, laps, delay_s):
    closer = Thread(target=lambda: (sleep(delay_s), training.close()))
    closer.start()
    with pytest.raises(InputError, match='not needed any more'):
        training.train([laps], SETTINGS)
    closer.join()
    assert not [each for each in multiprocessing.active_children() if each.name == 'training']


def test_it_ends_in_the_middle_of_a_training_when_its_parent_is_killed(laps):
    context = multiprocessing.get_context('spawn')
    ours, its = context.Pipe()
    parent = context.Process(target=train_for_long, args=(its, laps))
    parent.start()
    child = ours.recv()
    until_busy(child)
    parent.kill()
    parent.join()
    for _ in range(500):
        # Where no parent waits for it, it stays as a zombie.
        if not Path(f'/proc/{child}').exists() or stat_of(child)[0] == 'Z':
            return
        sleep(0.02)
    pytest.fail('it goes on without its parent')
