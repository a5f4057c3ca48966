# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags of a fleet, and work for its workers, which import it."""

from collections.abc import Sequence
import os
from pathlib import Path
import signal
import time

from two_manifold_ros.errors import InputError
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run


def write_fleet(folder: Path, seeds: Sequence[int]) -> list[str]:
    """Write bags of three laps each, of two cars by turns, and one that is damaged."""
    paths = [folder / f'car{at % 2}' / f'drive{at}' for at in range(len(seeds))]
    for path, seed in zip(paths, seeds, strict=True):
        path.parent.mkdir(exist_ok=True)
        write_run(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), laps=3), path)
    (folder / 'bad.mcap').write_bytes(b'no bag')
    return [*map(str, paths), str(folder / 'bad.mcap')]


def squared(number: int) -> int:
    return number * number


def refusing(number: int) -> int:
    """Return a number; the fourth and the seventh are refused, the fourth much later."""
    if number in {3, 6}:
        time.sleep(0.3 if number == 3 else 0.0)
        raise InputError(f'number {number} is refused')
    return number


def dying(mark: Path | None, number: int) -> int:
    """Return a number, but kill the process that has the fifth, with a mark to leave only once."""
    if number == 4 and not (mark and mark.exists()):
        if mark:
            mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def counted(calls: list[int], number: int) -> tuple[int, int]:
    """Return the process, and how often it was called with this list."""
    calls.append(number)
    # So that another process gets the next number.
    time.sleep(0.1)
    return os.getpid(), len(calls)
