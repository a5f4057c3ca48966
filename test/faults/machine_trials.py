# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials by fault of the machine, and a run of all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import signal
import traceback
from typing import NamedTuple, TYPE_CHECKING, TypeAlias

from healthy_drive import RATE_HZ
from machine import Machine, NotAllowedError
import machine_disk as disk
import machine_signals as signals
import machine_wire as wire
from rows import TRIALS

from two_manifold_ros.domains import free_domains
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from fault import Fault
    from healthy_drive import HealthyDrive

    Trial: TypeAlias = Callable[[Machine], tuple[float, ...]]

AT_ONCE = 4
"""Trials that run at once: two cores are kept busy while others only wait."""

FUNCTIONS = (
    signals.while_starting,
    signals.while_working,
    signals.filter_killed,
    signals.commands_stopped,
    disk.updater_in_trouble,
    disk.on_a_full_disk,
    disk.in_poor_surroundings,
    wire.on_the_wire,
    wire.clock_jumps,
)
"""
The trials.

Each returns for each of its faults the seconds until it was reported, or until the end.
"""


class Result(NamedTuple):
    """Outcome of a fault."""

    seconds: float = 0.0
    complaint: str = ''
    skipped: str = ''


def run_all(
    selected: Collection[Fault], folder: Path, model: Path, drive: HealthyDrive
) -> dict[str, Result]:
    """Return what became of each fault, by name."""
    trials = [each for each in FUNCTIONS if set(TRIALS[each.__name__]) & set(selected)]
    domains = free_domains(len(trials))
    bag = folder / 'bag'
    write_run(simulate(SlotCarSettings(seed=5, rate_hz=RATE_HZ), laps=8), bag)

    def run(trial: Trial, domain: int) -> list[Result]:
        own = folder / trial.__name__
        own.mkdir()
        faults = TRIALS[trial.__name__]
        return _run(trial, Machine(own, domain, model, bag, drive), len(faults))

    # Whoever runs the tests with nohup has children that never hear of it.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            results = [each for found in pool.map(run, trials, domains) for each in found]
    finally:
        signal.signal(signal.SIGHUP, before)
    faults = [fault for trial in trials for fault in TRIALS[trial.__name__]]
    return {fault.name: result for fault, result in zip(faults, results, strict=True)}


def _run(trial: Trial, machine: Machine, count: int) -> list[Result]:
    try:
        seconds = trial(machine)
        assert len(seconds) == count
        return [Result(each) for each in seconds]
    except NotAllowedError as reason:
        return [Result(skipped=str(reason))] * count
    # Whatever it is, the other trials go on.
    except Exception:  # noqa: BLE001 - the tests of its rows show it
        return [Result(complaint=traceback.format_exc())] * count
    finally:
        machine.close()
