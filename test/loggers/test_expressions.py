# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""No regular expression on text of others takes the square of its length, which would be hours."""

import ast
from importlib import import_module
from itertools import product
from pathlib import Path
import re
from typing import Any

import pytest

import two_manifold_ros

ROOT = Path(two_manifold_ros.__file__).parent
FOREIGN = ['loggers/*.py', 'recordings/*.py', 'sources.py', 'interface/assessment.py']
TABLES = {'pattern': ['FORMATS', '_SPELLINGS'], 'part': ['_REASONS']}
"""What a variable of a loop goes over: its patterns come first, or are the keys."""

LENGTH = 100_000
"""Characters: in the time of a test a loop over their square, 5e9 steps, does not end."""

WORDS = [''.join(each) for count in (1, 2) for each in product('a0 _.-:/=(\n,', repeat=count)]
"""What is repeated: the characters that expressions distinguish, and all pairs of them."""


def expressions() -> list[Any]:
    """Return each expression that text of others meets, its flags, and how it is applied."""
    found = []
    for path in sorted(each for name in FOREIGN for each in ROOT.glob(name)):
        text, place = path.read_text(), path.relative_to(ROOT)
        if '\nimport re\n' not in text:
            continue
        space = vars(import_module('.'.join(['two_manifold_ros', *place.with_suffix('').parts])))
        compiled = {value.pattern: (name, value) for name, value in space.items()
                    if isinstance(value, re.Pattern)}  # fmt: skip
        for name, value in compiled.values():
            uses = set(re.findall(rf'\b{name}\.(\w+)', text)) & {'search', 'match', 'fullmatch'}
            method = uses.pop() if len(uses) == 1 else 'search'
            found.append((value.pattern, value.flags, method, place.name))
        for call in ast.walk(ast.parse(text)):
            if not (isinstance(call, ast.Call) and ast.unparse(call.func).startswith('re.')):
                continue
            given, method = ast.unparse(call.args[0]), ast.unparse(call.func)[3:]
            tables = [space[each] for each in TABLES.get(given, ()) if each in space]
            patterns = [row if isinstance(row, str) else row[0] for rows in tables for row in rows]
            if isinstance(call.args[0], ast.Constant):
                patterns.append(call.args[0].value)
            method = method if method in {'match', 'fullmatch'} else 'search'
            found += [(each, 0, method, place.name) for each in patterns if each not in compiled]
    return [pytest.param(*each[:3], id=f'{each[3]} {each[0]}') for each in found]


@pytest.mark.timeout(40)
@pytest.mark.parametrize(('pattern', 'flags', 'method'), expressions())
def test_no_expression_on_text_of_others_is_slow(pattern, flags, method):
    apply = getattr(re.compile(pattern, flags), method)
    for word in WORDS:
        # It may begin, and ends, in another way than it goes on.
        for begin in ('', '0'):
            apply(begin + word * (LENGTH // len(word)) + '!')
