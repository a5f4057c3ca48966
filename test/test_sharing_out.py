# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tests are shared out between processes by files, and what is named for it is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from sharing_out import FIRST, rank, share_of, TOGETHER

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize('name', sorted({*FIRST, *TOGETHER}))
def test_what_is_named_is_there(name: str) -> None:
    assert (CHECKOUT / name).exists()
    assert name.endswith(('/', '.py'))


def test_a_file_stays_in_one_process() -> None:
    assert share_of('test/ticks/test_jumps.py::test_one[a::b]') == 'test/ticks/test_jumps.py'


def test_folders_stay_in_one_process_and_the_longest_start() -> None:
    names = [f'test/faults/test_{part}_faults.py::test_one' for part in ('input', 'machine')]
    assert len({share_of(name) for name in names}) == 1
    assert [rank(f'{name}::test_one') for name in FIRST] == list(range(len(FIRST)))
    assert rank('test/ticks/test_jumps.py::test_one') == len(FIRST)
