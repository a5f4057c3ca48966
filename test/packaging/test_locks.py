# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The locks hold exactly what setup.py asks for, by version and hash, and nothing of a machine."""

from pathlib import Path
import re
from typing import Any

import pytest

requirements = pytest.importorskip('packaging.requirements')
utils = pytest.importorskip('packaging.utils')


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
    assert set(setup_arguments['install_requires']) <= set(versions)


def test_locks_agree_with_each_other(checkout: Path) -> None:
    seen: dict[str, str] = {}
    paths = sorted((checkout / 'requirements').glob('*.txt'))
    assert [path.stem for path in paths] == ['build', 'runtime', 'tools']
    for path in paths:
        for name, version in locked(path).items():
            assert seen.setdefault(name, version) == version, name


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
