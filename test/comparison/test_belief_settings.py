# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which settings are tried, and that only clearly better ones are taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest
from small_lessons import circle, lesson_of

from two_manifold_ros.comparison.belief_filter import BeliefSettings, choose_settings
from two_manifold_ros.comparison.method import Course, Lesson
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.ticks.segments import Segment

USUAL = {'window': 20, 'temperature': 1.0, 'stay': 0.1, 'skip': 0.1, 'jump': 0.01, 'power': 2}


@dataclass
class Wrong:
    """Is wrong by a length at every tick of the unit circle."""

    length: float

    def __post_init__(self) -> None:
        self.chosen: dict[str, Any] = {}

    def follow(self, segment: Segment) -> Course:
        ahead = [np.roll(segment.positions, -horizon, axis=0) for horizon in (0, 2, 7)]
        return Course(np.stack(ahead, axis=1) + np.array([self.length, 0.0]))


def make_fit(
    tried: list[BeliefSettings], length: Callable[[BeliefSettings], float]
) -> Callable[[Lesson, BeliefSettings], Wrong]:
    def fit(_: Lesson, settings: BeliefSettings) -> Wrong:
        tried.append(settings)
        return Wrong(length(settings))

    return fit


def test_the_usual_ones_where_nothing_can_be_held_out() -> None:
    tried: list[BeliefSettings] = []
    lesson = lesson_of(circle(0, 60), window=25)
    settings, score = choose_settings(lesson, make_fit(tried, lambda _: 0.1))
    assert asdict(settings) == USUAL
    assert score is None
    assert not tried


def test_a_window_no_longer_than_that_of_the_lesson() -> None:
    tried: list[BeliefSettings] = []
    settings, _ = choose_settings(
        lesson_of(circle(0, 400), window=12), make_fit(tried, lambda _: 0.1)
    )
    assert settings.window == 12
    assert {each.window for each in tried} == {1, 5, 6, 10, 12}


@pytest.mark.parametrize(('better', 'taken'), [(0.095, False), (0.085, True)])
@pytest.mark.parametrize(
    ('field', 'value'),
    [('window', 40), ('temperature', 0.3), ('skip', 0.3), ('jump', 1e-4), ('power', 4)],
)
def test_only_what_is_clearly_better_is_taken(
    field: str, value: float, better: float, *, taken: bool
) -> None:
    tried: list[BeliefSettings] = []
    fit = make_fit(tried, lambda each: better if getattr(each, field) == value else 0.1)
    settings, score = choose_settings(lesson_of(circle(0, 800), window=40), fit)
    assert (getattr(settings, field) == value) is taken
    assert score == pytest.approx(better if taken else 0.1)


@pytest.mark.parametrize(
    'wrong',
    [
        {'window': 0},
        {'temperature': 0.0},
        {'stay': -0.1},
        {'skip': -0.1},
        {'stay': 0.6, 'skip': 0.5},
        {'jump': 0.0},
        {'jump': 1.1},
        {'power': 0},
        {'power': 5},
    ],
)
def test_values_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match='must be'):
        BeliefSettings(**wrong)
