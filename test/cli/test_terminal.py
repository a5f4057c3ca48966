# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands write fits a terminal of 80 columns, as a person sees it."""

import json
import sys

import pytest
from terminal import longest, seen_on

pytest.importorskip('rosbags')

SEVERAL = (
    'import json, sys; from two_manifold_ros.__main__ import main; '
    'sys.exit(sum(main(each) for each in json.loads(sys.argv[1])))'
)
"""Commands one after the other, with one start of Python."""


def seen(*commands: str, columns: int = 80) -> str:
    """Return what commands that succeed write to one terminal."""
    arguments = json.dumps([each.split() for each in commands])
    text, status = seen_on([sys.executable, '-c', SEVERAL, arguments], columns)
    assert status == 0, text
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
        f'evaluate --online {bag} --learners map --until 25',
        f'replay {model_file} {bag} -o {tmp_path / "predictions"}',
        f'compare {bag} --methods mean,previous,default',
        'reproduce --list',
    )
    # Only a path is longer, and stays whole.
    lines = [line for line in said.splitlines() if str(tmp_path) not in line]
    assert longest('\n'.join(lines)) <= 80
    for words in (
        'is it good enough',
        'channel',
        'previous:',
        'visualization_msgs',
    ):
        assert words in said
    assert 'RMSE in metres so many ticks ahead' in said
