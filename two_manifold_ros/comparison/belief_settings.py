# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The settings of the belief filter, and how they are chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from two_manifold_ros.comparison.choosing import choose
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from two_manifold_ros.comparison.method import FittedMethod, Lesson

WINDOWS = (1, 5, 10, 20)
TEMPERATURES = (0.1, 0.3, 1.0, 2.0)
MOVES = ((0.05, 0.05), (0.1, 0.1), (0.25, 0.25), (0.1, 0.3), (0.3, 0.1))
JUMPS = (1e-4, 1e-3, 1e-2)
POWERS = (1, 2, 4)

CLEARLY = 0.9
"""
Of the score of the usual settings: only a lower one makes others be taken.

What is held out is a lap or two, on which the best of many settings is luck. On the ten stretches
on which this margin was picked, errors without it were 1.6 times those with it.
"""


@dataclass(frozen=True)
class BeliefSettings:
    """
    What a belief filter is made of. The defaults are a start that is seldom far off.

    Parameters
    ----------
    window
        Ticks of the window that is compared.
    temperature
        How far windows may differ, in units of the mean square of one standardised number.
    stay, skip
        Probabilities of moving on by 0 and by 2 ticks; by 1 is the rest.
    jump
        Probability of going anywhere.
    power
        To which the weights are raised before positions are averaged; 1 is the mean.

    Raises
    ------
    InputError
        If a value makes no sense.

    """

    window: int = 20
    temperature: float = 1.0
    stay: float = 0.1
    skip: float = 0.1
    jump: float = 1e-2
    power: int = 2

    def __post_init__(self) -> None:
        """Check every value."""
        probable = min(self.stay, self.skip) >= 0.0 and self.stay + self.skip <= 1.0
        lively = 0.0 < self.jump <= 1.0
        if not (probable and lively and self.temperature > 0.0):
            msg = f'{self}: stay, skip and jump must be probabilities, jump and temperature over 0'
            raise InputError(msg)
        if self.window < 1 or not 1 <= self.power <= max(POWERS):
            msg = f'{self}: the window must be at least 1, the power 1 to {max(POWERS)}'
            raise InputError(msg)


def choose_settings(
    lesson: Lesson, fit: Callable[[Lesson, BeliefSettings], FittedMethod]
) -> tuple[BeliefSettings, float | None]:
    """
    Vary a few settings at a time, and keep what is clearly better.

    Returns
    -------
    best, score_m
        As ``choose`` does.

    """
    longest = lesson.dataset.window
    best, score = choose([BeliefSettings(window=min(BeliefSettings.window, longest))], lesson, fit)
    for vary in (_windows, _moves, _jumps, _powers):
        if score is None:
            break
        found, reached = choose(list(vary(best, longest)), lesson, fit)
        if reached is not None and reached < CLEARLY * score:
            best, score = found, reached
    return best, score


def _windows(usual: BeliefSettings, longest: int) -> Iterator[BeliefSettings]:
    half = max(longest // 2, 1)
    for window in sorted({*WINDOWS, half, longest}):
        if window <= longest:
            for temperature in TEMPERATURES:
                yield replace(usual, window=window, temperature=temperature)


def _moves(usual: BeliefSettings, _: int) -> Iterator[BeliefSettings]:
    for stay, skip in MOVES:
        yield replace(usual, stay=stay, skip=skip)


def _jumps(usual: BeliefSettings, _: int) -> Iterator[BeliefSettings]:
    for jump in JUMPS:
        yield replace(usual, jump=jump)


def _powers(usual: BeliefSettings, _: int) -> Iterator[BeliefSettings]:
    for power in POWERS:
        yield replace(usual, power=power)
