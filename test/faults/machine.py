# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Real processes on a machine that is not as it should be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
import signal
import subprocess
import sys
from time import monotonic, sleep

from fault import HealthyDrive
import pytest
from ros_talk import environment_of, given, NodeProcess, PATIENCE_S, Process, Talk

COMMAND = 'import sys; from two_manifold_ros.__main__ import main; sys.exit(main())'


class WatchedProcess(Process):
    """A process that is waited for until it has come so far."""

    @property
    def hears_signals(self) -> bool:
        """True if the process has its own signal handlers; until then Python is starting."""
        for line in Path(f'/proc/{self.process.pid}/status').read_text().splitlines():
            if line.startswith('SigCgt:'):
                # The last one that gets a handler.
                return bool(int(line.split()[1], 16) >> (signal.SIGHUP - 1) & 1)
        return False

    def has_loaded(self, library: str) -> bool:
        return library in Path(f'/proc/{self.process.pid}/maps').read_text()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait while it runs."""
        end = monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, f'it ended before {what}: {self.said}'
            assert monotonic() < end, f'waited in vain for {what}: {self.said}'
            sleep(0.005)

    def until_said(self, *any_of: str) -> None:
        self.until(lambda: any(words in self.said for words in any_of), ' or '.join(any_of))


@dataclass
class Machine:
    """
    Setting of a trial: an empty folder and a ROS domain of its own, a model and a drive.

    The drive goes on where the training of the model ended.
    """

    folder: Path
    domain: int
    model: Path
    bag: Path
    drive: HealthyDrive
    _processes: list[WatchedProcess] = field(default_factory=list)
    _talks: list[Talk] = field(default_factory=list)

    def close(self) -> None:
        """End whatever still runs."""
        for talk in self._talks:
            talk.close()
        for process in self._processes:
            process.stop(signal.SIGKILL)

    def node(
        self,
        name: str,
        prefix: Sequence[str] = (),
        changed: dict[str, str | None] | None = None,
        **parameters: object,
    ) -> WatchedProcess:
        """Start a node; ``changed`` are variables of its environment, ``None`` for unset."""
        python = [sys.executable, *NodeProcess.program, name, '--ros-args', *given(parameters)]
        return self._start([*prefix, *python], changed)

    def command(self, *arguments: object, prefix: Sequence[str] = ()) -> WatchedProcess:
        """Start a command of the command line."""
        words = [sys.executable, '-c', COMMAND, *map(str, arguments)]
        return self._start([*prefix, *words])

    def talk(self) -> Talk:
        """Return a node of the trial's own."""
        self._talks.append(Talk(self.domain))
        return self._talks[-1]

    def _start(
        self, command: list[str], changed: dict[str, str | None] | None = None
    ) -> WatchedProcess:
        environment = environment_of(self.domain) | (changed or {})
        left = {name: value for name, value in environment.items() if value is not None}
        self._processes.append(WatchedProcess(command, left))
        return self._processes[-1]


def in_namespaces(kinds: str, script: str) -> list[str]:
    """Return what runs a command in Linux namespaces of its own, after a script, or skip."""
    wanted = ['unshare', f'-r{kinds}']
    try:
        subprocess.run([*wanted, 'true'], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f'{" ".join(wanted)} is not allowed here')
    return [*wanted, 'sh', '-ec', f'{script}\nexec "$@"', 'sh']
