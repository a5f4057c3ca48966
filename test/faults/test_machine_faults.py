# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: real processes on a machine that does them every wrong it can."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
import signal
import subprocess
import sys
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any

import pytest
from stream_faults import HealthyDrive, RATE_HZ

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ros_talk import environment_of, given, PATIENCE_S, Process

from two_manifold_ros.processes import free_domains
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
SOON_S = 20.0
"""In which a process ends or reports a fault, also on a busy machine."""


class WatchedProcess(Process):
    """A process that is waited for until it has come so far."""

    def read(self, name: str) -> str:
        return Path(f'/proc/{self.process.pid}/{name}').read_text()

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, f'it ended before {what}: {self.said}'
            assert monotonic() < end, f'waited in vain for {what}: {self.said}'
            sleep(0.005)

    def ends(self, number: signal.Signals, status: int) -> None:
        """Stop it, which it does soon and without a word of an error."""
        begin_s = monotonic()
        assert self.stop(number) == status, self.said
        assert monotonic() - begin_s <= SOON_S
        assert not any(word in self.said for word in ('Traceback', 'rosout')), self.said


class Machine:
    """A folder and a ROS domain of a trial, and the processes that run there."""

    def __init__(self, folder: Path, domain: int, model: Path) -> None:
        self.written = folder / 'written'
        self.written.mkdir()
        self.processes: list[WatchedProcess] = []
        self._environment = environment_of(domain)
        self._parameters: dict[str, dict[str, object]] = {
            'filter_node': {'model': model}, 'trainer_node': {'model': folder / 'new.npz'},
            'updater_node': {'checkpoint_folder': folder / 'kept'}, 'slot_car_node': {},
        }  # fmt: skip

    def node(self, name: str, *options: Any, **parameters: object) -> WatchedProcess:  # noqa: ANN401
        """Start a node; the ``options`` are those of `command`."""
        words = name, '--ros-args', *given(self._parameters[name] | parameters)
        return self.command(*options, words=words, module='two_manifold_ros.nodes')

    def command(
        self,
        prefix: Sequence[str] = (),
        changed: Mapping[str, str | None] = MappingProxyType({}),
        *,
        words: Sequence[object],
        module: str = 'two_manifold_ros',
    ) -> WatchedProcess:
        """Start a command; ``changed`` are variables of its environment, ``None`` for unset."""
        environment = self._environment | changed
        left = {name: value for name, value in environment.items() if value is not None}
        command = [*prefix, sys.executable, '-m', module, *map(str, words)]
        self.processes.append(WatchedProcess(command, left))
        return self.processes[-1]


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('machine') / 'bag'
    write_run(simulate(SlotCarSettings(seed=5, rate_hz=RATE_HZ), laps=8), path)
    return path


@pytest.fixture
def machine(trained: tuple[Path, HealthyDrive], tmp_path: Path) -> Iterator[Machine]:
    # Whoever runs the tests with nohup has children that never hear of it.
    before = signal.signal(HUP, signal.SIG_DFL)
    (domain,) = free_domains(1)
    machine = Machine(tmp_path, domain, trained[0])
    yield machine
    for process in machine.processes:
        process.stop(signal.SIGKILL)
    signal.signal(HUP, before)


def test_nodes_end_while_they_import_and_while_they_are_made(machine):
    # Once this is there the node itself is being made.
    loaded = 'librmw_fastrtps_cpp'
    cases = [
        ('filter_node', INT, ''), ('updater_node', TERM, ''), ('trainer_node', HUP, ''),
        ('filter_node', TERM, loaded), ('updater_node', INT, loaded),
        ('slot_car_node', HUP, loaded),
    ]  # fmt: skip
    nodes = [machine.node(name) for name, *_ in cases]
    for node, (name, number, library) in zip(nodes, cases, strict=True):

        def hears_signals(node: WatchedProcess = node) -> bool:
            # Until then Python is starting; this is the last signal that gets a handler.
            (caught,) = (each for each in node.read('status').splitlines() if 'SigCgt:' in each)
            return bool(int(caught.split()[1], 16) >> (HUP - 1) & 1)

        node.until(hears_signals, f'{name} to hear signals')
        node.until(lambda node=node, part=library: part in node.read('maps'), f'{name} to load')
        # A trainer has no model then.
        node.ends(number, 128 + number if name == 'trainer_node' else 0)


def test_commands_that_are_stopped_while_they_write_leave_nothing(machine, trained, bag):
    new = machine.written / 'new'
    for words in (('simulate', '-o', new, '--laps', 2000), ('replay', trained[0], bag, '-o', new)):
        command = machine.command(words=words)
        command.until(lambda: [*machine.written.glob('.bag-*/new/*')], 'the half-written bag')
        command.ends(TERM, 128 + TERM)
        assert list(machine.written.iterdir()) == []


NO_ROOM = ['sh', '-c', 'ulimit -f 78; exec "$@"', 'sh']
"""For files of more than 40 kB: no log has as much, and every bag and model more."""


def test_whatever_writes_a_file_and_ends_says_that_the_disk_is_full(machine, trained, bag):
    new = machine.written / 'new'
    quick = '--rate', 10, '--window', 20, '--states', 8, '--horizons', '0,5'
    trainer = {'rate_hz': 10.0, 'window': 20, 'states': 8, 'model': f'{new}.npz'}
    commands = (
        ('simulate', '-o', new, '--laps', 8),
        ('train', bag, '-o', f'{new}.npz', *quick),
        ('replay', trained[0], bag, '-o', new),
    )
    ending = {machine.command(NO_ROOM, words=words): 2 for words in commands}
    ending[machine.node('trainer_node', NO_ROOM, bags=f'[{bag}]', **trainer)] = 1
    for process, status in ending.items():
        assert process.ended() == status, process.said
        assert 'cannot be written (File too large)' in process.said, process.said
        assert 'Traceback' not in process.said, process.said
    assert list(machine.written.iterdir()) == []


def test_nodes_start_without_folders_and_networks_but_loopback(machine):
    space = ['unshare', '-rmn']
    try:
        subprocess.run([*space, 'true'], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f'{" ".join(space)} is not allowed here')
    script = 'mount -t tmpfs -o ro tmpfs /mnt; ip link set lo up\nexec "$@"'
    names = 'ROS_HOME', 'ROS_LOG_DIR', 'XDG_CACHE_HOME', 'TWO_MANIFOLD_CACHE'
    unset = dict.fromkeys(names) | {'HOME': '/mnt'}
    node = machine.node('filter_node', [*space, 'sh', '-ec', script, 'sh'], unset)
    node.until(lambda: 'it has no publisher' in node.said, 'its first words')
    assert 'because /mnt/.ros/log cannot be written (Read-only file system)' in node.said
    assert 'Loops are compiled again by every process' in node.said
    node.ends(INT, 0)
