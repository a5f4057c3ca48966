# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From Enter to the answer: commands and the filter node, compiled code kept and not.

Run `./run bench start`. Each command runs as a whole process, cold (with an empty cache of
compiled code) and warm, and is set beside the start of Python with NumPy and SciPy, measured in
the same run. The recording `f1tenth_ipz10` is taken where it lies beside the checkout, or else a
simulated drive of the same length.
"""

from __future__ import annotations

import argparse
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
MAIN = 'import sys; from two_manifold_ros.__main__ import main; sys.exit(main(sys.argv[1:]))'
IMPORT = 'import numpy, scipy.linalg'
READY = 'Subscribes '
"""What the filter node says as soon as it takes samples."""
PATIENCE_S = 120.0
TARGETS = {
    ('train', 'cold'): 10.0,
    ('train', 'warm'): 3.0,
    ('evaluate', 'cold'): 6.0,
    ('evaluate', 'warm'): 2.5,
    ('filter_node', 'cold'): 8.0,
    ('filter_node', 'warm'): 2.0,
}
"""Seconds to reach on two idle cores."""
MEMORY_TARGET_MB = 180.0


def run_s(arguments: list[str], cache: Path) -> float:
    """Return the seconds of a process that must succeed."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(cache), cwd=CHECKOUT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - begin


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


def has_ros() -> bool:
    done = subprocess.run([sys.executable, '-c', 'import rclpy'], capture_output=True, check=False)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--runs', type=int, default=3, help='of each; the quickest counts')
    runs = range(parser.parse_args().runs)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        model, recording = place / 'model.npz', RECORDING
        if not recording.is_dir():
            recording = place / 'bag'
            run_s(['-c', MAIN, 'simulate', '-o', str(recording), '--laps', '10'], place / 'filled')
        arguments = {
            'train': ['-c', MAIN, 'train', str(recording), '-o', str(model)],
            'evaluate': ['-c', MAIN, 'evaluate', str(model), str(recording)],
        }
        unit_s = min(run_s(['-c', IMPORT], place) for _ in runs)
        print(f'python -c "{IMPORT}": {unit_s:.2f} s; {recording.name}, quickest of {len(runs)}')
        rows, memory = [], float('nan')
        for (name, kind), target in TARGETS.items():
            if name == 'filter_node' and not has_ros():
                continue
            times = []
            for index in runs:
                cache = place / (f'{name}{index}' if kind == 'cold' else f'{name}0')
                if name == 'filter_node':
                    seconds, memory = node_s_mb(model, cache)
                else:
                    seconds = run_s(arguments[name], cache)
                times.append(seconds)
            least = min(times)
            rows.append([name, kind, f'{least:.2f}', f'{least / unit_s:.1f}', f'{target:.1f}'])
    print(table('process, cache, s, x that, to reach (s)', rows))
    print(
        f'filter_node without subscribers, warm: {memory:.0f} MB, to reach {MEMORY_TARGET_MB:.0f}'
    )


if __name__ == '__main__':
    main()
