# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: real processes on a machine that does them every wrong it can."""

from collections.abc import Callable, Iterator
from pathlib import Path
import signal

from fault import HealthyDrive, RATE_HZ
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from machine import Machine
import machine_disk as disk
import machine_signals as signals

from two_manifold_ros.domains import free_domains
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

WITHIN_S: dict[Callable[[Machine], tuple[float, ...]], tuple[float, ...]] = {
    signals.while_starting: (20.0,),
    signals.while_working: (20.0,),
    signals.commands_stopped: (20.0,),
    disk.updater_in_trouble: (20.0, 40.0),
    disk.on_a_full_disk: (0.0,),
    disk.in_poor_surroundings: (0.0,),
}
"""Trials, and the longest time until each of their faults is reported, or until the end."""


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('machine') / 'bag'
    write_run(simulate(SlotCarSettings(seed=5, rate_hz=RATE_HZ), laps=8), path)
    return path


@pytest.fixture
def machine(trained: tuple[Path, HealthyDrive], bag: Path, tmp_path: Path) -> Iterator[Machine]:
    # Whoever runs the tests with nohup has children that never hear of it.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    (domain,) = free_domains(1)
    path, drive = trained
    machine = Machine(tmp_path, domain, path, bag, drive)
    yield machine
    machine.close()
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize('trial', WITHIN_S, ids=lambda trial: trial.__name__)
def test_machine_fault(trial, machine):
    for most, seconds in zip(WITHIN_S[trial], trial(machine), strict=True):
        assert seconds <= most
