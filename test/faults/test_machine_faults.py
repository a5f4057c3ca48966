# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: real processes on a machine that does them every wrong it can."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
import signal
from typing import TypeAlias

from fault import HealthyDrive, RATE_HZ
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from machine import Machine
import machine_disk as disk
import machine_signals as signals

from two_manifold_ros.domains import free_domains
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

Seconds: TypeAlias = tuple[float, ...]

AT_ONCE = 4
"""Trials that run at once: two cores are kept busy while others only wait."""

WITHIN_S: dict[Callable[[Machine], Seconds], Seconds] = {
    signals.while_starting: (20.0,),
    signals.while_working: (20.0,),
    signals.commands_stopped: (20.0,),
    disk.updater_in_trouble: (20.0, 40.0),
    disk.on_a_full_disk: (0.0,),
    disk.in_poor_surroundings: (0.0,),
}
"""Trials, and the longest time until each of their faults is reported, or until the end."""


@pytest.fixture(scope='module')
def machine_results(
    selected: Callable[[str, str], list[str]],
    trained: tuple[Path, HealthyDrive],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Future[Seconds]]:
    """Run all trials that a selected test asks for at once; by name."""
    folder = tmp_path_factory.mktemp('machine')
    names = selected('machine_results', 'trial')
    bag = folder / 'bag'
    write_run(simulate(SlotCarSettings(seed=5, rate_hz=RATE_HZ), laps=8), bag)
    path, drive = trained

    def run(trial: Callable[[Machine], Seconds], domain: int) -> Seconds:
        own = folder / trial.__name__
        own.mkdir()
        machine = Machine(own, domain, path, bag, drive)
        try:
            return trial(machine)
        finally:
            machine.close()

    trials = [each for each in WITHIN_S if each.__name__ in names]
    # Whoever runs the tests with nohup has children that never hear of it.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            pairs = zip(trials, free_domains(len(trials)), strict=True)
            return {trial.__name__: pool.submit(run, trial, domain) for trial, domain in pairs}
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize('trial', [each.__name__ for each in WITHIN_S])
def test_machine_fault(trial, machine_results):
    (within_s,) = (each for function, each in WITHIN_S.items() if function.__name__ == trial)
    for most, seconds in zip(within_s, machine_results[trial].result(), strict=True):
        assert seconds <= most
