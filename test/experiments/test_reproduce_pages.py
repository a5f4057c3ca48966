# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every experiment has a page with its command and picture, and no page is without experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from two_manifold_ros.experiments.registry import EXPERIMENTS

DOCS = Path(__file__).resolve().parents[2] / 'docs'


@pytest.mark.parametrize('name', [each.name for each in EXPERIMENTS])
def test_every_experiment_has_a_page_with_its_command_and_picture(name: str) -> None:
    page = (DOCS / 'reproduce' / f'{name}.md').read_text(encoding='utf-8')
    assert page.startswith(f'# {name}\n\n    two-manifold reproduce {name}')
    assert f'](../images/reproduce/{name}.png)' in page
    assert (DOCS / 'images' / 'reproduce' / f'{name}.png').is_file()


def test_the_index_names_all_in_order_and_no_other() -> None:
    names = [each.name for each in EXPERIMENTS]
    index = (DOCS / 'reproduce.md').read_text(encoding='utf-8')
    rows = [line.split(']')[0] for line in index.splitlines() if line.startswith('| [')]
    assert rows == [f'| [{name}' for name in names]
    for folder, suffix in (('reproduce', '.md'), ('images/reproduce', '.png')):
        files = (DOCS / folder).iterdir()
        assert sorted(path.name for path in files) == sorted(f'{name}{suffix}' for name in names)
