# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands write fits a terminal of 80 columns, as a person sees it."""

import re

import pytest

pytest.importorskip('rosbags')


@pytest.mark.slow
def test_reports_and_tables_fit_eighty_columns(
    slot_car_bag, model_file, tmp_path, command, monkeypatch
):
    for name in ('stdout', 'stderr'):
        monkeypatch.setattr(f'sys.{name}.isatty', lambda: True)
    for name, value in (('COLUMNS', '80'), ('LINES', '24'), ('TERM', 'xterm-256color')):
        monkeypatch.setenv(name, value)
    said = ''
    for line in (
        '',
        f'simulate -o {tmp_path / "laps"} --laps 2 --rate 20',
        f'inspect {slot_car_bag}',
        f'train {slot_car_bag} -o {tmp_path / "model.npz"} --force --rate 10',
        f'info {model_file}',
        f'evaluate {model_file} {slot_car_bag}',
        f'learn {slot_car_bag} --learner map --until 25',
        f'replay {model_file} {slot_car_bag} -o {tmp_path / "predictions"}',
        f'compare {slot_car_bag} --methods mean,previous,default',
        'reproduce --list',
    ):
        said += ''.join(command(*line.split()))
    said = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', said)
    # Only a path is longer, and stays whole; a line that is written over counts once.
    lines = [line for line in said.splitlines() if str(tmp_path) not in line]
    assert max(len(part) for line in lines for part in line.split('\r')) <= 80
    for words in ('is a bag good enough', 'channel', 'previous:', 'visualization_msgs', 'ahead'):
        assert words in said
