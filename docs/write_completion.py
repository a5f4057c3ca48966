# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a script beside the pages that it writes
"""
Make the completion of shells from the parsers of the commands, for `write_pages.py`.

Static scripts complete at once, wherever they are, and need nothing on a robot. A library that
asks the command itself, such as argcomplete, takes as long for each key as the command's help.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import re
from textwrap import shorten
from typing import Any, NamedTuple

from two_manifold_ros.__main__ import COMMANDS, make_parser
from two_manifold_ros.experiments.experiment import ALL, EXPERIMENTS

FOLDER = Path(__file__).resolve().parents[1] / 'resource' / 'completion'
HEADER = """\
# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# Written by docs/write_pages.py from the commands: ./run format.
"""
NAMES = (ALL, *(each.name for each in EXPERIMENTS))
"""What stands for the first argument of `reproduce`, which may be a word of no choices."""

MOST_WORDS = 60
"""Characters of a description beside an option."""


class Option(NamedTuple):
    """An option, or the arguments of a command where it has no names."""

    names: tuple[str, ...]
    what: str
    value: str
    """Name of the value, empty of a switch."""
    words: tuple[str, ...]
    kind: str
    """``file``, ``folder``, or empty of a value that nothing completes."""
    repeats: bool
    """Whether all that follow are values as well."""


def options_of(command: str) -> list[Option]:
    """Return the options of a command, arguments last."""
    subparsers: Any = next(
        each
        for each in make_parser([command])._actions  # noqa: SLF001 - argparse has no other way
        if isinstance(each, argparse._SubParsersAction)  # noqa: SLF001
    )
    actions = subparsers.choices[command]._actions  # noqa: SLF001
    found = [_option(command, each) for each in actions]
    return sorted(found, key=lambda each: not each.names)


def _option(command: str, action: argparse.Action) -> Option:
    shown = str(action.metavar or action.dest).upper()
    # T[:FIELD,...] is a T; a colon would end the name for zsh.
    value = '' if action.nargs == 0 else re.sub(r'[^\w,.].*', '', shown)
    words = tuple(map(str, action.choices or ()))
    if (command, action.dest) == ('reproduce', 'name'):
        words = NAMES
    kind = ''
    if value.startswith(('BAG', 'FILE', 'MODEL')):
        kind = 'file'
    elif value.startswith('FOLDER'):
        kind = 'folder'
    names, repeats = tuple(action.option_strings), action.nargs in {'*', '+'}
    return Option(names, _described(action.help or ''), value, words, kind, repeats)


def _described(words: str) -> str:
    """Return the first words, without what shells would take for their own."""
    first = re.split(r'[;:(]', words.replace("'", '\u2019'))[0]
    plain = re.sub(r'[^\w ,.+/\u2019-]', '', first)
    return shorten(plain, MOST_WORDS, placeholder='')


def bash(commands: dict[str, list[Option]]) -> str:
    """Return the script for bash."""
    lines = []
    for command, options in commands.items():
        names = ' '.join(name for each in options for name in each.names)
        own = [each for each in options if not each.names]
        words = ' '.join(word for each in own for word in each.words)
        kind = next((each.kind for each in own if each.kind), '')
        lines.append(f"    {command}) options='{names}' words='{words}' kind={kind} ;;")
    values = []
    for command, options in commands.items():
        # Those that are completed alike, such as all numbers, share a line.
        alike: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for each in options:
            if each.names and each.value:
                alike.setdefault((each.words, each.kind), []).extend(each.names)
        for (choices, kind), taking in alike.items():
            pattern = ' | '.join(f'{command}:{name}' for name in taking)
            values.append(f"    {pattern}) options= words='{' '.join(choices)}' kind={kind} ;;")
    return f"""{HEADER}# shellcheck shell=bash
_two_manifold() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    local options='-h --help' words='{' '.join(commands)}' kind=
    # Bash takes the sign in --option=value for a word of its own.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    ((COMP_CWORD == 1)) || case ${{COMP_WORDS[1]}} in
{chr(10).join(lines)}
    *) words= ;;
    esac
    case ${{COMP_WORDS[1]}}:$previous in
{chr(10).join(values)}
    esac
    [[ $current == -* ]] && words=$options kind=
    mapfile -t COMPREPLY < <(
        compgen -W "$words" -- "$current"
        case $kind in
        file) compgen -f -- "$current" ;;
        folder) compgen -d -- "$current" ;;
        esac
    )
    # Ends names of folders with a slash, and quotes blanks in names.
    [[ -z $kind ]] || compopt -o filenames
}}
complete -F _two_manifold two-manifold
"""


def zsh(commands: dict[str, list[Option]]) -> str:
    """Return the script for zsh."""
    described = '\n'.join(f"        '{name}:{_described(COMMANDS[name])}'" for name in commands)
    cases = []
    for command, options in commands.items():
        specs = [spec for each in options for spec in _zsh_specs(each)]
        arguments = ' \\\n'.join(f"            '{spec}'" for spec in specs)
        cases.append(f'    {command})\n        _arguments -S : \\\n{arguments}\n        ;;')
    return f"""#compdef two-manifold
{HEADER}_two-manifold() {{
    local -a commands
    commands=(
{described}
    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    shift words
    ((CURRENT--))
    case $words[1] in
{chr(10).join(cases)}
    esac
}}
# Found in $fpath it is the function's body; sourced it only names the function.
if [[ ${{funcstack[1]-}} == _two-manifold ]]; then
    _two-manifold "$@"
else
    compdef _two-manifold two-manifold
fi
"""


def _zsh_specs(option: Option) -> list[str]:
    action = {'file': '_files', 'folder': '_files -/', '': ' '}[option.kind]
    if option.words:
        action = f'({" ".join(option.words)})'
    if not option.names:
        return [f'{"*" if option.repeats else ""}:{option.value}:{action}']
    value = f':{option.value}:{action}' if option.value else ''
    others = f'({" ".join(option.names)})'
    return [f'{others}{name}[{option.what}]{value}' for name in option.names]


def fish(commands: dict[str, list[Option]]) -> str:
    """Return the script for fish."""
    lines = ['complete -c two-manifold -f']
    for name in commands:
        what = _described(COMMANDS[name])
        lines.append(f"complete -c two-manifold -n __fish_use_subcommand -a {name} -d '{what}'")
    for command, options in commands.items():
        of = f"complete -c two-manifold -n '__fish_seen_subcommand_from {command}'"
        for each in options:
            shown = ' '.join(
                f'-l {name[2:]}' if name.startswith('--') else f'-s {name[1:]}'
                for name in each.names
            )
            parts = [of, *([shown] if shown else [])]
            if each.value:
                if each.words:
                    parts.append(f"{'-x ' if each.names else ''}-a '{' '.join(each.words)}'")
                elif each.kind == 'folder':
                    parts.append("-x -a '(__fish_complete_directories)'")
                elif each.kind:
                    parts.append('-r -F' if each.names else '-F')
                elif each.names:
                    parts.append('-x')
                else:
                    continue
            if each.names:
                parts.append(f"-d '{each.what}'")
            lines.append(' '.join(parts))
    return HEADER + '\n'.join(lines) + '\n'


def scripts() -> dict[Path, str]:
    """Return the script of each shell, by the file that an installation takes."""
    commands = {name: options_of(name) for name in COMMANDS}
    return {
        FOLDER / 'bash' / 'two-manifold': bash(commands),
        FOLDER / 'zsh' / '_two-manifold': zsh(commands),
        FOLDER / 'fish' / 'two-manifold.fish': fish(commands),
    }
