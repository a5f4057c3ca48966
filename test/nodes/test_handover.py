# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The dialogue with a filter node, with one that answers, refuses, falls silent or changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.adapting.handover import Handover, PATIENCE_S

if TYPE_CHECKING:
    from two_manifold_ros.adapting.handover import Answer

OLD, NEW = 'old.npz', 'new.npz'


class Asked:
    """Remembers what was asked; the test answers."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.answers: list[Answer] = []

    def name_next(self, path: str, answer: Answer) -> None:
        self.names.append(f'next {path}')
        self.answers.append(answer)

    def swap(self, answer: Answer) -> None:
        self.names.append('swap')
        self.answers.append(answer)

    def take_back(self, answer: Answer) -> None:
        self.names.append('take back')
        self.answers.append(answer)


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def handover(asked: Asked) -> Handover:
    return Handover(asked)


def accept(asked: Asked) -> None:
    asked.answers[-1]('')


def test_from_the_first_question_to_the_new_model(handover: Handover, asked: Asked) -> None:
    assert not handover.busy
    handover.begin(NEW, OLD, 0.0)
    assert asked.names == [f'next {NEW}']
    accept(asked)
    assert asked.names == [f'next {NEW}', 'swap']
    accept(asked)
    handover.hear({'model': OLD, 'swap': 'loading'}, 1.0)
    assert handover.busy
    handover.hear({'model': NEW, 'swap': 'none'}, 2.0)
    assert (handover.busy, handover.trouble) == (False, '')


def test_taking_back(handover: Handover, asked: Asked) -> None:
    handover.take_back(OLD, NEW, 0.0)
    assert asked.names == ['take back']
    accept(asked)
    handover.hear({'model': NEW, 'swap': 'none'}, 1.0)
    assert handover.busy
    handover.hear({'model': OLD, 'swap': 'none'}, 2.0)
    assert (handover.busy, handover.trouble) == (False, '')


@pytest.mark.parametrize('questions', [1, 2])
def test_a_refusal_ends_it(handover: Handover, asked: Asked, questions: int) -> None:
    handover.begin(NEW, OLD, 0.0)
    for _ in range(questions - 1):
        accept(asked)
    asked.answers[-1]('no')
    assert (handover.busy, handover.trouble) == (False, 'no')
    assert len(asked.names) == questions


def test_a_refusal_to_take_back(handover: Handover, asked: Asked) -> None:
    handover.take_back(OLD, NEW, 0.0)
    asked.answers[-1]('There is no earlier model')
    assert (handover.busy, handover.trouble) == (False, 'There is no earlier model')


def test_a_model_that_is_not_taken(handover: Handover, asked: Asked) -> None:
    handover.begin(NEW, OLD, 0.0)
    accept(asked)
    accept(asked)
    told = {'model': OLD, 'swap': 'failed', 'swap_trouble': 'of another track'}
    handover.hear({**told, 'swap_trouble': 'of an attempt before'}, 1.0)
    assert handover.busy, 'the first word may be about something older'
    handover.hear(told, 2.0)
    assert (handover.busy, handover.trouble) == (False, 'of another track')


@pytest.mark.parametrize('answers', [0, 1, 2])
def test_silence(handover: Handover, asked: Asked, answers: int) -> None:
    handover.begin(NEW, OLD, 100.0)
    for _ in range(answers):
        accept(asked)
    handover.look(100.0 + PATIENCE_S)
    assert handover.busy
    handover.look(100.1 + PATIENCE_S)
    assert not handover.busy
    assert f'{NEW} was to run, but nothing was heard' in handover.trouble


def test_loading_may_take_long_if_it_is_told(handover: Handover, asked: Asked) -> None:
    handover.begin(NEW, OLD, 0.0)
    accept(asked)
    accept(asked)
    for second in range(100):
        handover.hear({'model': OLD, 'swap': 'loading'}, second)
        handover.look(second + 0.5)
    handover.look(99.0 + PATIENCE_S)
    assert handover.busy
    handover.look(99.1 + PATIENCE_S)
    assert not handover.busy


def test_somebody_else_chooses_a_model(handover: Handover, asked: Asked) -> None:
    handover.begin(NEW, OLD, 0.0)
    accept(asked)
    accept(asked)
    handover.hear({'model': 'third.npz', 'swap': 'none'}, 1.0)
    assert not handover.busy
    assert 'third.npz' in handover.trouble


def test_diagnostics_before_the_answer_are_no_outcome(handover: Handover, asked: Asked) -> None:
    handover.begin(NEW, OLD, 0.0)
    for _ in range(3):
        handover.hear({'model': OLD, 'swap': 'failed', 'swap_trouble': 'before'}, 1.0)
    accept(asked)
    for _ in range(3):
        handover.hear({'model': OLD, 'swap': 'failed', 'swap_trouble': 'before'}, 1.0)
    assert handover.busy


def test_an_answer_that_comes_too_late_is_ignored(handover: Handover, asked: Asked) -> None:
    handover.begin(NEW, OLD, 0.0)
    late = asked.answers[-1]
    handover.look(PATIENCE_S + 1.0)
    handover.begin('newer.npz', OLD, 100.0)
    late('')
    late('no')
    assert (handover.busy, handover.trouble) == (True, '')
    assert asked.names == [f'next {NEW}', 'next newer.npz']


def test_an_answer_counts_once(handover: Handover, asked: Asked) -> None:
    handover.begin(NEW, OLD, 0.0)
    first = asked.answers[0]
    first('')
    first('')
    assert asked.names == [f'next {NEW}', 'swap']
    accept(asked)
    first('no')
    assert handover.busy
