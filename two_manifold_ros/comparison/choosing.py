# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choose the settings of a method on blocks of the lesson that it was not fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.training.holdout import hold_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.comparison.method import FittedMethod, Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats

Settings = TypeVar('Settings')


def choose(
    candidates: Sequence[Settings],
    lesson: Lesson,
    fit: Callable[[Lesson, Settings], FittedMethod],
) -> tuple[Settings, float | None]:
    """
    Fit every candidate to a part of the lesson and take the one that follows the rest best.

    Parameters
    ----------
    candidates
        At least one; the first is taken where no block can be held out.
    lesson
        The same blocks are held out of it as in a training.
    fit
        Fits one candidate; one that raises ``InputError`` is passed over.

    Returns
    -------
    best, score_m
        And its error, see ``held_out_error``; ``None`` where nothing was held out.

    Raises
    ------
    InputError
        If no candidate could be fitted: the first reason.

    """
    seen, held = hold_out(lesson.dataset.segments, lesson.dataset.window)
    if not seen or not held:
        return candidates[0], None
    part = lesson.of(seen)
    scores: dict[int, float] = {}
    reasons = []
    for index, candidate in enumerate(candidates):
        try:
            fitted = fit(part, candidate)
        except InputError as error:
            reasons.append(error)
            continue
        scores[index] = held_out_error(fitted, held, lesson)
    if not scores:
        raise reasons[0]
    best = min(scores, key=scores.__getitem__)
    return candidates[best], scores[best]


def held_out_error(fitted: FittedMethod, segments: Sequence[Segment], lesson: Lesson) -> float:
    """
    Return the root mean square error of a fitted method, metres, averaged over the horizons.

    It is what the table of a comparison shows. Ticks before the window has filled do not count;
    later ones without a prediction count with the spread of the training positions.
    """
    spread_m = _spread(lesson)
    squares: list[Floats] = []
    for segment in segments:
        told = fitted.follow(segment).positions
        truth = segment_targets(segment.positions, lesson.horizons, lesson.period_s)[:, :-1]
        known: Bools = np.asarray(np.isfinite(truth).all(axis=2))
        square = np.square(told - truth).sum(axis=2)
        square = np.where(np.isfinite(square), square, spread_m**2)
        squares.append(np.where(known, square, np.nan)[lesson.dataset.window :])
    every = np.concatenate(squares)
    counts = np.isfinite(every).sum(axis=0)
    means = np.nansum(every, axis=0)[counts > 0] / counts[counts > 0]
    return float(np.sqrt(means).mean()) if len(means) else spread_m


def _spread(lesson: Lesson) -> float:
    positions = np.concatenate([segment.positions for segment in lesson.dataset.segments])
    return float(np.sqrt(np.nanvar(positions, axis=0).sum()))
