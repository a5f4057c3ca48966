# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Real processes on a machine that is not as it should be."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys
from time import monotonic, sleep
from typing import TYPE_CHECKING

from ros_talk import CHECKOUT, PATIENCE_S, Talk
from served_node import ServedNode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from healthy_drive import HealthyDrive

COMMAND = 'import sys; from two_manifold_ros.cli.main import main; sys.exit(main())'


class NotAllowedError(Exception):
    """A trial needs rights that are missing here, such as making namespaces."""


class Process:
    """A process whose words are in a file."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open('wb') as output:
            self.popen = subprocess.Popen(
                command,
                cwd=CHECKOUT,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    @property
    def hears_signals(self) -> bool:
        """True if the process has its own signal handlers; until then Python is starting."""
        for line in Path(f'/proc/{self.popen.pid}/status').read_text().splitlines():
            if line.startswith('SigCgt:'):
                # The last one that gets a handler.
                return bool(int(line.split()[1], 16) >> (signal.SIGHUP - 1) & 1)
        return False

    def has_loaded(self, library: str) -> bool:
        return library in Path(f'/proc/{self.popen.pid}/maps').read_text()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait while it runs."""
        end = monotonic() + PATIENCE_S
        while not condition():
            assert self.popen.poll() is None, f'it ended before {what}: {self.said}'
            assert monotonic() < end, f'waited in vain for {what}: {self.said}'
            sleep(0.005)

    def until_said(self, *any_of: str) -> None:
        self.until(lambda: any(words in self.said for words in any_of), ' or '.join(any_of))

    def ended(self) -> int:
        """Wait for its end and return the exit status."""
        return self.popen.wait(PATIENCE_S)


class Machine:
    """
    Setting of a trial: a folder and a ROS domain of its own, a model and a drive.

    Parameters
    ----------
    folder
        Empty.
    domain
        Nobody else's.
    model, bag, drive
        The drive goes on where the training of the model ended.

    """

    def __init__(
        self, folder: Path, domain: int, model: Path, bag: Path, drive: HealthyDrive
    ) -> None:
        self.folder = folder
        self.domain = domain
        self.model = model
        self.bag = bag
        self.drive = drive
        self._processes: list[Process] = []
        self._talks: list[Talk] = []
        self._served: list[ServedNode] = []

    def close(self) -> None:
        """End whatever still runs."""
        for served in self._served:
            served.close()
        for talk in self._talks:
            talk.close()
        for process in self._processes:
            if process.popen.poll() is None:
                process.popen.kill()
                process.popen.wait()

    def node(
        self,
        name: str,
        prefix: Sequence[str] = (),
        changed: dict[str, str | None] | None = None,
        **parameters: object,
    ) -> Process:
        """Start a node; ``changed`` are variables of its environment, ``None`` for unset."""
        chosen = [part for key, value in parameters.items() for part in ('-p', f'{key}:={value}')]
        module = 'two_manifold_ros.nodes'
        command = [*prefix, sys.executable, '-m', module, name, '--ros-args', *chosen]
        return self._start(command, changed or {})

    def command(self, *arguments: object, prefix: Sequence[str] = ()) -> Process:
        """Start a command of the command line."""
        words = [sys.executable, '-c', COMMAND, *map(str, arguments)]
        return self._start([*prefix, *words], {})

    def python(self, program: str) -> Process:
        """Start a program of the trial's own."""
        return self._start([sys.executable, '-c', program], {})

    def served(self, **parameters: object) -> ServedNode:
        """Start a filter node that can be driven."""
        self._served.append(
            ServedNode(self.domain, self.model, input_timeout_s=60.0, **parameters)
        )
        self._served[-1].connect()
        return self._served[-1]

    def kill(self, served: ServedNode) -> None:
        """Kill such a node, and let go who drove it."""
        self._served.remove(served)
        served.process.kill()
        served.close()

    def talk(self) -> Talk:
        """Return a node of the trial's own."""
        self._talks.append(Talk(self.domain))
        return self._talks[-1]

    def _start(self, command: list[str], changed: dict[str, str | None]) -> Process:
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(self.domain), **changed}
        given = {name: value for name, value in environment.items() if value is not None}
        log = self.folder / f'{len(self._processes)}.log'
        self._processes.append(Process(command, given, log))
        return self._processes[-1]


def in_namespaces(kinds: str, script: str) -> list[str]:
    """Return what runs a command in Linux namespaces of its own, after a script."""
    wanted = ['unshare', f'-r{kinds}']
    try:
        subprocess.run([*wanted, 'true'], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        msg = f'{" ".join(wanted)} is not allowed here'
        raise NotAllowedError(msg) from error
    return [*wanted, 'sh', '-ec', f'{script}\nexec "$@"', 'sh']
