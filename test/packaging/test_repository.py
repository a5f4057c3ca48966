# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules for every file of the repository, the linters that ``colcon test`` expects among them."""

from pathlib import Path
import re
import subprocess

import pytest

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
    """All text files under version control, by name."""
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
