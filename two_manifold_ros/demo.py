# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: all commands of the way on a simulated car, then its filter on live topics."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, ExitStack
from importlib.util import find_spec
from pathlib import Path
import shlex
import shutil
import signal
import subprocess
import sys

from two_manifold_ros.errors import BAD_INPUT, in_words, InputError
from two_manifold_ros.processes import isolate, Stopping, until_ctrl_c

DESCRIPTION = 'Simulate, inspect, train, evaluate and filter on live topics: the whole way.'
MARKER = '.two_manifold_demo'
ENDING_TIMEOUT_S = 10.0
TRAINED_S = '174'
"""Seconds of the 25 laps that are trained on; six laps are left for the test."""
WAY = (
    'simulate -o recording --laps 25',
    'inspect recording',
    f'train recording -o model.npz --until {TRAINED_S}',
    f'evaluate model.npz recording --from {TRAINED_S} --report report.html',
)
OFFLINE = 'replay model.npz recording -o predictions'
"""In place of live topics, where ROS 2 is missing."""
LIVE = 'status --until tracking --seconds 60'
NODES = {'filter_node': 'model:=model.npz', 'slot_car_node': 'seed:=1'}
"""Nodes with a parameter each: the seed of the car is another one than in the training."""


@contextmanager
def running_node(name: str, parameter: str, folder: Path) -> Iterator[None]:
    """Run a node with a parameter, its log in a file of the folder; end it as Ctrl-C does."""
    command = [sys.executable, '-m', 'two_manifold_ros.nodes', name, '--ros-args', '-p', parameter]
    with (folder / f'{name}.log').open('wb') as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(ENDING_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run_command(line: str, folder: Path) -> int:
    """Show a command and run it in the folder; return its exit status."""
    print(f'\n$ two-manifold {line}', flush=True)
    command = [sys.executable, '-m', 'two_manifold_ros', *shlex.split(line)]
    return subprocess.run(command, cwd=folder, check=False).returncode


def run_tour(folder_name: str, *, view: bool = False, way: Sequence[str] = WAY) -> int:
    """Run commands and nodes in a folder; return the status of the first that fails, or 0."""
    folder = Path(folder_name).resolve()
    if folder.exists():
        if not (folder / MARKER).exists():
            msg = f'{folder} exists and was not made here: remove it or name another folder'
            raise InputError(msg)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / MARKER).touch()
    with_nodes = find_spec('rclpy') is not None
    for line in way if with_nodes else (*way, OFFLINE):
        if status := run_command(line, folder):
            return status
    with ExitStack() as running:
        if with_nodes:
            isolate()
            print('\nThe car drives on, live, and filter_node follows it.', flush=True)
            for name, parameter in NODES.items():
                running.enter_context(running_node(name, parameter, folder))
            if status := run_command(LIVE, folder):
                print(f'The logs of the nodes are in {folder}.', file=sys.stderr)
                return status
        else:
            print('\nROS 2 is missing, so the filter was replayed over the bag instead of live.')
        print(f'\nAll files are in {folder}; report.html opens in a browser.', flush=True)
        if view:
            with until_ctrl_c():
                run_command(f'view model.npz {"--live" if with_nodes else "recording"}', folder)
    return 0


def main() -> int:
    """Run the demo; return 0 on success, 2 on bad input, 128 and its number for a signal."""
    parser = ArgumentParser(prog='demo', description=DESCRIPTION)
    parser.add_argument('folder', nargs='?', default='demo_output', help='folder to write')
    parser.add_argument(
        '--view', action='store_true', help='show the drive live in the browser, until Ctrl-C'
    )
    args = parser.parse_args()
    with Stopping() as stop:
        try:
            return run_tour(args.folder, view=args.view)
        except (InputError, OSError) as error:
            print(f'demo: error: {in_words(error)}', file=sys.stderr)
            return BAD_INPUT
    return 128 + stop.signal


if __name__ == '__main__':
    raise SystemExit(main())
