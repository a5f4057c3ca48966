# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The locks hold exactly what setup.py asks for, by version and hash, and nothing of a machine."""

from pathlib import Path
import re

import pytest

requirements = pytest.importorskip('packaging.requirements')
utils = pytest.importorskip('packaging.utils')

PYTHONS = ('3.11', '3.12', '3.13', '3.14')
USUAL = ('build', 'runtime', 'tools', 'docs')
COMPILED = {'numpy', 'scipy', 'numba', 'llvmlite'}


def locked(path: Path) -> dict[str, str]:
    """Return the versions that a lock pins, by normalised name."""
    versions = {}
    for line in path.read_text().replace('\\\n', ' ').splitlines():
        if line.startswith('#'):
            continue
        assert re.search(r'--hash=sha256:[0-9a-f]{64}', line), line
        parsed = requirements.Requirement(line.split(' --hash')[0])
        (pin,) = parsed.specifier
        assert pin.operator == '=='
        versions[utils.canonicalize_name(parsed.name)] = pin.version
    return versions


@pytest.mark.parametrize(
    ('lock', 'extras'),
    [
        ('runtime', ['ros', 'train']),
        ('tools', ['test', 'dev']),
        ('docs', ['docs']),
        *((f'oldest-{python}', []) for python in PYTHONS),
    ],
)
def test_a_lock_satisfies_what_setup_py_asks_for(checkout, setup_arguments, lock, extras):
    versions = locked(checkout / 'requirements' / f'{lock}.txt')
    asked = [name for extra in extras for name in setup_arguments['extras_require'][extra]]
    if lock not in {'tools', 'docs'}:
        asked += setup_arguments['install_requires']
    for requirement in map(requirements.Requirement, asked):
        version = versions[utils.canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement


def test_locks_agree_with_each_other_and_name_no_index(checkout):
    seen: dict[str, str] = {}
    oldest = [f'oldest-{python}' for python in PYTHONS]
    paths = [checkout / 'requirements' / f'{name}.txt' for name in (*USUAL, *oldest)]
    assert {*(checkout / 'requirements').glob('*.txt')} == {*paths}
    for path in paths:
        assert not re.search(r'://|--(extra-)?index-url|--find-links|--trusted', path.read_text())
        versions = locked(path)
        other = {name for name, version in versions.items() if seen.get(name, version) != version}
        assert other == (set() if path.stem in USUAL else COMPILED)
        seen = versions | seen
