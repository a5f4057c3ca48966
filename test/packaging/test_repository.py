# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules for every file of the repository; package.xml, setup.py and the locks say the same."""

import ast
from collections.abc import Iterator
from pathlib import Path
import re
import subprocess
import sys
from typing import Any, TypeAlias

import pytest

import two_manifold_ros

HEADER = (
    '# Copyright 2026 The two_manifold_ros developers',
    '# SPDX-License-Identifier: Apache-2.0',
)
# In pieces, or this file would hold what it looks for.
MACHINE_PATHS = re.compile('|'.join(['/' + name for name in ('root/', 'work/', 'opt/pypi')]))

FILE = re.compile(r'(?<![\w/.<>*{}-])[\w-][\w.-]*(?:/[\w.-]+)*\.(?:py|md)\b(?!\w)')
"""The name of a program or a page, with or without its folder, in a page or a program."""

INVENTED = {'benchmarks/bench_NAME.py'}
"""What FILE finds and what is the name of no file: where a name is to be put in."""


@pytest.fixture(scope='module')
def texts(checkout: Path) -> dict[str, str]:
    listing = 'git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'
    try:
        names = subprocess.check_output(listing, cwd=checkout, text=True).split('\0')
    except (OSError, subprocess.CalledProcessError):
        pytest.skip('this is not a git checkout')
    paths = {name: checkout / name for name in names}
    read = {
        name: path.read_bytes()
        for name, path in paths.items()
        if path.is_file() and not path.is_symlink()
    }
    return {name: content.decode() for name, content in read.items() if b'\0' not in content}


def test_every_file_names_its_licence_and_no_machine_and_shell_scripts_can_be_run(texts, checkout):
    home = str(Path.home())
    for name, text in texts.items():
        assert not MACHINE_PATHS.search(text), name
        assert str(checkout) not in text, name
        assert len(home) == 1 or f'{home}/' not in text, name
        is_shell = text.startswith('#!/bin/sh\n')
        if name.endswith('.py') or is_shell:
            assert tuple(text.splitlines()[is_shell : is_shell + 2]) == HEADER, name
        if is_shell:
            subprocess.run(['/bin/sh', '-n', str(checkout / name)], check=True)
            assert (checkout / name).stat().st_mode & 0o111 == 0o111, name


def test_every_link_inside_the_repository_leads_somewhere(texts, checkout):
    links = [
        (name, target)
        for name, text in texts.items()
        for target in re.findall(r'\]\(([^)#]+)', text)
        if name.endswith('.md') and '://' not in target
    ]
    lost = [(name, to) for name, to in links if not (checkout / name).parent.joinpath(to).exists()]
    assert lost == []


def test_files_that_texts_name_exist(texts):
    """Tests may name what is not there; a folder may be left out, as in architecture.md."""
    there = {name.split('/', start)[-1] for name in texts for start in range(name.count('/') + 1)}
    lost = [
        (name, file)
        for name, text in texts.items()
        if not name.startswith(('test/', 'CHANGELOG.rst'))
        for file in set(FILE.findall(text)) - there - INVENTED
    ]
    assert sorted(lost) == []


def test_the_linters_of_colcon_test_find_nothing(checkout):
    """Where ROS 2 has them; ruff says the same elsewhere."""
    flake8 = pytest.importorskip('ament_flake8.main', reason='ament_flake8 is not installed')
    sources = [str(checkout / each) for each in ('two_manifold_ros', 'launch', 'setup.py')]
    tests = [str(checkout / each) for each in ('test', 'benchmarks')]
    config = ['--config', str(checkout / 'setup.cfg')]
    code, errors = flake8.main_with_errors([*config, *sources, *tests])
    assert not code, '\n'.join(errors)
    pep257 = pytest.importorskip('ament_pep257.main', reason='ament_pep257 is not installed')
    # Numpydoc, as ruff checks it; properties are nouns here, and "methods" may be a parameter.
    given = ['--convention', 'numpy', '--add-ignore', 'D105', 'D107', 'D401', 'D405', 'D407']
    given += ['D410', 'D411', 'D402', 'D103', '--']
    assert not pep257.main(given + sources)


Manifest: TypeAlias = Any  # of catkin_pkg, which may be missing

# Names under which rosdep or pip knows what Python imports under another name.
OTHER_NAMES = {name: f'python3-{name}' for name in ('numba', 'numpy', 'scipy', 'yaml')}
OTHER_NAMES |= {'sklearn': 'scikit-learn', 'tf2_ros': 'tf2_ros_py'}
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
