# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every experiment is found by name, passes in small, and has a page with its picture."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.registry import ALL, EXPERIMENTS, experiments_named

DOCS = Path(__file__).resolve().parents[2] / 'docs'
CLAIMS = {
    'swiss-rolls': 7,
    'linear-iv': 7,
    'slot-car': 8,
    'nlica-square': 5,
    'nlica-sphere': 2,
    'slow-manifold': 2,
    'mkdr-torus': 6,
    'mkdr-sphere': 3,
    'mkdr-images': 3,
    'rr-hmm': 5,
    'slot-car-online': 4,
    'video': 7,
}

every_name = pytest.mark.parametrize('name', [each.name for each in EXPERIMENTS])


@every_name
def test_the_quick_form_passes(name: str, tmp_path: Path) -> None:
    for package in ('matplotlib', 'sklearn', 'hmmlearn'):
        pytest.importorskip(package)
    (experiment,) = experiments_named(name)
    shares: list[float] = []
    claims = experiment.run(tmp_path, lambda _, share: shares.append(share), quick=True)
    assert [claim.what for claim in claims if not claim.passed] == []
    assert len(claims) == CLAIMS[name]
    assert (tmp_path / experiment.picture).read_bytes().startswith(b'\x89PNG')
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] <= 1.0


def test_by_name_and_all() -> None:
    assert all(len(each.shows) < 90 and each.shows.endswith('.') for each in EXPERIMENTS)
    assert experiments_named(ALL) == EXPERIMENTS
    assert [each.name for each in experiments_named('video')] == ['video']
    with pytest.raises(
        InputError, match=f'no experiment vidoe; choose from {EXPERIMENTS[0].name}, '
    ):
        experiments_named('vidoe')


def test_listing_imports_no_experiment() -> None:
    code = (
        'import sys; from two_manifold_ros.cli.main import main; '
        'main(["reproduce", "--list"]); print(*sys.modules)'
    )
    output = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    ).stdout
    assert all(each.name in output and each.shows in output for each in EXPERIMENTS)
    assert 'two_manifold_ros.experiments.registry' in output.split()
    assert 'numpy' not in output.split()


@every_name
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
