# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Kill a writer of checkpoints at random moments and resume, ten times over.

A program of its own, because it forks, and a process with threads should not. Prints for each
round the last number that was reported as written, the newest in the folder, those in its arrays,
and how many files are half written.
"""

from __future__ import annotations

from functools import partial
import os
from pathlib import Path
import signal
import sys
import time

import numpy as np

from two_manifold_ros.adapting.checkpoints import NumberedFiles
from two_manifold_ros.model.container import read_container, write_container

ROUNDS = 10


def write(folder: Path, report: int) -> None:
    """Go on from the newest checkpoint, for ever."""
    files = NumberedFiles(folder, 'car', 'checkpoint')
    files.lock()
    number = read_container(files.paths()[-1])[0]['number'] if files.paths() else 0
    while True:
        number += 1
        header = {'number': number}
        arrays = {'large': np.full(60_000, float(number)), 'small': np.array([number])}
        files.write(partial(write_container, header=header, arrays=arrays, what='checkpoint'))
        os.write(report, number.to_bytes(4, 'big'))


def main() -> None:
    """Play the rounds in the folder that is given."""
    folder = Path(sys.argv[1])
    rng = np.random.default_rng(0)
    for _ in range(ROUNDS):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            write(folder, writer)
        os.close(writer)
        reported = os.read(reader, 4)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while more := os.read(reader, 4):
            reported = more
        half = [path for path in folder.iterdir() if path.name.count('.') > 2]
        newest = NumberedFiles(folder, 'car', 'checkpoint').paths()[-1]
        header, arrays = read_container(newest)
        read = {int(value) for array in arrays.values() for value in np.unique(array)}
        line = f'{int.from_bytes(reported, "big")} {header["number"]} {read} {len(half)}\n'
        sys.stdout.write(line)


if __name__ == '__main__':
    main()
