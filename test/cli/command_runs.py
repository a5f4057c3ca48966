# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands run in this process, and what they say."""

import json
from typing import Any

import pytest

from two_manifold_ros.__main__ import main
from two_manifold_ros.cli.verdict import Verdict

RUN = 'import sys; from two_manifold_ros.__main__ import main; sys.exit(main())'
"""The same in a process of its own."""


class Command:
    """Runs commands, each of which has to end with the status that a test expects."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *given: object) -> None:
        self._capsys, self._given = capsys, given

    def with_arguments(self, *given: object) -> 'Command':
        """Return what runs one command with some arguments before those of a test."""
        return Command(self._capsys, *given)

    def __call__(self, *arguments: object, status: int = 0) -> Any:  # noqa: ANN401 - pytest's
        """Return what goes to standard output and to standard error."""
        assert main([str(each) for each in (*self._given, *arguments)]) == status
        return self._capsys.readouterr()

    def words(self, *arguments: object) -> str:
        """Return what goes to standard output, spaces squeezed."""
        return ' '.join(self(*arguments).out.split())

    def json(self, *arguments: object) -> dict[str, Any]:
        """Return the object on standard output; nothing goes to standard error."""
        said = self(*arguments, '--json')
        assert not said.err
        content: dict[str, Any] = json.loads(said.out)
        return content

    def refused(self, *arguments: object) -> str:
        """Return the sentence about bad input, which follows nothing but notes and warnings."""
        said = self(*arguments, status=2)
        assert not said.out
        *before, line = said.err.splitlines()
        for each in before:
            assert each.startswith(('two-manifold: note: ', 'two-manifold: warning: '))
        assert line.startswith('two-manifold: error: ')
        return line.removeprefix('two-manifold: error: ')


def said_by(found: Verdict, word: str, *words: str) -> bool:
    """Return whether a verdict has a word, and other words in its lines."""
    return found.word == word and all(each in ' '.join(found.lines) for each in words)
