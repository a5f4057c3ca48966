# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Entry points of the nodes; also ``python -m two_manifold_ros.nodes filter_node --ros-args ...``.

Importing this loads neither NumPy nor ROS, so that signals and threads are settled before.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
import sys

from two_manifold_ros.errors import InputError
from two_manifold_ros.processes import one_blas_thread, Stopping

NODES = {
    'filter_node': 'FilterNode',
    'slot_car_node': 'SlotCarNode',
    'trainer_node': 'TrainerNode',
    'updater_node': 'UpdaterNode',
}
"""Class by name of the module and of the executable."""

FINISHING = {'trainer_node'}
"""Nodes that are started for one result: if a signal ends them before, the status says so."""

HELP = """\
usage: {name} --ros-args -p NAME:=VALUE ... -r FROM:=TO ... --params-file FILE

Parameters are described in docs/parameters.md, and topics and services in docs/topics.md.
"""


def run_node(name: str, args: list[str] | None = None) -> int:
    """Run a node until it ends or is stopped, and return the exit status."""
    arguments = (sys.argv if args is None else args)[1:]
    first = arguments[0] if arguments else '--ros-args'
    if first in {'-h', '--help'}:
        sys.stdout.write(HELP.format(name=name))
        return 0
    if first != '--ros-args':
        sys.stderr.write(
            f'{name}: {first!r} is no argument of a node: parameters and remappings follow '
            f'--ros-args, see {name} --help\n'
        )
        return 2
    one_blas_thread()
    # Loading all of it takes a second, in which a signal may come.
    with Stopping() as stop:
        # A signal after the end must not change how it ended.
        stop.is_last = True
        try:
            # First, so that where ROS is missing no other of its packages is.
            import_module('rclpy')
            run = import_module('two_manifold_ros.nodes.running').run
            create = getattr(import_module(f'two_manifold_ros.nodes.{name}'), NODES[name])
        except InputError as error:
            # A library that is missing or broken, unless a signal interrupted its import.
            if not stop.signal:
                sys.stderr.write(f'{name}: {error}\n')
                return 2
        except ImportError as error:
            if stop.signal or (error.name or '').partition('.')[0] != 'rclpy':
                raise
            sys.stderr.write(f'{name} needs ROS 2 ({error}): source its setup file first\n')
            return 2
        else:
            return int(run(create, stop, args, finishing=name in FINISHING))
    return 128 + stop.signal if name in FINISHING and stop.signal else 0


filter_node = partial(run_node, 'filter_node')
slot_car_node = partial(run_node, 'slot_car_node')
trainer_node = partial(run_node, 'trainer_node')
updater_node = partial(run_node, 'updater_node')


def main() -> int:
    """Run the node that the first argument names."""
    if len(sys.argv) < 2 or sys.argv[1] not in NODES:
        sys.stderr.write(f'usage: python -m two_manifold_ros.nodes {{{",".join(NODES)}}} ...\n')
        return 2
    return run_node(sys.argv[1], sys.argv[1:])


if __name__ == '__main__':
    raise SystemExit(main())
