# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The program in the documentation does what is said there."""

from pathlib import Path
import re

import pytest

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'learning_online.md'


def test_the_program_learns_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r'```python\n(.*?)```', PAGE.read_text(), flags=re.DOTALL)
    exec(compile(program, str(PAGE), 'exec'), {})  # noqa: S102 - it is our own page
    found = re.fullmatch(
        r'1479 samples, error one tick ahead (0\.\d\d)\n', capsys.readouterr().out
    )
    assert found is not None
    assert float(found[1]) <= 0.12
