# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run a program on a terminal of some width, as a person sees it."""

from collections.abc import Sequence
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

ESCAPES = re.compile(r'\x1b\[[0-9;?]*[A-Za-z]')


def seen_on(command: Sequence[str], columns: int = 80, rows: int = 24) -> tuple[str, int]:
    """Return what a program writes to a terminal, without colours, and its exit status."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack('4H', rows, columns, 0, 0))
    environment = {**os.environ, 'TERM': 'xterm-256color'}
    for name in ('COLUMNS', 'LINES', 'NO_COLOR', 'FORCE_COLOR'):
        environment.pop(name, None)
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=environment
    )
    os.close(follower)
    written = b''
    while True:
        try:
            part = os.read(leader, 65536)
        # What a terminal reports once nobody writes to it any more.
        except OSError:
            break
        if not part:
            break
        written += part
    os.close(leader)
    text = ESCAPES.sub('', written.decode())
    return text.replace('\r\n', '\n'), process.wait()


def longest(text: str) -> int:
    """Return the columns that the longest line takes; one that is written over counts once."""
    return max(len(part) for line in text.splitlines() for part in line.split('\r'))
