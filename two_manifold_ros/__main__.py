# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The command ``two-manifold``, also as ``python -m two_manifold_ros``: choose a sub-command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import os
import re
from signal import SIGINT, SIGPIPE
import sys
from types import SimpleNamespace
from typing import Any, NoReturn

from two_manifold_ros import __version__
from two_manifold_ros.errors import BAD_INPUT, did_you_mean, in_words, InputError
from two_manifold_ros.processes import one_blas_thread, Stopping
from two_manifold_ros.progress import on_stderr
from two_manifold_ros.sources import public

DESCRIPTION = 'Estimate and predict the position of a vehicle on a route from its IMU.'

# Each is a module of cli/ with HELP, add_arguments(parser) and run(args) -> int, or one of several
# of a module, with NAME_HELP, add_NAME and run_NAME. Only the module of the chosen command is
# imported, so help is quick and a missing extra hurts no other. An example, and words, go with it.
# The first ones, in this order, make a model, and the next ones need one.
COMMANDS = {
    'simulate': ('simulate', '-o my_bag --laps 55', 'write a simulated bag'),
    'import': ('simulate', 'drive.vbo -o my_bag', 'convert logger files'),
    'inspect': ('looking', 'my_bag', 'is a bag good enough?'),
    'train': ('train', 'my_bag -o model.npz --until 300', 'learn a model'),
    'evaluate': ('evaluate', 'model.npz my_bag --from 300', 'score a model'),
    'info': ('looking', 'model.npz', 'show what a model is'),
    'view': ('view', 'model.npz my_bag', 'show it in a browser'),
    'laps': ('running', 'model.npz my_bag', 'lap and sector times'),
    'vehicle': ('running', 'model.npz its_bag -o its.json', 'measure another IMU'),
    'replay': ('running', 'model.npz my_bag -o predictions', 'write the node topics'),
    'status': ('status', '', 'watch running nodes'),
    'place': ('status', '1.5 2.0', 'tell a node where it is'),
    'learn': ('evaluate', 'my_bag', 'learn while driving'),
    'atlas': ('fleet', 'add oval.npz yard.npz -o both.npz', 'one model, two routes'),
    'merge': ('fleet', 'learned1 learned2 -o both.npz', 'two robots, one route'),
    'compare': ('compare', 'my_bag', 'compare methods'),
    'reproduce': ('reproduce', '--list', 'experiments of papers'),
    'compile': ('simulate', '', 'compile all loops now'),
}


def overview() -> str:
    """Return the way through the commands, which fits a terminal of 80 columns and 24 lines."""
    shown = [
        DESCRIPTION,
        'In this order (two-manifold COMMAND --help has all options of a command):',
    ]
    for name, (_, example, words) in COMMANDS.items():
        shown.append(f'  {f"two-manifold {name} {example}":53} {words}')
    return '\n'.join(shown)


SIGNALLED = 128
"""Exit status with the number of a signal added, as POSIX shells have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0 on success, 2 on bad input, 128 and its number for a signal."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    # Before the chosen command's module imports NumPy.
    one_blas_thread()
    with Stopping() as stop:
        return _status(arguments)
    return SIGNALLED + (stop.signal or SIGINT)


def _status(arguments: list[str]) -> int:
    try:
        status = _run(arguments)
        # A closed pipe has to show here, not in the interpreter's last flush.
        sys.stdout.flush()
    except BrokenPipeError:
        # Or the interpreter would complain when it flushes what could not be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SIGNALLED + SIGPIPE
    except ModuleNotFoundError as error:
        module = (error.name or '').partition('.')[0]
        if module == 'two_manifold_ros':
            raise
        package = {'sklearn': 'scikit-learn'}.get(module, module)
        status = BAD_INPUT
        words = (
            f'this command needs the Python package {package!r}: install it with pip install '
            f"{package}, or all that commands need with pip install '.[train]' in the checkout."
        )
    except (InputError, OSError) as error:
        status = error.status if isinstance(error, InputError) else BAD_INPUT
        words = _hidden(str(in_words(error)), arguments)
    else:
        return status
    on_stderr(f'two-manifold: error: {words}')
    return status


def _hidden(message: str, arguments: list[str]) -> str:
    """Return a message without what `public` hides of the addresses that were given."""
    for given in arguments:
        # An address may stand behind an option, or behind a name.
        for each in (given, given.partition('=')[2]):
            shown = public(each)
            if each != shown:
                message = message.replace(each, shown)
                # Whoever took it for a path, or for a setting, names a part of it.
                for part in re.split('[/@?;#&=:]+', each):
                    if len(part) > _SHORT and part not in shown:
                        message = message.replace(part, '***')
    return message


_SHORT = 3
"""Characters of a part of an address that is no secret, as it may be in any other word."""


def _run(arguments: list[str]) -> int:
    if not arguments:
        # Who asks for nothing asks for the way, as of ros2 and pip: that is no bad input.
        print(overview())
        return 0
    try:
        parser = make_parser(arguments)
        parsed, unknown = parser.parse_known_args(arguments)
        if unknown:
            # The parser of the command, whose help lists the options that there are.
            parser = getattr(parsed, 'parser', parser)
            options = parser._option_string_actions  # noqa: SLF001 - argparse lists them nowhere else
            shown = (public(each) + did_you_mean(each, options) for each in unknown)
            parser.error(f'unrecognized arguments: {" ".join(shown)}')
    except SystemExit as stop:
        return int(stop.code or 0)
    status: int = parsed.run(parsed)
    return status


class _Help(argparse.HelpFormatter):
    """Help whose usage has what is required alone; the options are listed below it in groups."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any = None) -> None:  # noqa: ANN401 - as argparse has it
        """Add the usage."""
        needed = [each for each in actions if each.required or not each.option_strings]
        super().add_usage(usage, needed, groups, prefix)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line, like that about any other bad input."""

    def error(self, message: str) -> NoReturn:
        if wrong := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            message += did_you_mean(wrong[1], re.findall(r"[^\s',]+", wrong[2]))
        raise InputError(f'{message}; see {self.prog} --help')


def make_parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, of which the first argument alone gets its options."""
    parser = _Parser(prog='two-manifold', description=DESCRIPTION)
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    commands = parser.add_subparsers(metavar='COMMAND', required=True)
    for name, (_, _, words) in COMMANDS.items():
        command = commands.add_parser(name, help=words, formatter_class=_Help)
        if arguments[:1] == [name]:
            offered = command_named(name)
            command.description = offered.HELP
            offered.add_arguments(command)
            command.set_defaults(run=offered.run, parser=command)
    return parser


def command_named(name: str) -> Any:  # noqa: ANN401 - a module, or a part of one
    """Return what offers a command: HELP, add_arguments and run."""
    module = import_module(f'two_manifold_ros.cli.{COMMANDS[name][0]}')
    if not hasattr(module, f'run_{name}'):
        return module
    parts = {'HELP': f'{name.upper()}_HELP', 'add_arguments': f'add_{name}', 'run': f'run_{name}'}
    return SimpleNamespace(**{part: getattr(module, own) for part, own in parts.items()})


if __name__ == '__main__':
    raise SystemExit(main())
