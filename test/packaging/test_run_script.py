# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decisions of `run`, with a stand-in for Python that only notes its calls."""

from pathlib import Path
import platform
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ('Linux', 'x86_64'),
    reason='run refuses this platform',
)

# Says yes to everything, makes environments out of itself, and shows the demo's surroundings.
PYTHON = """#!/bin/sh
echo "$*" >>"$NOTES"
case $* in
"-c import ensurepip") exit "${NO_ENSUREPIP:-0}" ;;
*version_info*) exit "${TOO_OLD:-0}" ;;
"-m ruff"*) exit "${BAD_STYLE:-0}" ;;
"-m pytest"*) exit "${FAILING:-0}" ;;
"-m pip"*)
    [ "$*" != "-m pip check" ] || exit "${BROKEN:-0}"
    echo 'Collecting one==1.0 (from -r requirements/build.txt (line 1))'
    echo '  Downloading one.whl.metadata (1 kB)'
    echo '  Downloading one.whl (1 MB)'
    echo 'Using cached two.whl (1 MB)'
    echo 'Installing collected packages: one, two'
    ;;
"-m venv "*) shift $(($# - 1)) && mkdir -p "$1/bin" && cp "$0" "$1/bin/python" ;;
--version) echo "Python ${VERSION:-3.11.2}" ;;
"-m two_manifold_ros.demo"*) pwd && env ;;
esac
"""
INSTALLED = ['build', 'runtime', 'source']


class Machine:
    """A checkout with spaces in its path, a Python stand-in, and the notes that it takes."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.checkout = folder / 'a checkout'
        self.checkout.mkdir()
        for name in ('setup.py', 'setup.cfg', 'pyproject.toml', 'package.xml', 'run'):
            shutil.copy(checkout / name, self.checkout)
        for name in ('resource', 'requirements'):
            shutil.copytree(checkout / name, self.checkout / name)
        for name in ('launch', 'config', 'two_manifold_ros'):
            (self.checkout / name).mkdir()
            (self.checkout / name / 'file.py').write_text('')
        self.elsewhere, self.notes = folder / 'else where', folder / 'notes'
        self.elsewhere.mkdir()
        python = folder / 'a python'
        python.write_text(PYTHON)
        python.chmod(0o755)
        self.begun = {'PATH': '/usr/bin:/bin', 'LC_ALL': 'C', 'PYTHON': str(python)}
        self.begun['NOTES'] = str(self.notes)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Call run from another folder; only what it asks of Python this time is noted."""
        self.notes.write_text('')
        return subprocess.run(
            [self.checkout / 'run', *arguments],
            cwd=self.elsewhere, env=self.begun | variables,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def steps(self) -> list[str]:
        """Return what was done, in order: environments made and things installed."""
        said = re.findall(
            r'-m venv|-r requirements/[\w.-]+(?=\.txt)|pip install.*source', self.notes.read_text()
        )
        return [re.split(r'[ /]', step)[-1] for step in said]

    def asked(self) -> list[str]:
        """Return what Python was asked to do, in order."""
        return self.notes.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path, checkout: Path) -> Machine:
    return Machine(tmp_path, checkout)


def test_help_and_an_unknown_verb_name_the_verbs(machine):
    for arguments, status in (((), 0), (('help',), 0), (('--help',), 0), (('fly',), 2)):
        done = machine.run(*arguments)
        assert done.returncode == status
        verbs = re.findall(r'^  ([\w-]+)  ', done.stderr if status else done.stdout, re.MULTILINE)
        known = 'demo test oldest system lint format docs faults bench check-readme'
        assert verbs == known.split()


def test_demo_installs_whole_locks_and_runs_in_the_callers_folder_with_clean_surroundings(machine):
    leaks = (
        'AMENT_PREFIX_PATH', 'LD_LIBRARY_PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONPATH',
        'RMW_IMPLEMENTATION', 'ROS_DISTRO', '_ROS_WHEELS_BOOTSTRAP_COMPLETE',
    )  # fmt: skip
    given = dict.fromkeys(leaks, 'leaked') | {'TWO_MANIFOLD_VENV': 'an environment'}
    said = machine.run('demo', '--out', 'a b', **given).stdout
    environment = machine.elsewhere / 'an environment'
    assert (environment / 'bin' / 'python').is_file()
    assert not (machine.checkout / '.venv').exists()
    assert {str(machine.elsewhere), f'AMENT_PREFIX_PATH={environment}'} <= {*said.splitlines()}
    assert '=leaked' not in said
    assert machine.asked()[-1] == '-m two_manifold_ros.demo --out a b'
    # Otherwise pip would fetch a newer release that a locked package asks for.
    for line in ('Making an environment', 'Installing requirements/runtime.txt', '2 packages'):
        assert line in said
    assert machine.steps() == ['venv', *INSTALLED]
    for line in machine.asked():
        if '-r requirements/' in line:
            assert {'--no-deps', '--require-hashes', '--no-build-isolation'} <= {*line.split()}


@pytest.mark.parametrize(
    ('changed', 'variables', 'steps'),
    [
        ('else', {}, []),
        ('two_manifold_ros/file.py', {}, ['source']),
        ('requirements/runtime.txt', {}, ['runtime']),
        ('else', {'VERSION': '3.12.1'}, ['venv', *INSTALLED]),
        ('moved', {}, ['venv', *INSTALLED]),
    ],
)
def test_a_second_call_does_what_changed_and_no_more(machine, changed, variables, steps):
    machine.run('demo')
    with (machine.checkout / changed).open('a') as file:
        file.write('# changed\n')
    if changed == 'moved':
        machine.checkout = machine.checkout.rename(machine.checkout.with_name(changed))
    assert machine.run('demo', **variables).returncode == 0
    assert machine.steps() == steps
    assert ('-m pip check' in machine.asked()) == ('runtime' in steps)


@pytest.mark.parametrize(
    ('arguments', 'variables', 'status', 'pytests'),
    [
        (['test'], {'FAILING': '3'}, 3, 1),
        (['oldest'], {'FAILING': '1'}, 1, 1),
        (['test'], {'BAD_STYLE': '1'}, 1, 0),
    ],
)
def test_the_first_failure_is_what_it_ends_with(machine, arguments, variables, status, pytests):
    assert machine.run(*arguments, **variables).returncode == status
    assert machine.notes.read_text().count('-m pytest') == pytests


@pytest.mark.parametrize(
    ('variables', 'said'),
    [
        ({'TOO_OLD': '1', 'VERSION': '3.9.1'}, 'Python 3.9.1 does not do; set PYTHON to'),
        ({'NO_ENSUREPIP': '1'}, 'apt install python3-venv'),
        ({'PYTHON': 'no-such-python'}, 'there is no no-such-python; install Python 3.11'),
        ({'BROKEN': '1'}, 'do not go with each other'),
        ({'PATH': '{elsewhere}:/usr/bin:/bin'}, 'on riscv64; install ROS 2 with apt and build'),
        ({'TWO_MANIFOLD_VENV': '{elsewhere}'}, 'was not made by this script'),
    ],
)
def test_what_cannot_be_is_refused_by_name(machine, variables, said):
    uname = machine.elsewhere / 'uname'
    uname.write_text('#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo riscv64\n')
    uname.chmod(0o755)
    given = {name: value.format(elsewhere=machine.elsewhere) for name, value in variables.items()}
    done = machine.run('demo', **given)
    assert done.returncode == 2
    assert said in done.stderr
    assert machine.run('demo').returncode == 0
