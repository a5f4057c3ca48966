# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compare every number that the commands give in this tree with those of another tree, to the bit.

    python benchmarks/unchanged.py OTHER_CHECKOUT

For changes that must not change results. Arrays of models, JSON and the messages of bags are
compared; seconds that a command took and the versions of files are not. The status is 1 where
something differs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent

PROGRAM = 'import sys; from two_manifold_ros.__main__ import main; sys.exit(main())'

METHODS = {
    'route': [],
    'spectral': ['--method', 'spectral'],
    'tpsr': ['--method', 'tpsr'],
    'paper': ['--method', 'paper'],
    'mkdr': ['--method', 'spectral', '--kernel', 'gaussian', '--readout', 'mkdr'],
    'ridge': ['--method', 'spectral', '--observation', 'ridge', '--coupling', 'canonical'],
}

COMMANDS: dict[str, list[str]] = {
    'drive': ['simulate', '-o', 'drive', '--laps', '8', '--json'],
    'other': ['simulate', '-o', 'other', '--laps', '5', '--seed', '1', '--json'],
    'inspect': ['inspect', 'drive', 'other', '--json'],
    **{name: ['train', 'drive', '-o', f'{name}.model', '--json', *options]
       for name, options in METHODS.items()},
    **{f'evaluate-{name}': ['evaluate', f'{name}.model', 'other', '--json'] for name in METHODS},
    **{f'replay-{name}': ['replay', f'{name}.model', 'other', '-o', f'{name}.bag', '--json']
       for name in METHODS},
    'info': ['info', 'route.model', '--json'],
    'online': ['evaluate', 'other', '--online', '--json'],
    'compare': ['compare', 'drive', '--json'],
    'reproduce': ['reproduce', 'all', '--quick', '-o', 'reproduced', '--json'],
}  # fmt: skip


def main() -> int:
    """Run all commands in both trees and print what differs."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    other = Path(sys.argv[1]).resolve()
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        sides = {tree: Path(folder, side) for tree, side in ((other, 'other'), (HERE, 'here'))}
        for name, command in COMMANDS.items():
            results = [_run(tree, side, name, command) for tree, side in sides.items()]
            differences = _differences(name, *results)
            print(f'{name}: {"the same" if not differences else "DIFFERENT"}', flush=True)
            for line in differences[:20]:
                print(f'    {line}')
            different += bool(differences)
    return min(different, 1)


def _run(tree: Path, side: Path, name: str, command: list[str]) -> dict[str, Any]:
    side.mkdir(exist_ok=True)
    environment = {
        **os.environ, 'PYTHONPATH': str(tree), 'OPENBLAS_NUM_THREADS': '1', 'COLUMNS': '100',
        'XDG_CACHE_HOME': str(side / 'cache'),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, *command],
        cwd=side, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: dict[str, Any] = {'status': done.returncode}
    if done.returncode and name != 'reproduce':  # where a claim may fail on less data
        sys.exit(f'{tree}: {name} ended with {done.returncode}: {done.stderr.strip()}')
    try:
        found['printed'] = json.loads(done.stdout)
    except ValueError:
        found['printed'] = done.stdout + done.stderr
    output = side / (command[command.index('-o') + 1] if '-o' in command else 'none')
    if output.suffix == '.model' and output.exists():
        with np.load(output) as arrays:
            found['arrays'] = {key: arrays[key] for key in arrays.files if key != 'header'}
    elif name.startswith(('replay', 'drive', 'other')) and output.exists():
        found['messages'] = list(_messages(output))
    return found


def _messages(bag: Path) -> list[tuple[str, int, bytes]]:
    from rosbags.rosbag2 import Reader  # noqa: PLC0415

    with Reader(bag) as reader:
        return [(each.topic, stamp, bytes(data)) for each, stamp, data in reader.messages()]


def _differences(where: str, old: object, new: object) -> list[str]:
    if re.search(r'seconds_per_tick|(train_seconds|version|experiments\[\d+\]\.seconds)$', where):
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        lines = [f'{where}.{key}: on one side only' for key in old.keys() ^ new.keys()]
        for key in old.keys() & new.keys():
            lines += _differences(f'{where}.{key}', old[key], new[key])
        return sorted(lines)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            line
            for i, (a, b) in enumerate(zip(old, new, strict=True))
            for line in _differences(f'{where}[{i}]', a, b)
        ]
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        same = old.dtype == new.dtype and old.shape == new.shape and old.tobytes() == new.tobytes()
        return [] if same else [f'{where}: {old.dtype}{old.shape}, {new.dtype}{new.shape}']
    same = type(old) is type(new) and (old == new or repr(old) == repr(new))
    return [] if same else [f'{where}: {str(old)[:100]} | {str(new)[:100]}']


if __name__ == '__main__':
    sys.exit(main())
