# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Print through how many files and Python functions a sample, a training and an evaluation pass.

Run `./run bench walks` where ROS 2 is. Of compiled functions, those that Python calls count;
imports and comprehensions do not. `--list` names the functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from node_feed import drive, ImuBytes, PATIENCE_NS
import rclpy

from two_manifold_ros.__main__ import main as command
from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.processes import isolate

HOME = str(Path(sys.modules[FilterNode.__module__].__file__ or '').parents[1]) + '/'
LEFT_OUT = {'<module>', '<listcomp>', '<setcomp>', '<dictcomp>', '<genexpr>'}
TO_REACH = {'sample': (10, 50), 'train': (35, 250), 'evaluate': (25, 200)}
"""Files and functions of each walk."""

Walk = set[tuple[str, str]]
"""Files and functions."""


@contextmanager
def followed() -> Iterator[Walk]:
    """Note the functions of the package that are entered."""
    walk: Walk = set()

    def enter(frame: Any, event: str, _: object) -> None:  # noqa: ANN401 - a frame
        code = frame.f_code
        if event == 'call' and code.co_filename.startswith(HOME) and code.co_name not in LEFT_OUT:
            walk.add(
                (code.co_filename.removeprefix(HOME), f'{code.co_name}:{code.co_firstlineno}')
            )

    sys.setprofile(enter)
    try:
        yield walk
    finally:
        sys.setprofile(None)


def of_sample(model: str) -> Walk:
    """Return the longest walk among the samples of the last second, without subscribers."""
    isolate()
    rclpy.init(args=['--ros-args', '-p', f'model:={model}'])
    node, walks = FilterNode(), list[Walk]()
    end = monotonic() + PATIENCE_NS / 1e9
    while not (topics := [each for each in node.subscriptions if each.topic_name == '/imu']):
        rclpy.spin_once(node, timeout_sec=0.1)
        if monotonic() > end:
            sys.exit('the node did not configure itself')
    builder = ImuBytes()
    for stamp, sample in zip(*drive(3, 100.0, 40.0), strict=True):
        with followed() as walk:
            topics[0].callback(builder.of(int(stamp), sample))
        walks.append(walk)
    node.destroy_node()  # type: ignore[no-untyped-call]
    rclpy.shutdown()
    return max(walks[-100:], key=len)


def of_command(*arguments: str) -> Walk:
    """Return the walk of a command."""
    with redirect_stdout(StringIO()), followed() as walk:
        if command(arguments):
            sys.exit(f'{arguments[0]} failed')
    return walk


def main() -> int:
    with TemporaryDirectory() as folder:
        bag, model = f'{folder}/drive', f'{folder}/model.npz'
        of_command('simulate', '-o', bag, '--laps', '8')
        walks = {
            'train': of_command('train', bag, '-o', model),
            'evaluate': of_command('evaluate', model, bag),
            'sample': of_sample(model),
        }
    for name, walk in walks.items():
        files = {file for file, _ in walk}
        print(f'{name}: {len(files)} files, {len(walk)} functions (to reach: {TO_REACH[name]})')
        if '--list' in sys.argv:
            print(*(f'    {file}: {function}' for file, function in sorted(walk)), sep='\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
