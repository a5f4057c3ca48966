# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page about the estimators: its program does what is said there, and what it names exists."""

from __future__ import annotations

import inspect
from pathlib import Path
import re

import pytest

pytest.importorskip('sklearn')

from two_manifold_ros import estimators
from two_manifold_ros.hse_hmm.two_manifold import COUPLINGS

PAGE = Path(__file__).resolve().parents[1] / 'docs' / 'estimators.md'


def test_the_program_unrolls_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r'```python\n(.*?)```', PAGE.read_text(), flags=re.DOTALL)
    exec(compile(program, str(PAGE), 'exec'), {})  # noqa: S102 - it is our own page
    found = re.fullmatch(
        r'one manifold: R2 (0\.\d\d)\ntwo manifolds: R2 (0\.\d\d)\n', capsys.readouterr().out
    )
    assert found is not None
    assert float(found[1]) == pytest.approx(0.68, abs=0.05)
    assert float(found[2]) == pytest.approx(0.96, abs=0.01)


def test_estimators_and_couplings_are_those_of_the_page() -> None:
    text = PAGE.read_text()
    rows = re.findall(r'^\| `(\w+)\((.*?)\)`', text, flags=re.MULTILINE)
    assert len(rows) == 5
    for name, parameters in rows:
        found = getattr(estimators, name)
        named = re.sub('=', '', parameters).split(', ')
        assert named == list(inspect.signature(found).parameters)
    assert tuple(re.findall(r'^\| `([\w-]+)` \|', text, flags=re.MULTILINE))[1:] == COUPLINGS
