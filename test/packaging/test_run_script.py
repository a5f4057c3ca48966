# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decisions of `run`, with a stand-in for Python that only notes its calls."""

import os
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
    [ -z "${NO_NETWORK-}" ] || { echo 'ERROR: no such host' >&2 && exit 1; }
    echo '  Downloading one.whl (1 MB)'
    echo 'Using cached two.whl (1 MB)'
    echo 'Installing collected packages: one, two'
    ;;
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
--version) echo "Python ${VERSION:-3.11.2}" ;;
"-m two_manifold_ros.demo"*) pwd && env ;;
esac
"""
BEGUN = {'PATH': '/usr/bin:/bin', 'LC_ALL': 'C'}


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
        self.elsewhere = folder / 'else where'
        self.elsewhere.mkdir()
        self.python = folder / 'a python'
        self.python.write_text(PYTHON)
        self.python.chmod(0o755)
        self.notes = folder / 'notes'

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Call run from another folder; only what it asks of Python this time is noted."""
        self.notes.write_text('')
        given = {**BEGUN, 'PYTHON': str(self.python), 'NOTES': str(self.notes), **variables}
        return subprocess.run(
            [self.checkout / 'run', *arguments],
            cwd=self.elsewhere,
            env=given,
            capture_output=True,
            text=True,
            check=False,
        )

    def steps(self) -> list[str]:
        """Return what was done, in order: environments made and things installed."""
        said = re.findall(
            r'-m venv|-r requirements/[\w.-]+(?=\.txt)|pip install.*source', self.notes.read_text()
        )
        return [re.split(r'[ /]', step)[-1] for step in said]


@pytest.fixture
def machine(tmp_path: Path, checkout: Path) -> Machine:
    return Machine(tmp_path, checkout)


def test_help_names_the_verbs(machine: Machine) -> None:
    for arguments in ([], ['help'], ['--help']):
        done = machine.run(*arguments)
        assert done.returncode == 0
        verbs = re.findall(r'^  ([\w-]+)  ', done.stdout, re.MULTILINE)
        assert verbs == [
            'demo',
            'test',
            'oldest',
            'lint',
            'format',
            'faults',
            'bench',
            'check-release',
        ]


def test_an_unknown_verb_is_an_error(machine: Machine) -> None:
    done = machine.run('fly')
    assert done.returncode == 2
    assert 'usage' in done.stderr


def test_progress_is_reported_in_words(machine: Machine) -> None:
    said = machine.run('demo').stdout
    for line in ('Making an environment', 'Installing requirements/runtime.txt', '2 packages'):
        assert line in said


def test_second_call_reuses_everything(machine: Machine) -> None:
    assert machine.run('demo').returncode == 0
    assert machine.steps() == ['venv', 'build', 'runtime', 'source']
    assert machine.run('demo').returncode == 0
    assert machine.steps() == []


def test_lint_and_tests_need_the_tools_too(machine: Machine) -> None:
    machine.run('demo')
    assert machine.run('test', '-k', 'one two').returncode == 0
    assert machine.steps() == ['tools']
    asked = machine.notes.read_text().splitlines()
    words = [line.split()[1] for line in asked[-6:]]
    assert words == ['ruff', 'ruff', 'mypy', 'from', '--check', 'pytest']
    assert asked[-1].endswith('-k one two')


def test_faults_and_some_on_the_oldest_libraries_follow_all_tests(machine: Machine) -> None:
    machine.run('demo')
    assert machine.run('test').returncode == 0
    assert machine.steps() == ['tools', 'venv', 'oldest-3.11']
    *_, most, one, other = machine.notes.read_text().splitlines()
    assert most == '-m pytest --timeout 300 -n 2 --dist loadfile --ignore test/faults'
    # At the same time.
    again, faults = sorted((one, other), key=lambda line: line.endswith('test/faults'))
    assert faults == '-m pytest --timeout 300 test/faults'
    assert '-m not long test/ticks' in again
    checkout = Path(__file__).parents[2]
    assert all((checkout / path).exists() for path in again.split() if path.startswith('test/'))
    machine.run('test')
    assert machine.steps() == []


def test_a_failure_among_all_tests_is_what_it_ends_with(machine: Machine) -> None:
    assert machine.run('test', FAILING='3').returncode == 3
    assert machine.notes.read_text().count('-m pytest') == 1


def test_the_oldest_libraries_have_an_environment_of_their_own(machine: Machine) -> None:
    assert machine.run('oldest', '-k', 'one two', VERSION='3.14.0rc1').returncode == 0
    assert machine.steps() == ['venv', 'build', 'runtime', 'source', 'venv', 'oldest-3.14']
    assert (machine.checkout / '.venv' / 'oldest' / 'bin' / 'python').is_file()
    last = machine.notes.read_text().splitlines()[-1]
    assert '-m not long -n 2 --dist loadfile -k one two test/model' in last
    assert machine.run('oldest', FAILING='1', VERSION='3.14.0rc1').returncode == 1
    assert machine.steps() == []


def test_an_interrupted_install_of_the_oldest_is_taken_up_again(machine: Machine) -> None:
    machine.run('test', '-k', 'one')
    done = machine.run('test', NO_NETWORK='1')
    assert done.returncode == 2
    assert 'pip could not install requirements/oldest-3.11.txt' in done.stderr
    assert '-m pytest' not in machine.notes.read_text()
    assert machine.run('test').returncode == 0
    assert machine.steps() == ['oldest-3.11']


def test_the_faults_need_no_lint_and_write_their_page(machine: Machine) -> None:
    machine.run('demo')
    assert machine.run('faults', '-k', 'one two').returncode == 0
    assert machine.steps() == ['tools']
    asked = machine.notes.read_text().splitlines()[-1]
    pages = '--faults-page=docs/faults.md --positions-page=docs/position_faults.md'
    assert asked.endswith(f'{pages} -k one two test/faults test/positions')


def test_no_test_runs_before_lint_is_content(machine: Machine) -> None:
    assert machine.run('test', BAD_STYLE='1').returncode == 1
    assert '-m pytest' not in machine.notes.read_text()


def test_an_edit_installs_the_package_again(machine: Machine) -> None:
    machine.run('demo')
    (machine.checkout / 'two_manifold_ros' / 'file.py').write_text('edited = True')
    machine.run('demo')
    assert machine.steps() == ['source']
    (machine.checkout / 'config' / 'new.yaml').write_text('')
    machine.run('demo')
    assert machine.steps() == ['source']


def test_a_changed_lock_is_installed(machine: Machine) -> None:
    machine.run('demo')
    with (machine.checkout / 'requirements' / 'runtime.txt').open('a') as lock:
        lock.write('# changed\n')
    machine.run('demo')
    assert machine.steps() == ['runtime']


def test_a_moved_checkout_gets_a_new_environment(machine: Machine) -> None:
    machine.run('demo')
    machine.checkout = machine.checkout.rename(machine.checkout.with_name('moved'))
    assert machine.run('demo').returncode == 0
    assert machine.steps() == ['venv', 'build', 'runtime', 'source']


def test_an_upgraded_python_gets_a_new_environment(machine: Machine) -> None:
    machine.run('demo')
    assert machine.run('demo', VERSION='3.12.1').returncode == 0
    assert machine.steps() == ['venv', 'build', 'runtime', 'source']


def test_an_interrupted_install_is_taken_up_again(machine: Machine) -> None:
    done = machine.run('demo', NO_NETWORK='1')
    assert done.returncode == 2
    assert 'ERROR: no such host' in done.stderr
    assert 'It stopped at one==1.0.' in done.stderr
    assert 'pip could not install requirements/build.txt' in done.stderr
    assert machine.run('demo').returncode == 0
    assert machine.steps() == ['build', 'runtime', 'source']


def test_packages_that_do_not_go_with_each_other_are_refused(machine: Machine) -> None:
    done = machine.run('demo', BROKEN='1')
    assert done.returncode == 2
    assert 'do not go with each other' in done.stderr
    assert machine.run('demo').returncode == 0
    assert '-m pip check' in machine.notes.read_text()
    machine.run('demo')
    assert '-m pip check' not in machine.notes.read_text()


def test_demo_runs_in_the_callers_folder_with_clean_surroundings(machine: Machine) -> None:
    leaks = {
        'AMENT_PREFIX_PATH': '/opt/ros/jazzy',
        'LD_LIBRARY_PATH': '/opt/ros/jazzy/lib',
        'PYTHONDONTWRITEBYTECODE': '1',
        'PYTHONPATH': '/opt/ros/jazzy/python',
        'RMW_IMPLEMENTATION': 'rmw_other',
        'ROS_DISTRO': 'jazzy',
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
    }
    done = machine.run('demo', '--out', 'a b', **leaks)
    environment = machine.checkout / '.venv'
    assert str(machine.elsewhere) in done.stdout.splitlines()
    assert f'AMENT_PREFIX_PATH={environment}' in done.stdout.splitlines()
    assert not [name for name in leaks if f'{name}={leaks[name]}' in done.stdout]
    assert 'Leaving the sourced ROS 2 jazzy aside' in done.stdout
    assert machine.notes.read_text().endswith('-m two_manifold_ros.demo --out a b\n')


def test_environment_can_be_elsewhere(machine: Machine) -> None:
    assert machine.run('demo', TWO_MANIFOLD_VENV='an environment').returncode == 0
    assert (machine.elsewhere / 'an environment' / 'bin' / 'python').is_file()
    assert not (machine.checkout / '.venv').exists()


def test_a_folder_of_another_user_is_left_alone(machine: Machine) -> None:
    (machine.checkout / '.venv').mkdir()
    done = machine.run('demo')
    assert done.returncode == 2
    assert 'was not made by this script' in done.stderr
    assert list((machine.checkout / '.venv').iterdir()) == []


@pytest.mark.parametrize(
    ('variables', 'said'),
    [
        (
            {'TOO_OLD': '1', 'VERSION': '3.9.1'},
            'Python 3.9.1 does not do; set PYTHON to a Python 3.11 to 3.14',
        ),
        ({'NO_ENSUREPIP': '1'}, 'apt install python3-venv'),
        ({'PYTHON': 'no-such-python'}, 'there is no no-such-python; install Python 3.11'),
    ],
)
def test_what_is_missing_is_named(machine: Machine, variables: dict[str, str], said: str) -> None:
    done = machine.run('demo', **variables)
    assert done.returncode == 2
    assert said in done.stderr


def test_another_platform_is_sent_to_apt(machine: Machine, tmp_path: Path) -> None:
    uname = tmp_path / 'bin' / 'uname'
    uname.parent.mkdir()
    uname.write_text('#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo aarch64\n')
    uname.chmod(0o755)
    done = machine.run('demo', PATH=f'{uname.parent}{os.pathsep}{BEGUN["PATH"]}')
    assert done.returncode == 2
    assert 'Linux on aarch64; install ROS 2 with apt and build with colcon' in done.stderr
