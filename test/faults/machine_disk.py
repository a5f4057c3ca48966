# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A disk without room, and what was on it when the power went."""

from __future__ import annotations

import resource
import signal
from time import monotonic
from typing import TYPE_CHECKING

from updater_drive import CHOSEN, UpdaterDrive

if TYPE_CHECKING:
    from pathlib import Path

    from machine import Machine, Process

ROOM = 40_000
"""Bytes a file may have: more than any log and fewer than any bag, model or checkpoint."""

FULL = ['sh', '-c', f'ulimit -f {ROOM // 512}; exec "$@"', 'sh']


QUICK = ('--rate', 10, '--window', 20, '--states', 8, '--horizons', '0,5')


def on_a_full_disk(machine: Machine) -> tuple[float, ...]:
    """Let everything that writes a file and ends run out of room."""
    bag, folder = machine.bag, machine.folder / 'written'
    folder.mkdir()
    trainer = {'rate_hz': 10.0, 'window': 20, 'states': 8, 'model': folder / 'new.npz'}
    ending = {
        machine.command('simulate', '-o', folder / 'new', '--laps', 8, prefix=FULL): 2,
        machine.command('train', bag, '-o', folder / 'new.npz', *QUICK, prefix=FULL): 2,
        machine.command('replay', machine.model, bag, '-o', folder / 'new', prefix=FULL): 2,
        machine.node('trainer_node', FULL, bags=f'[{bag}]', **trainer): 1,
    }
    for process, status in ending.items():
        assert process.ended() == status, process.said
        assert 'cannot be written (File too large)' in process.said, process.said
        assert 'Traceback' not in process.said, process.said
    assert list(folder.iterdir()) == []
    return (0.0,)


def updater_in_trouble(machine: Machine) -> tuple[float, ...]:
    """Take the room from an updater that learns, give it back, and kill it."""
    folder = machine.folder / 'kept'
    updater = _updater(machine, folder)
    drive = UpdaterDrive(machine.talk(), machine.drive)
    _leave_room(updater, ROOM)
    drive.send(0.0, 14.0)
    begin_s = monotonic()
    drive.until(lambda values: 'checkpoint_trouble' in values, 'the trouble to be reported')
    reported_s = monotonic() - begin_s
    assert 'File too large' in drive.values['checkpoint_trouble']
    assert drive.level == 1
    learned = int(drive.values['samples_learned'])
    assert learned > 0
    drive.send(14.0, 18.0)
    drive.until(lambda values: int(values['samples_learned']) > learned, 'it to learn on')
    _leave_room(updater, resource.RLIM_INFINITY)
    # A tenth more is worth another one.
    drive.send(18.0, 24.0)
    drive.until(lambda values: 'checkpoint_trouble' not in values, 'a checkpoint')
    assert drive.values['checkpoints_written'] != '0'
    updater.popen.send_signal(signal.SIGKILL)
    assert updater.ended() == -signal.SIGKILL
    begun = folder / '.updater.000099.npz.begun'
    begun.write_bytes(b'half')
    begin_s = monotonic()
    again = _updater(machine, folder)
    again.until_said('resumed at ')
    assert not begun.exists()
    return reported_s, monotonic() - begin_s


def _updater(machine: Machine, folder: Path) -> Process:
    return machine.node('updater_node', checkpoint_folder=folder, checkpoint_s=1.0, **CHOSEN)


def _leave_room(process: Process, size: int) -> None:
    _, most = resource.prlimit(process.popen.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.popen.pid, resource.RLIMIT_FSIZE, (size, most))
