# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page about the papers names what exists, and leaves out no equation or experiment."""

import argparse
import ast
from collections.abc import Iterator
import itertools
from pathlib import Path
import re
import shlex

import pytest

pytest.importorskip('rich')

from two_manifold_ros.__main__ import command_named, COMMANDS
from two_manifold_ros.experiments.experiment import EXPERIMENTS

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / 'docs' / 'papers.md').read_text()


def defined(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module or a class defines, members with the name of their class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
            if isinstance(node, ast.ClassDef):
                yield from (f'{node.name}.{each}' for each in defined(node))
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, 'target', None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def missing(reference: str) -> str:
    """Return what is wrong with ``path:name`` or ``path``, or nothing."""
    path, _, name = reference.partition(':')
    inside = path.split('/')[0] in {'test', 'benchmarks'}
    folder = CHECKOUT if inside else CHECKOUT / 'two_manifold_ros'
    if not (folder / path).is_file():
        return f'there is no file {path}'
    if name and name not in defined(ast.parse((folder / path).read_text())):
        return f'{path} does not define {name}'
    return ''


def test_code_that_is_named_exists():
    references = re.findall(r'`([\w/]+\.py(?::[\w.]+)?)`', PAGE)
    assert len(references) > 60
    assert [each for each in map(missing, references) if each] == []


@pytest.mark.parametrize('command', sorted(set(re.findall(r'`two-manifold ([^`]*)`', PAGE))))
def test_commands_and_their_options_exist(command):
    """As far as the page writes them: bags and files to write are left out there."""
    name, *words = shlex.split(command)
    assert name in COMMANDS
    parser = argparse.ArgumentParser()
    command_named(name).add_arguments(parser)
    options = {option: action for action in parser._actions for option in action.option_strings}
    for word, value in itertools.pairwise([*words, '']):
        if word.startswith('--'):
            choices = options[word].choices
            assert choices is None or value in choices, f'{word} {value}'
    if name == 'reproduce' and words[0] != 'NAME' and not words[0].startswith('--'):
        assert words[0] in EXPERIMENT_NAMES


EXPERIMENT_NAMES = {each.name for each in EXPERIMENTS}


def test_every_experiment_has_a_row_with_its_code():
    rows = re.findall(r'\| `([\w-]+)` \| `(experiments/[^`]+)`', PAGE)
    assert dict(rows) == {
        each.name: 'experiments/' + each.function.replace(':', '.py:') for each in EXPERIMENTS
    }
