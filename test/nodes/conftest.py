# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A private ROS domain, a model, samples, and nodes that are always stopped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import driven_model
import pytest

from two_manifold_ros.processes import free_domains

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from imu_feed import Feed
    from ros_talk import Health, NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

    Follow = Callable[..., tuple[Health, Feed]]

drive, model_path = driven_model.drive, driven_model.model_path
sensed_path = driven_model.sensed_path


@pytest.fixture(scope='session')
def domain() -> Iterator[str]:
    """A ROS domain of our own, so that no other robot is driven by a test."""
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    patch = pytest.MonkeyPatch()
    number = str(free_domains(1)[0])
    patch.setenv('ROS_DOMAIN_ID', number)
    patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    patch.setenv('PYTHONUNBUFFERED', '1')
    yield number
    patch.undo()


@pytest.fixture
def talk(domain: str) -> Iterator[Talk]:
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


@pytest.fixture
def text_for_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let text stand for messages of transforms, which are not among the wheels."""
    from std_msgs.msg import String  # noqa: PLC0415 - needs ROS, which may be missing

    from two_manifold_ros.nodes import callbacks  # noqa: PLC0415 - needs ROS as well

    usual = callbacks.message_class
    replaced = {callbacks.TRANSFORM_TYPE: String}
    monkeypatch.setattr(
        callbacks, 'message_class', lambda msgtype: replaced.get(msgtype) or usual(msgtype)
    )


@pytest.fixture
def follow(talk: Talk, start: Callable[..., NodeProcess], drive: SlotCarRun) -> Follow:
    """Start a filter node, and return its diagnostics and the drive that it hears."""
    from imu_feed import connect, Feed  # noqa: PLC0415 - needs ROS, which may be missing
    from ros_talk import Health  # noqa: PLC0415 - needs ROS, which may be missing

    def follow_one(model: Path, **parameters: object) -> tuple[Health, Feed]:
        start('filter_node', model=model, **{'input_timeout_s': 60.0, **parameters})
        health = Health(talk)
        return health, Feed(talk, drive, connect(talk, health))

    return follow_one
