# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A private ROS domain, a model, samples, and nodes that are always stopped."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING

from free_domain import free_domains
import pytest
from updater_feed import feed, LEARNED, small_session

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate, SlotCarRun
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.adapting.updater_session import UpdaterSession

TRAINING_LAPS = 6


@pytest.fixture(scope='session')
def domain() -> Iterator[str]:
    """A ROS domain of our own, so that nobody else's robot is driven by a test."""
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    patch = pytest.MonkeyPatch()
    number = str(free_domains(1)[0])
    patch.setenv('ROS_DOMAIN_ID', number)
    patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    patch.setenv('PYTHONUNBUFFERED', '1')
    # Compiling in every process would take most of the time of these tests.
    patch.setenv('TWO_MANIFOLD_NUMBA', '0')
    yield number
    patch.undo()


@pytest.fixture(scope='session')
def drive() -> SlotCarRun:
    """Laps of the slot car: the first ones for training, one more to drive live."""
    return simulate(SlotCarSettings(seed=5, rate_hz=50.0), laps=TRAINING_LAPS + 1)


@pytest.fixture(scope='session')
def model_path(drive: SlotCarRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of the track: 10 Hz, windows of 20 ticks."""
    # One car on one day, which is followed more sharply than another day's drive would allow.
    settings = TrainingSettings(
        rate_hz=10.0, window=20, states=8, horizons=(0, 5, 10), sharpness=0.4
    )
    path = tmp_path_factory.mktemp('model') / 'model.npz'
    save_model(train_model([run_to_recording(drive)], settings), path)
    return path


@pytest.fixture(scope='session')
def learned_session(drive: SlotCarRun) -> UpdaterSession:
    """The session of an updater that has learned for a while; use `learned`."""
    session = small_session()
    feed(session, drive, slice(0, LEARNED))
    return session


@pytest.fixture
def learned(learned_session: UpdaterSession) -> UpdaterSession:
    """A copy of it, to go on with."""
    return copy.deepcopy(learned_session)


@pytest.fixture
def talk(domain: str) -> Iterator[Talk]:
    """The test's own node."""
    from ros_talk import Talk  # noqa: PLC0415 - needs ROS, which may be missing

    assert os.environ['ROS_DOMAIN_ID'] == domain
    talk = Talk()
    yield talk
    talk.close()


@pytest.fixture
def start(domain: str) -> Iterator[Callable[..., NodeProcess]]:
    """Start a node; it is stopped when the test ends."""
    from ros_talk import NodeProcess  # noqa: PLC0415 - needs ROS, which may be missing

    assert domain
    started: list[NodeProcess] = []

    def start_one(name: str, *ros_args: str, **parameters: object) -> NodeProcess:
        started.append(NodeProcess(name, *ros_args, **parameters))
        return started[-1]

    yield start_one
    for process in started:
        process.stop()
