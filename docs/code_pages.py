# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a part of the script that writes pages
"""
Make the pages that are code in another form: commands, and the Python interface.

Commands come from their argparse parsers, signatures and numpydoc docstrings from the sources,
which are parsed and not imported: no ROS is needed, and the same text comes of any Python.
"""

from __future__ import annotations

from argparse import ArgumentParser, SUPPRESS
import ast
from pathlib import Path
import re
from typing import TYPE_CHECKING

from two_manifold_ros.__main__ import command_named, COMMANDS
from two_manifold_ros.training.settings import FIELDS

if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Iterator

PACKAGE = Path(__file__).resolve().parents[1] / 'two_manifold_ros'

COMMANDS_INTRODUCTION = """\
After this page you know every option of `two-manifold`. The [tutorial](tutorial.md) shows the
commands in order, [usage](usage.md) shows them on your vehicle, and each has `--help`.
`docs/write_pages.py` writes this page from the parsers."""

INTERFACE = {
    'Recordings': (
        'recordings/reading.py: read_recording ReadingOptions',
        'recordings/recording.py: Recording ImuStream PositionStream',
        'inspection/inspecting.py: inspect_recording Report',
    ),
    'Training and models': (
        'training/train.py: train_model',
        'training/settings.py: TrainingSettings',
        'model/model_file.py: load_model save_model',
    ),
    'Filtering': (
        'filtering/filter.py: Filter',
        'filtering/fixes.py: Fix',
        'filtering/estimate.py: Estimate',
        'filtering/status.py: Status',
    ),
    'Evaluation': (
        'evaluation/evaluate.py: evaluate Evaluation',
        'evaluation/evaluate.py: HorizonScore Score',
        'evaluation/replaying.py: replay',
    ),
}
"""Classes and functions of files that a user's program needs, by heading."""

REFERENCE = '\n## Reference\n'
"""Heading on the page of the Python interface below which the page is written from the code."""


def commands() -> str:
    """Return the page of all commands."""
    parts = [f'# Commands\n\n{COMMANDS_INTRODUCTION}\n']
    rows = [f'| [`{name}`](#{name}) | {words} |' for name, (_, _, words) in COMMANDS.items()]
    parts.append('\n'.join(['| command | what it does |', '| --- | --- |', *rows]) + '\n')
    for name in COMMANDS:
        module = command_named(name)
        parser = ArgumentParser(prog=f'two-manifold {name}', add_help=False)
        module.add_arguments(parser)
        # There is no public way to the groups of a parser, nor to the arguments in them.
        (_, needed), *groups = [
            (group.title, [each for each in group._group_actions if each.help != SUPPRESS])  # noqa: SLF001
            for group in parser._action_groups  # noqa: SLF001
        ]
        needed += [each for _, group in groups for each in group if each.required]
        usage = ' '.join([f'two-manifold {name}', *map(_placed, needed)])
        parts.append(f'## {name}\n\n{_with_options(module.HELP)}\n\n    {usage}\n')
        groups[0] = 'argument', [*needed, *(each for each in groups[0][1] if not each.required)]
        for title, actions in groups:
            if actions:
                rows = [f'| {_names(each)} | {_meaning(each)} |' for each in actions]
                parts.append('\n'.join([f'| {title} | meaning |', '| --- | --- |', *rows]) + '\n')
    return '\n'.join(parts)


def _value(action: Action) -> str:
    """Return the place of the value of an argument, as in a help."""
    if action.nargs == 0:
        return ''
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return {'+': f'{name} ...', '*': f'[{name} ...]', '?': f'[{name}]'}.get(
        str(action.nargs), name
    )


def _placed(action: Action) -> str:
    return ' '.join([*action.option_strings[:1], _value(action)])


def _names(action: Action) -> str:
    value = _value(action)
    if not action.option_strings:
        return f'`{value}`'
    *first, last = action.option_strings
    return ', '.join(f'`{each}`' for each in [*first, f'{last} {value}'.rstrip()])


def _with_options(words: str) -> str:
    """Return words with the options in them as code."""
    return re.sub(r'(?<![\w-])--[a-z][a-z-]*', r'`\g<0>`', words)


def _meaning(action: Action) -> str:
    words = (action.help or '') % {**vars(action), 'prog': 'two-manifold'}
    words = re.sub(r'\s+', ' ', words).replace('|', '\\|').replace('*', '\\*').replace('<', '&lt;')
    words = _with_options(words)
    choices = [f'`{each}`' for each in action.choices or ()]
    return f'{words}; one of {", ".join(choices)}' if choices else words


def python_interface() -> str:
    """Return the Python page with the classes and functions of `INTERFACE` as its reference."""
    page = (PACKAGE.parent / 'docs' / 'python.md').read_text()
    introduction, heading, _ = page.partition(REFERENCE)
    note = (
        '`docs/write_pages.py` writes this part from the docstrings. Everything else is described '
        'in the sources ([architecture](architecture.md)) and may change with any release.'
    )
    parts = [f'{introduction}{heading}\n{note}\n']
    for group, files in INTERFACE.items():
        parts.append(f'### {group}\n')
        for line in files:
            file, _, names = line.partition(': ')
            source = (PACKAGE / file).read_text()
            tree, lines = ast.parse(source), source.splitlines()
            there = {each.name: each for each in tree.body if isinstance(each, _DEFINED)}
            module = f'two_manifold_ros.{file.removesuffix(".py").replace("/", ".")}'
            parts += [_described(there[name], module, lines) for name in names.split()]
            if names == 'TrainingSettings':
                parts.append(_settings())
    return '\n'.join(parts)


def _settings() -> str:
    """Return the table of all settings of a training."""
    rows = ['| setting | of | default | allowed | meaning |', '| --- | --- | --- | --- | --- |']
    for name, offered in FIELDS.items():
        about = offered.about
        default = 'chosen' if offered.default is None else f'`{offered.default}`'
        settled = f'; {offered.settled}' * bool(offered.settled)
        allowed = '0 first, increasing' if name == 'horizons' else about.allowed
        usual = f' (default: {about.usual})' if offered.default is None else ''
        words = f'{about.what}{usual}'.replace('|', '\\|')
        rows.append(
            f'| `{name}` | {offered.of_methods} | {default}{settled} | {allowed} | {words} |'
        )
    return '\n'.join(rows) + '\n'


_DEFINED = (ast.FunctionDef, ast.ClassDef)


def _described(node: ast.FunctionDef | ast.ClassDef, module: str, lines: list[str]) -> str:
    """Return heading, signature and docstring of a function or a class, and its members."""
    name, text = node.name, ast.get_docstring(node) or ''
    # A heading with brackets would have an anchor that forges and Sphinx write differently.
    code = f'```python\nfrom {module} import {name}\n{_signature(node, lines)}\n```\n'
    parts = [f'#### {name}\n', code, numpydoc_to_markdown(text)]
    if isinstance(node, ast.ClassDef):
        members = list(_members(node))
        if members:
            parts += ['**Members**', *members, '']
    return '\n'.join(parts)


def _signature(node: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> str:
    if isinstance(node, ast.FunctionDef):
        returned = f' -> {ast.unparse(node.returns)}' if node.returns else ''
        given = _arguments(node.args)
        line = f'{node.name}({", ".join(given)}){returned}'
        if len(line) > 95:
            line = f'{node.name}(\n    ' + ',\n    '.join(given) + f',\n){returned}'
        return line
    init = next((each for each in _functions(node) if each.name == '__init__'), None)
    if init is not None:
        return _signature(ast.FunctionDef(node.name, init.args, [], [], None), lines)
    fields = [
        f'    {each.target.id}: {ast.unparse(each.annotation)}'
        + (f' = {ast.unparse(_default(each.value))}' if each.value else '')
        # What stands behind a field has its shape and unit.
        + ''.join(lines[each.lineno - 1].partition('  # ')[1:])
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    values = [
        f'    {each.targets[0].id} = {ast.unparse(each.value)}'
        for each in node.body
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
    ]
    bases = ', '.join(map(ast.unparse, node.bases))
    head = f'class {node.name}' + (f'({bases})' if bases else '')
    return '\n'.join([head, *fields, *values])


def _default(value: ast.expr) -> ast.expr:
    """Return the default in a field of settings, which has more to it, or the value itself."""
    known = isinstance(value, ast.Call) and ast.unparse(value.func) == 'setting'
    return value.args[0] if known else value  # type: ignore[attr-defined]


def _arguments(arguments: ast.arguments) -> list[str]:
    """Return each argument of a function but ``self``, as in its source."""
    plain = arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    given = [_argument(*each) for each in zip(plain, defaults, strict=True)]
    given = [each for each in given if each != 'self']
    if arguments.kwonlyargs:
        named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        given += ['*', *(_argument(*each) for each in named)]
    return given


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = f': {ast.unparse(argument.annotation)}' if argument.annotation else ''
    value = '' if default is None else f' = {ast.unparse(default)}'
    return f'{argument.arg}{annotation}{value}'


def _functions(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef)]


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Yield a line for each public method and property with what its first line states."""
    for each in _functions(node):
        if each.name.startswith('_'):
            continue
        summary = _in_markdown((ast.get_docstring(each) or '').split('\n')[0])
        is_value = any('property' in ast.unparse(mark) for mark in each.decorator_list)
        names = [argument.split(':')[0].split(' ')[0] for argument in _arguments(each.args)]
        call = '' if is_value else f'({", ".join(names)})'
        yield f'* `{each.name}{call}`: {summary}'


_HEADING = re.compile(r'^(\w+)\n-+\n', re.MULTILINE)


def numpydoc_to_markdown(text: str) -> str:
    """Return a numpydoc docstring as paragraphs, and a list for each of its sections."""
    first, *sections = _HEADING.split(text)
    parts = [_in_markdown(first.strip()) + '\n']
    for heading, body in zip(sections[::2], sections[1::2], strict=True):
        lines = [f'**{heading}**']
        # An entry begins at the margin, and what it means is indented below it.
        for entry in re.split(r'\n(?=\S)', body.strip()):
            name, _, meaning = entry.partition('\n')
            words = ' '.join(meaning.split())
            lines.append(f'* `{name}`: {_in_markdown(words)}' if words else f'* `{name}`')
        if heading == 'Raises':
            lines = [' '.join(lines).replace(' * ', ' ')]
        parts.append('\n'.join(lines) + '\n')
    return '\n'.join(parts)


def _in_markdown(words: str) -> str:
    """Return text of a docstring without the marks of reStructuredText."""
    words = re.sub(r'``([^`]+)``', r'`\1`', words)
    return words.replace('*', '\\*')
