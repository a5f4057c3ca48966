# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From Enter to the answer, and memory: commands and the filter node, compiled code kept and not.

Run `./run bench start`. Each command runs as a whole process, cold (with an empty cache of
compiled code) and warm, and is set beside the start of Python with NumPy and SciPy, measured in
the same run. The recording `f1tenth_ipz10` is taken where it lies beside the checkout, or else a
simulated drive of the same length.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
import os
from pathlib import Path
import signal
import subprocess
import sys
from tempfile import TemporaryDirectory
import threading
import time

from runner import resident_mb
from tables import table

CHECKOUT = Path(__file__).resolve().parents[1]
RECORDING = CHECKOUT.parent / 'shared' / 'recordings' / 'f1tenth_ipz10'
MAIN = ['-m', 'two_manifold_ros']
IMPORT = 'import numpy, scipy.linalg'
READY = 'Subscribes '
"""What the filter node says as soon as it takes samples."""
PATIENCE_S = 120.0
LONG_LAPS = 250
"""Of the simulated slot car: some 140,000 samples."""
TARGETS = {
    ('train', 'cold'): '10 s',
    ('train', 'warm'): '3 s',
    ('train long', 'warm'): '120 s, 1000 MB',
    ('evaluate', 'cold'): '6 s',
    ('evaluate', 'warm'): '2.5 s',
    ('filter_node', 'cold'): '8 s',
    ('filter_node', 'warm'): '2 s, 189 MB',
}
"""What is to be reached on two idle cores; memory is the peak of a command, and what a node
without subscribers has after ten seconds."""


def run_s_mb(arguments: list[str], cache: Path) -> tuple[float, float]:
    """Return the seconds and the peak memory of a process that must succeed."""
    begin = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments],
        env=environment(cache), cwd=CHECKOUT, stdout=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f'{arguments} ended with {process.returncode}')
    return time.perf_counter() - begin, used.ru_maxrss * 1024 / 1e6


def environment(cache: Path) -> dict[str, str]:
    return {
        **os.environ,
        'TWO_MANIFOLD_CACHE': str(cache),
        'OPENBLAS_NUM_THREADS': '1',
        'PYTHONUNBUFFERED': '1',
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'ROS_DOMAIN_ID': '93',
    }


def node_s_mb(model: Path, cache: Path) -> tuple[float, float]:
    """Return the seconds until the filter node takes samples, and its memory ten seconds later."""
    command = [sys.executable, '-m', 'two_manifold_ros.nodes', 'filter_node']
    begin = time.perf_counter()
    with subprocess.Popen(
        [*command, '--ros-args', '-p', f'model:={model}'],
        env=environment(cache), cwd=CHECKOUT, stderr=subprocess.STDOUT, stdout=subprocess.PIPE,
        text=True,
    ) as node:  # fmt: skip
        assert node.stdout is not None  # noqa: S101 - asked for above
        guard = threading.Timer(PATIENCE_S, node.kill)
        guard.start()
        seconds, said = float('nan'), []
        for line in node.stdout:
            said.append(line)
            if READY in line:
                seconds = time.perf_counter() - begin
                break
        else:
            sys.exit(''.join(said))
        time.sleep(10.0)
        memory_mb = resident_mb(node.pid)
        node.send_signal(signal.SIGINT)
        node.wait()
        guard.cancel()
    return seconds, memory_mb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--runs', type=int, default=3, help='of each; the quickest counts')
    runs = range(parser.parse_args().runs)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        model, recording, long = (place / each for each in ('model.npz', 'bag', 'long'))
        for path, laps in ((recording, 10), (long, LONG_LAPS)):
            run_s_mb([*MAIN, 'simulate', '-o', f'{path}', '--laps', f'{laps}'], place / 'filled')
        recording = RECORDING if RECORDING.is_dir() else recording
        arguments = {
            'train': [*MAIN, 'train', str(recording), '-o', str(model)],
            'evaluate': [*MAIN, 'evaluate', str(model), str(recording)],
            'train long': [*MAIN, 'train', str(long), '-o', str(place / 'long.npz')],
        }
        unit_s = min(run_s_mb(['-c', IMPORT], place)[0] for _ in runs)
        print(f'python -c "{IMPORT}": {unit_s:.2f} s; {recording.name}, quickest of {len(runs)}')
        rows = []
        for (name, kind), target in TARGETS.items():
            if name == 'filter_node' and find_spec('rclpy') is None:
                continue
            found = []
            for index in runs if name != 'train long' else runs[:1]:
                cache = place / (f'{name}{index}' if kind == 'cold' else f'{name.split()[0]}0')
                measured = arguments.get(name)
                found.append(run_s_mb(measured, cache) if measured else node_s_mb(model, cache))
            seconds, memory = min(found)
            numbers = (f'{seconds:.2f}', f'{seconds / unit_s:.1f}', f'{memory:.0f}')
            rows.append([name, kind, *numbers, target])
    print(table('process, cache, s, x that, MB, to reach', rows))


if __name__ == '__main__':
    main()
