# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A small demo on a machine that is too busy: the filter node stands still in the middle."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import signal
import subprocess
import sys
from threading import Timer

from two_manifold_ros import demo
from two_manifold_ros.nodes import bag_session

STALL_S = 4.0
"""
At eight times real time, all samples that are left: many more than the node has answers waiting.

With best effort the middleware loses samples here; after 1.5 s it does so on a busy machine.
"""


def main() -> None:
    """Run it in the folder that is named on the command line."""
    demo.LAPS, demo.TEST_LAPS_S, demo.SPEED = 6, 12.0, 8.0
    start, play = demo.filter_node, bag_session.play_and_record

    @contextmanager
    def stalled(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        with start(folder) as process:
            stalls: list[float] = []

            def stall(share: float) -> None:
                if share > 0.5 and not stalls:
                    stalls.append(share)
                    process.send_signal(signal.SIGSTOP)
                    Timer(STALL_S, process.send_signal, (signal.SIGCONT,)).start()
                    sys.stdout.write('the node stalls\n')

            bag_session.play_and_record = lambda *given: play(*given[:-1], stall)
            yield process

    demo.filter_node = stalled
    demo.run_tour(sys.argv[1])


if __name__ == '__main__':
    main()
