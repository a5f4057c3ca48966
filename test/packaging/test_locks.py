# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The locks hold exactly what setup.py asks for, by version and hash, and nothing of a machine."""

from pathlib import Path
import re
from typing import Any

import pytest

requirements = pytest.importorskip('packaging.requirements')
utils = pytest.importorskip('packaging.utils')

# What apt has: Debian 12, and Ubuntu 24.04 with ROS 2 Jazzy.
APT = (
    ('3.11', 'numpy', '1.24.2'),
    ('3.11', 'scipy', '1.10.1'),
    ('3.12', 'numpy', '1.26.4'),
    ('3.12', 'scipy', '1.11.4'),
)


def locked(path: Path) -> dict[str, str]:
    """Return the versions that a lock pins, by normalised name."""
    text = path.read_text().replace('\\\n', ' ')
    versions = {}
    for line in (line for line in text.splitlines() if not line.startswith('#')):
        assert re.search(r'--hash=sha256:[0-9a-f]{64}', line), line
        parsed = requirements.Requirement(line.split(' --hash')[0])
        (pin,) = parsed.specifier
        assert pin.operator == '=='
        versions[utils.canonicalize_name(parsed.name)] = pin.version
    return versions


@pytest.mark.parametrize(
    ('lock', 'extras'), [('runtime', ['ros', 'train']), ('tools', ['test', 'dev'])]
)
def test_lock_satisfies_the_extras(
    checkout: Path, setup_arguments: dict[str, Any], lock: str, extras: list[str]
) -> None:
    versions = locked(checkout / 'requirements' / f'{lock}.txt')
    asked = [name for extra in extras for name in setup_arguments['extras_require'][extra]]
    for requirement in map(requirements.Requirement, asked):
        version = versions[utils.canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement


def test_the_plain_install_is_locked(checkout: Path, setup_arguments: dict[str, Any]) -> None:
    versions = locked(checkout / 'requirements' / 'runtime.txt')
    for requirement in map(requirements.Requirement, setup_arguments['install_requires']):
        assert requirement.specifier.contains(versions[requirement.name]), requirement


def test_locks_agree_with_each_other(checkout: Path) -> None:
    seen: dict[str, str] = {}
    paths = sorted((checkout / 'requirements').glob('*.txt'))
    usual = [path for path in paths if not path.stem.startswith('oldest-')]
    assert [path.stem for path in usual] == ['build', 'runtime', 'tools']
    for path in usual:
        for name, version in locked(path).items():
            assert seen.setdefault(name, version) == version, name
    for path in set(paths) - set(usual):
        other = {name for name, version in locked(path).items() if seen[name] != version}
        assert other == {'numpy', 'scipy'}, path


def test_the_oldest_are_locked_for_every_python_that_run_takes(checkout: Path) -> None:
    bounds = re.search(
        r'\(3, (\d+)\) <= sys.version_info < \(3, (\d+)\)', (checkout / 'run').read_text()
    )
    assert bounds is not None
    names = {f'oldest-3.{minor}.txt' for minor in range(int(bounds[1]), int(bounds[2]))}
    assert {path.name for path in (checkout / 'requirements').glob('oldest-*')} == names


def test_the_oldest_are_allowed_and_no_newer_than_those_of_robots(
    checkout: Path, setup_arguments: dict[str, Any]
) -> None:
    found = {
        path.stem.removeprefix('oldest-'): locked(path)
        for path in (checkout / 'requirements').glob('oldest-*.txt')
    }
    # numba would ask for a newer NumPy.
    needed = set(setup_arguments['install_requires']) - {'numba'}
    for versions in found.values():
        assert 'numba' not in versions
        for requirement in map(requirements.Requirement, needed):
            assert requirement.specifier.contains(versions[requirement.name]), requirement
    for python, library, version in APT:
        lock = found[python]
        assert requirements.Requirement(f'{library}<={version}').specifier.contains(lock[library])


def test_locks_name_no_index(checkout: Path) -> None:
    for path in (checkout / 'requirements').glob('*.txt'):
        assert not re.search(r'://|--(extra-)?index-url|--find-links|--trusted', path.read_text())


def test_ros_is_exactly_pinned_for_its_platform(setup_arguments: dict[str, Any]) -> None:
    for text in setup_arguments['extras_require']['ros']:
        requirement = requirements.Requirement(text)
        assert requirement.name.startswith('ros-jazzy-')
        assert [pin.operator for pin in requirement.specifier] == ['==']
        elsewhere = {'sys_platform': 'linux', 'platform_machine': 'aarch64'}
        assert not requirement.marker.evaluate(elsewhere)
