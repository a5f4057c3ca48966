# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""package.xml, setup.py, the sources and the locks say the same."""

import ast
from collections.abc import Iterator
from pathlib import Path
import re
import sys
from typing import Any, TypeAlias

import pytest

import two_manifold_ros

Manifest: TypeAlias = Any  # of catkin_pkg, which may be missing

# Names under which rosdep or pip knows what Python imports under another name.
OTHER_NAMES = {name: f'python3-{name}' for name in ('numba', 'numpy', 'scipy', 'yaml')}
OTHER_NAMES['sklearn'] = 'scikit-learn'
# Always there where rclpy or numba is; and a folder of Python itself from 3.14 on.
GIVEN = {'builtin_interfaces', 'rosidl_runtime_py', 'llvmlite', 'compression'}


@pytest.fixture
def manifest(checkout: Path) -> Manifest:
    catkin_pkg = pytest.importorskip('catkin_pkg.package')
    warnings: list[str] = []
    package = catkin_pkg.parse_package(str(checkout / 'package.xml'), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    return package


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the packages that sources import, but for what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split('.')[0]
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING'):
            yield from imported(node)


def sources(folders: list[Path]) -> str:
    return '\n'.join(path.read_text() for folder in folders for path in folder.rglob('*.py'))


def test_package_xml_agrees_with_setup_py(manifest, setup_arguments, checkout):
    said = [setup_arguments[key] for key in ('name', 'version', 'description', 'license')]
    assert said == [manifest.name, manifest.version, manifest.description, *manifest.licenses]
    (maintainer,) = manifest.maintainers
    said = [setup_arguments[key] for key in ('maintainer', 'maintainer_email')]
    assert said == [maintainer.name, maintainer.email]
    assert two_manifold_ros.__version__ == manifest.version
    changes = (checkout / 'CHANGELOG.rst').read_text()
    assert re.findall(r'^(\d+\.\d+\.\d+) \(', changes, re.MULTILINE)[0] == manifest.version
    citation = (checkout / 'CITATION.cff').read_text()
    assert re.findall(r'^version: "?([\d.]+)', citation, re.MULTILINE) == [manifest.version]
    # All name the same oldest versions.
    asked = re.findall(r'(\w+)>=([\d.]+)', ' '.join(setup_arguments['install_requires']))
    assert [name for name, _ in asked] == ['numpy', 'scipy']
    depends = {(each.name, each.version_gte) for each in manifest.exec_depends if each.version_gte}
    assert depends == {(OTHER_NAMES[name], version) for name, version in asked}
    for page in ('README.md', 'CONTRIBUTING.md'):
        text = (checkout / page).read_text().lower()
        named = re.findall(r'\b(numpy|scipy) (\d[\d.]*\d) or newer', text)
        assert set(named) == set(asked), page


def test_package_xml_names_what_is_imported_and_no_more(checkout, manifest, setup_arguments):
    declared = {dependency.name for dependency in manifest.exec_depends}
    # Offline work only: rosdep has no key for a package that comes from pip alone.
    extras = setup_arguments['extras_require']
    offline = [*extras['train'], *extras['fleet'], *extras['remote'], *extras['xrk']]
    offline = {re.split(r'[^\w-]', requirement)[0] for requirement in offline}
    text = sources([checkout / 'two_manifold_ros', checkout / 'launch'])
    used = {*imported(ast.parse(text))} - GIVEN - sys.stdlib_module_names - {'two_manifold_ros'}
    assert {OTHER_NAMES.get(name, name) for name in used} <= declared | offline
    words = set(re.findall(r'\w+', text))
    # The launch files' own commands; what only tests use is a test_depend.
    used = {OTHER_NAMES.get(word, word) for word in words} | {'ros2bag', 'ros2launch'}
    assert declared <= used
    # The packages of messages are named too. Recordings may hold, and read by their own
    # means, what no node needs.
    folders = [checkout / 'two_manifold_ros' / name for name in ('nodes', 'interface')]
    named = set(re.findall(r'(\w+)/(?:msg|srv)/\w', sources(folders)))
    assert 'sensor_msgs' in named
    assert named <= declared


def test_locks_satisfy_setup_py_agree_with_each_other_and_name_no_index(checkout, setup_arguments):
    requirements = pytest.importorskip('packaging.requirements')
    utils = pytest.importorskip('packaging.utils')
    oldest = [f'oldest-{python}' for python in ('3.11', '3.12', '3.13', '3.14')]
    locks = {'build': [], 'runtime': ['ros', 'train'], 'tools': ['test', 'dev'], 'docs': ['docs']}
    locks |= {name: [] for name in oldest}
    assert {each.stem for each in (checkout / 'requirements').glob('*.txt')} == {*locks}
    seen: dict[str, str] = {}
    for lock, extras in locks.items():
        text = (checkout / 'requirements' / f'{lock}.txt').read_text()
        assert not re.search(r'://|--(extra-)?index-url|--find-links|--trusted', text)
        versions = {}
        for line in text.replace('\\\n', ' ').splitlines():
            if line.startswith('#'):
                continue
            assert re.search(r'--hash=sha256:[0-9a-f]{64}', line), line
            parsed = requirements.Requirement(line.split(' --hash')[0])
            (pin,) = parsed.specifier
            assert pin.operator == '=='
            versions[utils.canonicalize_name(parsed.name)] = pin.version
        other = {name for name, version in versions.items() if seen.get(name, version) != version}
        assert other == ({'numpy', 'scipy', 'numba', 'llvmlite'} if lock in oldest else set())
        seen = versions | seen
        asked = [name for extra in extras for name in setup_arguments['extras_require'][extra]]
        if lock in {'runtime', *oldest}:
            asked += setup_arguments['install_requires']
        for requirement in map(requirements.Requirement, asked):
            version = versions[utils.canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), requirement
