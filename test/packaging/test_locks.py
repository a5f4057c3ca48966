# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The locks hold exactly what setup.py asks for, by version and hash, and nothing of a machine."""

from importlib import metadata
from pathlib import Path
import re

import pytest

requirements = pytest.importorskip('packaging.requirements')
utils = pytest.importorskip('packaging.utils')

PYTHONS = ('3.11', '3.12', '3.13', '3.14')
USUAL = ('build', 'runtime', 'tools', 'docs')
COMPILED = {'numpy', 'scipy', 'numba', 'llvmlite'}

# What apt has: Debian 12, and Ubuntu 24.04 with ROS 2 Jazzy.
APT = (
    ('3.11', 'numpy', '1.24.2'),
    ('3.11', 'scipy', '1.10.1'),
    ('3.12', 'numpy', '1.26.4'),
    ('3.12', 'scipy', '1.11.4'),
)


def locked(path: Path, python: str | None = None) -> dict[str, str]:
    """Return the versions that a lock pins, for a Python or for any, by normalised name."""
    versions = {}
    for line in path.read_text().replace('\\\n', ' ').splitlines():
        if line.startswith('#'):
            continue
        assert re.search(r'--hash=sha256:[0-9a-f]{64}', line), line
        parsed = requirements.Requirement(line.split(' --hash')[0])
        (pin,) = parsed.specifier
        assert pin.operator == '=='
        if (
            python is None
            or not parsed.marker
            or parsed.marker.evaluate({'python_version': python})
        ):
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


def unmet(versions: dict[str, str], python: str) -> list[str]:
    """Return what members ask for that is no member, by what is installed here of each."""
    asked: dict[str, set[str]] = {name: {''} for name in versions}
    complaints, left = [], list(versions)
    while left:
        name = left.pop()
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for needed in map(requirements.Requirement, lines):
            given = {'python_version': python, 'python_full_version': f'{python}.1'}
            wanted = needed.marker is None or any(
                needed.marker.evaluate({**given, 'extra': extra}) for extra in asked[name]
            )
            other = utils.canonicalize_name(needed.name)
            if not wanted:
                continue
            if other not in versions:
                complaints.append(f'{name} asks for {needed}')
            elif needed.extras - asked[other]:
                asked[other] |= needed.extras
                left.append(other)
    return complaints


@pytest.mark.parametrize('python', PYTHONS)
def test_each_lock_is_closed(checkout, python):
    """Nothing is resolved at an installation, so every requirement has to be a member."""
    folder = checkout / 'requirements'
    runtime = locked(folder / 'runtime.txt', python) | locked(folder / 'build.txt', python)
    tools = locked(folder / 'tools.txt', python)
    assert len(runtime) > 50
    assert unmet(runtime, python) == []
    assert unmet(runtime | tools, python) == []
    assert unmet(runtime | locked(folder / 'docs.txt', python), python) == []
    assert unmet(locked(folder / f'oldest-{python}.txt', python), python) == []
