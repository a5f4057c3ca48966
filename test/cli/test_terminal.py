# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands write fits a terminal of 80 columns, as a person sees it."""

from contextlib import suppress
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

pytest.importorskip('rosbags')

SEVERAL = (
    'import json, sys; from two_manifold_ros.__main__ import main; '
    'sys.exit(sum(main(each) for each in json.loads(sys.argv[1])))'
)
"""Commands one after the other, with one start of Python."""


def seen(*commands: str) -> str:
    """Return what commands that succeed write to one terminal, without colours."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack('4H', 24, 80, 0, 0))
    environment = os.environ | {'TERM': 'xterm-256color'}
    for name in ('COLUMNS', 'LINES', 'NO_COLOR', 'FORCE_COLOR'):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, '-c', SEVERAL, json.dumps([each.split() for each in commands])],
        stdin=follower, stdout=follower, stderr=follower, env=environment,
    )  # fmt: skip
    os.close(follower)
    written = b''
    # A terminal to which nobody writes any more reports an error.
    with suppress(OSError):
        while part := os.read(leader, 65536):
            written += part
    os.close(leader)
    text = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', written.decode()).replace('\r\n', '\n')
    assert process.wait() == 0, text
    return text


@pytest.mark.slow
def test_reports_and_tables_fit_eighty_columns(slot_car_bag, model_file, tmp_path):
    bag = f'{slot_car_bag}'
    said = seen(
        '',
        f'simulate -o {tmp_path / "laps"} --laps 2 --rate 20',
        f'inspect {bag}',
        f'train {bag} -o {tmp_path / "model.npz"} --force --rate 10',
        f'info {model_file}',
        f'evaluate {model_file} {bag}',
        f'learn {bag} --learner map --until 25',
        f'replay {model_file} {bag} -o {tmp_path / "predictions"}',
        f'compare {bag} --methods mean,previous,default',
        'reproduce --list',
    )
    # Only a path is longer, and stays whole; a line that is written over counts once.
    lines = [line for line in said.splitlines() if str(tmp_path) not in line]
    assert max(len(part) for line in lines for part in line.split('\r')) <= 80
    for words in ('is a bag good enough', 'channel', 'previous:', 'visualization_msgs', 'ahead'):
        assert words in said
