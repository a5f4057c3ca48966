# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training in a process of its own, which may be killed at any time."""

from __future__ import annotations

import os
import signal
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.adapting.training_process import TrainingProcess
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.route_model import RouteModel
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.recordings.recording import Recording

SETTINGS = TrainingSettings(window=20, horizons=(0, 5, 20))


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Iterator[TrainingProcess]:
    # Compiling in every process would take most of the time.
    monkeypatch.setenv('TWO_MANIFOLD_NUMBA', '0')
    training = TrainingProcess()
    yield training
    training.close()


def test_it_trains_as_here_and_ctrl_c_does_not_end_it(
    training: TrainingProcess, slot_car_laps: tuple[Recording, Recording]
) -> None:
    with pytest.raises(InputError, match=r'^(?!.*was killed)'):
        training.train([slot_car_laps[0].between(0.0, 0.5)], SETTINGS)
    process = training._process
    assert process is not None
    assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    # Of a terminal it goes to the whole group.
    os.kill(process.pid, signal.SIGINT)
    with pytest.raises(RuntimeError, match='Traceback'):
        training.train([None], SETTINGS)  # type: ignore[list-item]
    part = slot_car_laps[0].between(0.0, 40.0)
    model, here = training.train([part], SETTINGS), train_model([part], SETTINGS)
    assert training._process is process
    assert isinstance(model, RouteModel)
    assert isinstance(here, RouteModel)
    np.testing.assert_allclose(model.route.means, here.route.means, rtol=1e-6, atol=1e-9)
    training.close()
    assert not process.is_alive()


def test_a_killed_process_is_told_and_another_one_goes_on(
    training: TrainingProcess, slot_car_laps: tuple[Recording, Recording]
) -> None:
    with pytest.raises(InputError):
        training.train([slot_car_laps[0].between(0.0, 0.5)], SETTINGS)
    first = training._process
    assert first is not None
    killer = Thread(target=lambda: (sleep(0.1), first.kill()))
    killer.start()
    with pytest.raises(InputError, match='was killed'):
        training.train([slot_car_laps[0]] * 3, SETTINGS)
    killer.join()
    with pytest.raises(InputError, match=r'^(?!.*was killed)'):
        training.train([slot_car_laps[0].between(0.0, 0.5)], SETTINGS)
    assert training._process is not first


def test_nothing_has_to_be_ended_that_never_began() -> None:
    TrainingProcess().close()
