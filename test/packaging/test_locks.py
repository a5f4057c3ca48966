# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The locks hold exactly what setup.py asks for, by version and hash, and nothing of a machine."""

import hashlib
from importlib import metadata
import os
from pathlib import Path
import platform
import re
import shutil
import subprocess
import sys
from typing import Any
import zipfile

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
        assert other == {'numpy', 'scipy', 'numba', 'llvmlite'}, path


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
    for versions in found.values():
        for requirement in map(requirements.Requirement, setup_arguments['install_requires']):
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


PYTHONS = ('3.11', '3.12', '3.13', '3.14')


def members(path: Path, python: str) -> dict[str, str]:
    """Return the versions that a lock pins for a Python, by normalised name."""
    found = {}
    for line in path.read_text().replace('\\\n', ' ').splitlines():
        if line and not line.startswith('#'):
            parsed = requirements.Requirement(line.split(' --hash')[0])
            if parsed.marker is None or parsed.marker.evaluate({'python_version': python}):
                (pin,) = parsed.specifier
                found[utils.canonicalize_name(parsed.name)] = pin.version
    return found


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
def test_each_lock_is_closed(checkout: Path, python: str) -> None:
    """Nothing is resolved at an installation, so every requirement has to be a member."""
    folder = checkout / 'requirements'
    runtime = members(folder / 'runtime.txt', python) | members(folder / 'build.txt', python)
    tools = members(folder / 'tools.txt', python)
    assert len(runtime) > 50
    assert unmet(runtime, python) == []
    assert unmet(runtime | tools, python) == []
    assert unmet(members(folder / f'oldest-{python}.txt', python), python) == []


def write_wheel(folder: Path, name: str, version: str, *lines: str) -> str:
    """Write a wheel with nothing but metadata, and return its line of a lock."""
    info = f'{name}-{version}.dist-info'
    head = 'Metadata-Version: 2.1', f'Name: {name}', f'Version: {version}'
    files = {
        'METADATA': '\n'.join([*head, *lines, '']),
        'WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    }
    record = [f'{info}/{file},,' for file in (*files, 'RECORD')]
    path = folder / f'{name}-{version}-py3-none-any.whl'
    with zipfile.ZipFile(path, 'w') as archive:
        for file, text in files.items():
            archive.writestr(f'{info}/{file}', text)
        archive.writestr(f'{info}/RECORD', '\n'.join(record))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f'{name}=={version} --hash=sha256:{digest}\n'


@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ('Linux', 'x86_64'),
    reason='run refuses this platform',
)
def test_a_newer_release_of_a_locked_package_does_no_harm(checkout: Path, tmp_path: Path) -> None:
    """As coverage was once released, whose extra another locked package asks for."""
    wheels, copy = tmp_path / 'wheels', tmp_path / 'checkout'
    for folder in (wheels, copy / 'requirements'):
        folder.mkdir(parents=True)
    for file in ('run', 'setup.py', 'setup.cfg', 'pyproject.toml', 'package.xml'):
        shutil.copy(checkout / file, copy)
    for empty in ('resource', 'launch', 'config', 'two_manifold_ros'):
        (copy / empty).mkdir()
    extra = 'Provides-Extra: toml'
    measuring = write_wheel(wheels, 'measuring', '1.0', extra)
    write_wheel(wheels, 'measuring', '1.1', extra)
    plugin = write_wheel(wheels, 'plugin', '2.0', 'Requires-Dist: measuring[toml]>=1.0')
    (copy / 'requirements' / 'build.txt').write_text(measuring)
    (copy / 'requirements' / 'runtime.txt').write_text(measuring + plugin)
    given = {'PIP_NO_INDEX': '1', 'PIP_FIND_LINKS': str(wheels), 'PYTHON': sys.executable}
    subprocess.run(
        [copy / 'run', 'demo'],
        env={**os.environ, **given, 'TWO_MANIFOLD_VENV': str(copy / '.venv')},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    # There is nothing else in this checkout, so it ends after the locks.
    installed = {path.name for path in (copy / '.venv').rglob('*.dist-info')}
    assert {'measuring-1.0.dist-info', 'plugin-2.0.dist-info'} <= installed
    assert (copy / '.venv' / '.checked').is_file()
