# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands write fits a terminal of 80 columns."""

import re
import sys

import pytest

pytest.importorskip('rosbags')


@pytest.mark.slow
def test_reports_and_tables_fit_eighty_columns(
    slot_car_bag, model_file, tmp_path, command, monkeypatch
):
    monkeypatch.setenv('COLUMNS', '80')
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, 'isatty', lambda: True)
    bag, said = f'{slot_car_bag}', ''
    for line in (
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
    ):
        said += ''.join(command(*line.split()))
    # Without colours. Only a path is longer, and stays whole.
    lines = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', said).splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    for words in ('is a bag good enough', 'channel', 'previous:', 'visualization_msgs', 'ahead'):
        assert words in said
