# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exit statuses, what stays out of the way of what, and what fits a terminal."""

import os
import re
import subprocess
import sys
from unittest.mock import Mock

from command_runs import RUN
import pytest

from two_manifold_ros.__main__ import COMMANDS, main, make_parser
from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import EXPERIMENTS


@pytest.mark.parametrize('name', COMMANDS)
def test_every_command_has_json_help_of_eighty_columns_and_an_example(name, command, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    said = command(name, *(['add'] if name == 'atlas' else []), '--help').out
    assert max(map(len, said.splitlines())) <= 80
    # A page has no result to print.
    assert ('--json' in said) == (name != 'view')
    arguments = [name, *COMMANDS[name][1].split()]
    assert callable(make_parser(arguments).parse_args(arguments).run)


@pytest.mark.parametrize(
    ('error', 'status', 'line'),
    [
        (InputError('x is bad: mend it.'), 2, 'two-manifold: error: x is bad: mend it.\n'),
        (PermissionError(13, 'Permission denied', 'x'), 2, 'and look at the permissions\n'),
        (ModuleNotFoundError('no', name='rosbags.rosbag2'), 2, "'.[train]' in the checkout.\n"),
        (KeyboardInterrupt(), 130, ''),
        (ValueError('a bug'), None, ''),
        (ModuleNotFoundError('a bug', name='two_manifold_ros.typo'), None, ''),
    ],
)
def test_errors_become_one_line_and_a_status_but_no_bug(monkeypatch, command, error, status, line):
    run = Mock(side_effect=error)
    monkeypatch.setattr('two_manifold_ros.cli.looking.run_info', run)
    if status is None:
        with pytest.raises(type(error), match='a bug'):
            main(['info', 'model.npz'])
        return
    output = command('info', 'model.npz', status=status).err
    assert output.endswith(line)
    assert output.count('\n') == len(output.splitlines()) == bool(line)


@pytest.mark.parametrize(
    ('arguments', 'hint'),
    [
        ('trian bag', 'train'), ('train bag -o m.npz --untill 300', '--until'),
        ('train bag -o m.npz --kernel guassian', 'gaussian'),
        ('zzz', ''), ('train bag -o m.npz --zzz', ''), ('info', ''), ('info a b c', ''),
    ],
)  # fmt: skip
def test_what_is_nearly_right_gets_a_hint(arguments, hint, command):
    refused = command.refused(*arguments.split())
    assert 'see two-manifold ' in refused
    assert (f'(did you mean {hint}?)' in refused) == bool(hint)
    assert ('did you mean' in refused) == bool(hint)


@pytest.mark.parametrize(
    ('arguments', 'rows', 'library'),
    [
        (['--help'], [(name, words) for name, (_, _, words) in COMMANDS.items()], 'numpy'),
        (['reproduce', '--list'], [(each.name, each.shows) for each in EXPERIMENTS], 'scipy'),
    ],
)
def test_what_lists_commands_or_experiments_imports_none_of_them(arguments, rows, library):
    code = RUN.replace('sys.exit(main())', f'main({arguments}); print(sorted(sys.modules))')
    output = subprocess.check_output([sys.executable, '-c', code], text=True)
    assert all(name in output and words in output for name, words in rows)
    assert f"'{library}'" not in output
    assert "'two_manifold_ros.errors'" in output


@pytest.mark.parametrize('length', [1, 1_000_000])
def test_a_closed_pipe_is_silent(length):
    code = (
        'import sys; from two_manifold_ros import __main__ as module; '
        f'module._run = lambda arguments: print("x" * {length}) or 0; sys.exit(module.main())'
    )
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, '-c', code]
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b'')


def test_alone_it_shows_the_way_through_all_commands(command, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    lines = command().out.splitlines()
    # The prompt takes a line as well.
    assert len(lines) <= 24 - 1
    assert max(map(len, [*lines, *command('--help').out.splitlines()])) <= 80
    named = [line.split()[1] for line in lines if line.startswith('  two-manifold ')]
    assert named == list(COMMANDS)


@pytest.mark.slow
def test_what_is_printed_fits_80_columns(slot_car_bag, model_file, tmp_path, command, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, 'isatty', lambda: True)
    bag, said = f'{slot_car_bag}', ''
    for line in (
        '',
        f'simulate -o {tmp_path / "laps"} --laps 2 --rate 20',
        f'inspect {bag}',
        f'train {bag} -o {tmp_path / "model.npz"} --force --rate 10',
        f'info {model_file}',
        f'evaluate {model_file} {bag}',
        f'learn {bag} --learner map --until 25',
        f'replay {model_file} {bag} -o {tmp_path / "predictions"}',
        f'compare {bag} --methods mean,previous,default',
        'reproduce --list',
    ):
        said += ''.join(command(*line.split()))
    # Without colours. Only a path is longer, and stays whole.
    lines = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', said).splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    for words in ('is a bag good enough', 'channel', 'previous:', 'visualization_msgs', 'ahead'):
        assert words in said
