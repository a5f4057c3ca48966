# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""package.xml, setup.py and the sources say the same."""

import ast
from pathlib import Path
import re
import sys
from typing import Any, TYPE_CHECKING

import pytest

import two_manifold_ros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catkin_pkg.package import Package

# Names under which rosdep or pip knows what Python imports under another name.
OTHER_NAMES = {
    'numba': 'python3-numba',
    'numpy': 'python3-numpy',
    'scipy': 'python3-scipy',
    'sklearn': 'scikit-learn',
    'yaml': 'python3-yaml',
}
# Always there where rclpy is; and a folder of Python itself from 3.14 on.
GIVEN = {
    'ament_index_python',
    'builtin_interfaces',
    'rosidl_runtime_py',
    'compression',
    'llvmlite',  # comes with numba
}


@pytest.fixture
def manifest(checkout: Path) -> 'Package':
    catkin_pkg = pytest.importorskip('catkin_pkg.package')
    warnings: list[str] = []
    package = catkin_pkg.parse_package(str(checkout / 'package.xml'), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    return package


def running_nodes(tree: ast.AST) -> 'Iterator[ast.AST]':
    """Walk through a tree, leaving out what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING'):
            yield node
            yield from running_nodes(node)


def imported(folders: list[Path]) -> set[str]:
    """Return the packages that the sources import and that are neither Python's nor ours."""
    names: set[str] = set()
    for path in (path for folder in folders for path in folder.rglob('*.py')):
        for node in running_nodes(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name.split('.')[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split('.')[0])
    return names - set(sys.stdlib_module_names) - {'two_manifold_ros'}


def floors(arguments: dict[str, Any]) -> dict[str, str]:
    """Return the oldest versions that will do, by name."""
    return dict(re.findall(r'(\w+)>=([\d.]+)', ' '.join(arguments['install_requires'])))


def test_package_xml_agrees_with_setup_py(
    manifest: 'Package', setup_arguments: dict[str, Any]
) -> None:
    said = [setup_arguments[key] for key in ('name', 'version', 'description', 'license')]
    assert said == [manifest.name, manifest.version, manifest.description, *manifest.licenses]
    (maintainer,) = manifest.maintainers
    assert setup_arguments['maintainer'] == maintainer.name
    assert setup_arguments['maintainer_email'] == maintainer.email


def test_package_xml_asks_for_the_versions_that_setup_py_asks_for(
    manifest: 'Package', setup_arguments: dict[str, Any]
) -> None:
    asked = floors(setup_arguments)
    assert set(asked) == {'numpy', 'scipy'}
    depends = {dependency.name: dependency.version_gte for dependency in manifest.exec_depends}
    versions = {name: version for name, version in depends.items() if version is not None}
    assert versions == {OTHER_NAMES[name]: version for name, version in asked.items()}


@pytest.mark.parametrize('page', ['README.md', 'CONTRIBUTING.md'])
def test_pages_name_the_versions_that_setup_py_asks_for(
    page: str, checkout: Path, setup_arguments: dict[str, Any]
) -> None:
    named = {
        (name.lower(), version)
        for name, version in re.findall(
            r'\b(numpy|scipy) (\d[\d.]*\d) or newer', (checkout / page).read_text(), re.IGNORECASE
        )
    }
    assert named == set(floors(setup_arguments).items())


def test_version_is_the_same_everywhere(checkout: Path, setup_arguments: dict[str, Any]) -> None:
    version = setup_arguments['version']
    assert two_manifold_ros.__version__ == version
    changes = (checkout / 'CHANGELOG.rst').read_text()
    newest = re.search(r'^(\d+\.\d+\.\d+) \(', changes, re.MULTILINE)
    assert newest is not None
    assert newest[1] == version


def test_package_xml_names_what_is_imported(
    checkout: Path, manifest: 'Package', setup_arguments: dict[str, Any]
) -> None:
    declared = {dependency.name for dependency in manifest.exec_depends}
    # Offline work only: rosdep has no key for a package that comes from pip alone.
    offline = setup_arguments['extras_require']['train']
    declared |= {re.split(r'[^\w-]', requirement)[0] for requirement in offline}
    used = imported([checkout / 'two_manifold_ros', checkout / 'launch']) - GIVEN
    assert {OTHER_NAMES.get(name, name) for name in used} <= declared


def test_package_xml_names_the_packages_of_the_messages(
    checkout: Path, manifest: 'Package'
) -> None:
    declared = {dependency.name for dependency in manifest.exec_depends}
    # Recordings may hold, and read by their own means, what no node needs.
    folders = [checkout / 'two_manifold_ros' / name for name in ('nodes', 'outputs', 'demo')]
    texts = [path.read_text() for folder in folders for path in folder.rglob('*.py')]
    named = {name for text in texts for name in re.findall(r'(\w+)/(?:msg|srv)/\w', text)}
    assert named
    assert named <= declared


def test_package_xml_names_nothing_that_is_not_used(checkout: Path, manifest: 'Package') -> None:
    sources = [*checkout.glob('two_manifold_ros/**/*.py'), *checkout.glob('launch/*.py')]
    words = set(re.findall(r'\w+', ' '.join(path.read_text() for path in sources)))
    # The launch files' own commands; what only tests use is a test_depend.
    used = {OTHER_NAMES.get(word, word) for word in words} | {'ros2bag', 'ros2launch'}
    assert {dependency.name for dependency in manifest.exec_depends} <= used


def test_every_folder_with_sources_is_installed(
    checkout: Path, setup_arguments: dict[str, Any]
) -> None:
    sources = (checkout / 'two_manifold_ros').rglob('*.py')
    folders = {path.parent.relative_to(checkout) for path in sources}
    assert {'.'.join(folder.parts) for folder in folders} == set(setup_arguments['packages'])


def test_every_command_has_its_function(checkout: Path, setup_arguments: dict[str, Any]) -> None:
    for command in setup_arguments['entry_points']['console_scripts']:
        module, function = command.split(' = ')[1].split(':')
        path = checkout / (module.replace('.', '/') + '.py')
        assert path.is_file(), command
        body = ast.parse(path.read_text()).body
        assert function in {node.name for node in body if isinstance(node, ast.FunctionDef)}


def test_colcon_finds_pytest(setup_arguments: dict[str, Any]) -> None:
    # Without it colcon test runs nothing and says that all is well.
    assert any(name.startswith('pytest') for name in setup_arguments['extras_require']['test'])


def test_an_install_by_pip_needs_no_ros(setup_arguments: dict[str, Any]) -> None:
    assert not [name for name in setup_arguments['install_requires'] if 'ros' in name]
