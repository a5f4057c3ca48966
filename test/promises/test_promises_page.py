# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""docs/promises.md: every promise has tests, and every test that it names exists."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / 'docs' / 'promises.md').read_text(encoding='utf-8')
ROWS = re.findall(r'^\| (\d) \| (.+) \| (.+) \|$', PAGE, flags=re.MULTILINE)
NAMED = sorted(set(re.findall(r'`(test/[\w/]+\.py)::(\w+)`', PAGE)))


def test_eight_promises_each_with_tests() -> None:
    assert [number for number, _, _ in ROWS] == [str(number) for number in range(1, 9)]
    assert all('::test_' in tests for _, _, tests in ROWS)


@pytest.mark.parametrize(('file', 'name'), NAMED)
def test_a_named_test_exists(file: str, name: str) -> None:
    assert f'def {name}(' in (CHECKOUT / file).read_text(encoding='utf-8')


def test_every_test_of_a_promise_is_named() -> None:
    for path in Path(__file__).parent.glob('test_*.py'):
        if path != Path(__file__):
            tests = re.findall(r'^def (test_\w+)\(', path.read_text(), flags=re.MULTILINE)
            assert {(f'test/promises/{path.name}', test) for test in tests} <= set(NAMED)
