# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The dialogue with a filter node about another model, step by step; knows nothing of ROS."""

from __future__ import annotations

from enum import Enum
from typing import Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer = Callable[[str], None]

PATIENCE_S = 20.0
"""Silence about what was asked for after which it is taken to have failed."""

GETTING_READY = frozenset({'loading', 'waiting'})
"""Words of the filter node, under ``swap``, while it makes a model ready."""


class Requests(Protocol):
    """What can be asked of a filter node. The answer is a refusal, or empty if there is none."""

    def name_next(self, path: str, answer: Answer) -> None:
        """Ask to remember which model comes next."""

    def swap(self, answer: Answer) -> None:
        """Ask to run that one."""

    def take_back(self, answer: Answer) -> None:
        """Ask to run again the one before."""


class Stage(Enum):
    """How far the dialogue is."""

    IDLE = 'idle'
    NAMING = 'naming'
    ASKING = 'asking'
    AWAITING = 'awaiting'


class Handover:
    """
    Has one model put in the place of another, and learns from diagnostics how it ended.

    Nothing waits: answers and diagnostics come when they come, or not at all. An answer that
    comes after its dialogue is over is ignored.

    Parameters
    ----------
    requests
        What can be asked.

    Attributes
    ----------
    stage
        How far it is.
    trouble
        Why the last one failed; empty if it did not.

    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._wanted = self._present = ''
        self._deadline_s = 0.0
        self._dialogue = 0
        self._failed_before = False
        self.stage = Stage.IDLE
        self.trouble = ''

    @property
    def busy(self) -> bool:
        """Whether it is not over yet."""
        return self.stage is not Stage.IDLE

    def begin(self, path: str, present: str, now_s: float) -> None:
        """
        Begin to have a model run in the place of another.

        Parameters
        ----------
        path, present
            Files of the model that shall run, and of the one that does.
        now_s
            Seconds of a clock that never goes back.

        """
        self._open(path, present, now_s)
        self.stage = Stage.NAMING
        self._requests.name_next(path, self._then(self._ask))

    def take_back(self, path: str, present: str, now_s: float) -> None:
        """Begin to have the model before run again, see `begin`."""
        self._open(path, present, now_s)
        self.stage = Stage.ASKING
        self._requests.take_back(self._then(self._await))

    def hear(self, told: Mapping[str, str], now_s: float) -> None:
        """Take what the filter node told about itself: its values by key."""
        if self.stage is not Stage.AWAITING:
            return
        runs, swap = told.get('model', ''), told.get('swap', '')
        if runs == self._wanted:
            self._end('')
        elif runs != self._present:
            self._end(f'{self._wanted} was to run, but somebody else has chosen {runs}')
        elif swap in GETTING_READY:
            self._deadline_s = now_s + PATIENCE_S
        elif swap == 'failed':
            # What it says first may be about an attempt before this one, and just have been late.
            if self._failed_before:
                self._end(told.get('swap_trouble', '') or f'{self._wanted} was not taken')
            self._failed_before = True

    def look(self, now_s: float) -> None:
        """Give up what has lasted too long."""
        if self.busy and now_s > self._deadline_s:
            self._end(
                f'{self._wanted} was to run, but nothing was heard of it for {PATIENCE_S:g} s '
                f'({self.stage.value})'
            )

    def _open(self, path: str, present: str, now_s: float) -> None:
        self._wanted, self._present = path, present
        self._deadline_s = now_s + PATIENCE_S
        self._dialogue += 1
        self._failed_before = False
        self.trouble = ''

    def _then(self, go_on: Callable[[], None]) -> Answer:
        """Return what takes an answer in this dialogue."""
        dialogue, stage = self._dialogue, self.stage

        def answer(refusal: str) -> None:
            if (dialogue, stage) != (self._dialogue, self.stage):
                return
            if refusal:
                self._end(refusal)
            else:
                go_on()

        return answer

    def _ask(self) -> None:
        self.stage = Stage.ASKING
        self._requests.swap(self._then(self._await))

    def _await(self) -> None:
        self.stage = Stage.AWAITING

    def _end(self, trouble: str) -> None:
        self.stage = Stage.IDLE
        self.trouble = trouble
