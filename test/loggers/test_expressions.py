# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
No regular expression on text of others can take the square of its length.

Nothing is timed: each expression becomes an automaton, as Glushkov built it, whose states are its
characters. It takes a power of the length if two loops can read the same word, and so can the way
from one to the other (Weber and Seidl, On the degree of ambiguity of finite automata, 1991).
"""

from __future__ import annotations

import ast
from importlib import import_module
from itertools import product
from pathlib import Path
import re
import string
from typing import Any

import pytest

import two_manifold_ros

try:
    from re import _compiler as compiler  # type: ignore[attr-defined]
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_compile as compiler
    import sre_parse as parser

ROOT = Path(two_manifold_ros.__file__).parent
FOREIGN = ['loggers/*.py', 'recordings/*.py', 'sources.py', 'interface/status.py']
TABLES = {'pattern': ['FORMATS', '_SPELLINGS'], 'part': ['_REASONS']}
"""What a variable of a loop goes over: its patterns come first, or are the keys."""
ANCHORED = {'match', 'fullmatch'}

SIGNS = frozenset(string.printable + '²é\u2003')
END = frozenset({'the end'})
NO_NEWLINE = SIGNS - {'\n'}


class Automaton:
    """The characters of an expression, and which can follow which; the first two are before it."""

    def __init__(self, pattern: str, method: str, flags: int = 0) -> None:
        tree = parser.parse(pattern, flags)
        self.flags = tree.state.flags
        # What `search` passes over, apart by whether a line begins behind it.
        self.reads = [frozenset({'\n'}), NO_NEWLINE]
        self.follow = set(product((0, 1), repeat=2)) if method not in ANCHORED else set()
        self.twice = False
        start, ends = {0, 1}, set[int]()
        ends = self._sequence(tree, start)
        # What can end here has no reason to try again.
        self.done = ends if method != 'fullmatch' else set()

    def _state(self, reads: frozenset[str], before: set[int]) -> set[int]:
        self.reads.append(reads)
        new = len(self.reads) - 1
        self.follow |= {(each, new) for each in before}
        return {new}

    def _sequence(self, nodes, before) -> set[int]:
        for code, value in nodes:
            before = self._node(str(code), value, code, before)
        return before

    def _node(self, name, value, code, before) -> set[int]:
        if name == 'BRANCH':
            return set().union(*(self._sequence(each, before) for each in value[1]))
        if name in {'SUBPATTERN', 'ASSERT', 'ATOMIC_GROUP'}:
            return self._sequence(value if name == 'ATOMIC_GROUP' else value[-1], before)
        if name.endswith('_REPEAT'):
            least, most, body = value
            first = len(self.reads)
            ends = self._sequence(body, before)
            if most == parser.MAXREPEAT:
                firsts = {to for of, to in self.follow if of in before and to >= first}
                again = set(product(ends - before, firsts))
                self.twice |= bool(again & self.follow)
                self.follow |= again
            return ends | before if least == 0 else ends
        if name == 'AT':
            name = str(value)
        if name in {'AT_BEGINNING', 'AT_BEGINNING_STRING'}:
            lines = name == 'AT_BEGINNING' and self.flags & re.MULTILINE
            return {each for each in before if lines and '\n' in self.reads[each]}
        if name.startswith(('AT_', 'ASSERT_NOT')):
            return self._state(END, before) if name.startswith('AT_END') else before
        one = parser.SubPattern(parser.State(), [(code, value)])
        one.state.flags, one.state.str = self.flags, ''
        fits = compiler.compile(one, self.flags)
        return self._state(frozenset(filter(fits.fullmatch, SIGNS)), before)

    def is_slow(self) -> bool:
        """Return whether two loops and the way between them can read one word."""
        after: dict[int, set[int]] = {}
        for of, to in self.follow:
            after.setdefault(of, set()).add(to)

        def reached(begin: tuple[int, ...]) -> set[tuple[int, ...]]:
            seen, new = set[tuple[int, ...]](), [begin]
            while new:
                for to in product(*(after.get(each, ()) for each in new.pop())):
                    if to not in seen and frozenset.intersection(*map(self.reads.__getitem__, to)):
                        seen.add(to)
                        new.append(to)
            return seen

        loops = [each for each in range(len(self.reads)) if (each,) in reached((each,))]
        twice = any(
            of != other and (loop, loop) in reached((of, other))
            for loop in loops
            for of, other in reached((loop, loop))
        )
        return (self.twice or twice) or any(
            (first, second, second) in reached((first, first, second))
            for first, second in product(loops, {*loops} - self.done)
            if first != second and (second,) in reached((first,))
        )


def expressions() -> list[Any]:
    """Return each expression that text of others meets, its flags, and how it is applied."""
    found = []
    for path in sorted(each for name in FOREIGN for each in ROOT.glob(name)):
        text, place = path.read_text(), path.relative_to(ROOT)
        if '\nimport re\n' not in text:
            continue
        tree = ast.parse(text)
        space = vars(import_module('.'.join(['two_manifold_ros', *place.with_suffix('').parts])))
        for call in ast.walk(tree):
            of = getattr(getattr(call, 'func', None), 'value', None)
            if not (isinstance(call, ast.Call) and isinstance(of, ast.Name) and of.id == 're'):
                continue
            method, given = call.func.attr, ast.unparse(call.args[0])  # type: ignore[attr-defined]
            names = [
                ast.unparse(each.targets[0])
                for each in ast.walk(tree)
                if isinstance(each, ast.Assign) and call in ast.walk(each.value)
            ]
            uses = {
                each.attr
                for each in ast.walk(tree)
                if isinstance(each, ast.Attribute) and ast.unparse(each.value) in names
            }
            if method == 'compile':
                method = 'match' if uses & ANCHORED and not uses - ANCHORED else 'search'
            flags = [
                each
                for each in (*call.args[1:], *(k.value for k in call.keywords))
                if ast.unparse(each).startswith('re.')
            ]
            bits = sum(int(eval(ast.unparse(each))) for each in flags)  # noqa: S307
            tables = [space[each] for each in TABLES.get(given, ()) if each in space]
            patterns = [row if isinstance(row, str) else row[0] for rows in tables for row in rows]
            found += [
                pytest.param(each, method, bits, id=f'{place.name} {each}')
                for each in patterns or [eval(given, {**space})]  # noqa: S307
            ]
    return found


@pytest.mark.parametrize(('pattern', 'method', 'flags'), expressions())
def test_no_expression_on_text_of_others_is_slow(pattern, method, flags):
    assert not Automaton(pattern, method, flags).is_slow()


@pytest.mark.parametrize(
    ('pattern', 'method', 'slow'),
    [
        (r'\d(?:\s*(?:at|@|,)?\s*\d)', 'search', True),
        (r'\d(?:\s*(?:(?:at|@|,)\s*)?\d)', 'search', False),
        (r'(?m)^\s*\[', 'search', True),
        (r'(?m)^[^\S\n]*\[', 'search', False),
        (r'\s*a', 'search', True),
        (r'\s*a', 'match', False),
        (r'\w*a', 'fullmatch', False),
        (r'\S*\.\S*[^\s.]', 'match', True),
        (r'\d*\.\d*x', 'match', False),
        (r'\D*\d*', 'search', False),
        (r'=+$', 'search', True),
        (r'(a+)+b', 'match', True),
        (r'(aa|a)+c', 'match', True),
        (r'(?:\s*x?)*y', 'match', True),
    ],
)
def test_the_law_itself(pattern, method, slow):
    assert Automaton(pattern, method).is_slow() == slow
