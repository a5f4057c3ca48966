# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Shells complete commands, options, values and files by the scripts that are installed."""

from collections.abc import Callable
from pathlib import Path
import shutil
import subprocess

import pytest

from two_manifold_ros.__main__ import COMMANDS
from two_manifold_ros.names import KERNELS

SCRIPTS = Path(__file__).resolve().parents[2] / 'resource' / 'completion'
Complete = Callable[[str], set[str]]

BASH = r"""
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
# As readline splits the line: the sign of an option with its value is a word of its own.
read -ra COMP_WORDS <<<"${2//=/ = }"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
complete -p two-manifold >/dev/null && _two_manifold two-manifold
printf '%s\n' "${COMPREPLY[@]}"
"""

ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; stty -echo columns 200; cd ${(q)3}; fpath=(${(q)1:h} \$fpath)"
zpty -w z "autoload -Uz compinit; compinit -u -D; LISTMAX=9999"
zpty -w z 'list() { zle list-choices; zle -R; print -n "<e""nd>" }; zle -N list'
zpty -w z 'bindkey "^I" list; print "<rea""dy>"'
zpty -r z said '*<ready>*'
zpty -w -n z "$2"$'\t'
zpty -r z said '*<end>*'
print -r -- $said
zpty -d z
"""
"""Waits for what the shell prints when it is there and when the choices are listed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a bag, a model, and a name with a blank."""
    (tmp_path / 'my_bag').mkdir()
    (tmp_path / 'my_model.npz').touch()
    (tmp_path / 'my best.npz').touch()
    return tmp_path


def run(folder: Path, *command: str) -> str:
    """Return what a shell prints in a folder."""
    if shutil.which(command[0]) is None:
        pytest.skip(f'{command[0]} is not installed')
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    assert not done.stderr
    return done.stdout


def bash(line: str, folder: Path) -> set[str]:
    script = str(SCRIPTS / 'bash' / 'two-manifold')
    said = run(folder, 'bash', '--norc', '-c', BASH, 'bash', script, line)
    return set(said.splitlines()) - {''}


def fish(line: str, folder: Path) -> set[str]:
    script = SCRIPTS / 'fish' / 'two-manifold.fish'
    program = f'source {script}; complete -C "{line}"'
    said = run(folder, 'fish', '--no-config', '-c', program)
    return {each.split('\t')[0].rstrip('/') for each in said.splitlines()}


@pytest.mark.parametrize('complete', [bash, fish])
def test_commands_options_values_and_files(complete, folder):
    assert complete('two-manifold ', folder) >= set(COMMANDS)
    assert complete('two-manifold tr', folder) == {'train'}
    assert {'--output', '--kernel', '--until'} <= complete('two-manifold train --', folder)
    assert complete('two-manifold train my_bag --ker', folder) == {'--kernel'}
    assert complete('two-manifold train --kernel ', folder) == set(KERNELS)
    assert complete('two-manifold train --method sp', folder) == {'spectral'}
    assert complete('two-manifold train --rate ', folder) == set()
    assert complete('two-manifold status --until tr', folder) == {'tracking'}
    assert 'swiss-rolls' in complete('two-manifold reproduce s', folder)
    files = {'my_bag', 'my_model.npz', 'my best.npz'}
    for line in ('inspect my', 'evaluate my_model.npz my', 'train my_bag -o my', 'info my'):
        found = {each.replace('\\ ', ' ') for each in complete(f'two-manifold {line}', folder)}
        assert found == files, line
    assert complete('two-manifold compare my_bag -o my', folder) == {'my_bag'}


def test_bash_completes_a_value_behind_the_sign(folder):
    assert bash('two-manifold train --method=sp', folder) == {'spectral'}
    assert bash('two-manifold train --method=', folder) >= {'route', 'tpsr'}
    assert bash('two-manifold nothing ', folder) == set()


def test_bash_binds_the_command_and_quotes_names_of_files(folder):
    script = SCRIPTS / 'bash' / 'two-manifold'
    bound = run(folder, 'bash', '--norc', '-c', f'. {script}; complete -p two-manifold')
    assert bound == 'complete -F _two_manifold two-manifold\n'


def test_zsh_completes_as_well(folder):
    script = str(SCRIPTS / 'zsh' / '_two-manifold')

    def complete(line: str) -> str:
        return run(folder, 'zsh', '-f', '-c', ZSH, 'zsh', script, line, str(folder))

    said = complete('two-manifold ')
    assert all(name in said for name in COMMANDS)
    assert 'learn a model from recordings' in said
    assert '--kernel' in complete('two-manifold train --')
    assert 'diffusion-map-fokker-planck' in complete('two-manifold train --kernel ')
    said = complete('two-manifold evaluate my_model.npz my')
    assert all(name in said for name in ('my_bag', 'my_model.npz'))


@pytest.mark.parametrize('path', sorted(SCRIPTS.glob('*/*')), ids=lambda path: path.parent.name)
def test_every_command_is_in_every_script(path):
    text = path.read_text()
    assert all(name in text for name in COMMANDS)
