# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node as a process of its own."""

from __future__ import annotations

from contextlib import contextmanager
import signal
import subprocess
import sys
from time import sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDING_TIMEOUT_S = 10.0


@contextmanager
def filter_node(model: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """
    Start the node on a model, its log in a file, and end it as Ctrl-C does.

    It is handed out once it has said something, which it does when it is configured: compiling
    takes as long as the machine is busy.
    """
    command = [sys.executable, '-m', 'two_manifold_ros.nodes.filter_node']
    command += ['--ros-args', '-p', f'model:={model}']
    with log.open('wb') as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and not log.stat().st_size:
                sleep(0.1)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(ENDING_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
